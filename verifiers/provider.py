"""What a provider is to the rest of the project."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import httpx

from contracts.instants import parse_instant
from verifiers.certificates import NONE_KNOWN, Known
from verifiers.connection import Connection
from verifiers.events import Delivery, DeliveryError, Event


class Authenticate(Protocol):
    """How a provider's deliveries are authenticated: purely, whatever has to be fetched for it being at hand."""

    def __call__(self, delivery: Delivery, connection: Connection, certificates: Known = NONE_KNOWN, /) -> None:
        """Check that the provider has sent a delivery to this connection.

        Args:
            delivery: the delivery.
            connection: the connection that it came in for.
            certificates: what lies under the address that ``certificate_of`` returns.

        Raises:
            verifiers.events.NotAuthentic: it has not.
            verifiers.events.CannotTell: the certificate is not at hand.
        """


def needs_none(delivery: Delivery, connection: Connection) -> str | None:
    """Return no address: the provider's deliveries are authenticated without certificates."""
    return None


@dataclass(frozen=True, slots=True)
class Provider:
    """What the rest of the project needs to know of a provider.

    ``carried`` maps each event type that ``normalise`` understands to the identifiers its events carry.
    ``event_type`` and ``normalise`` raise :class:`verifiers.events.DeliveryError`. ``authorise`` returns how reads of a
    connection are authorised. ``certificate_of`` returns the address of the certificate that ``authenticate`` will
    need, or None where it needs none, or none that may be asked for.
    """

    name: str
    connection: type[Connection]
    carried: Mapping[str, frozenset[str]]
    authenticate: Authenticate
    event_type: Callable[[Delivery, Mapping[str, Any]], str]
    normalise: Callable[[Delivery, Mapping[str, Any]], list[Event]]
    authorise: Callable[[Connection], httpx.Auth | None]
    certificate_of: Callable[[Delivery, Connection], str | None] = needs_none


def checked_instant(document: Mapping[str, Any], name: str, shown: str | None = None) -> str:
    """Return a date-time of a delivery's body, as the provider wrote it.

    Args:
        document: the object that holds it.
        name: its member's name.
        shown: how to name it in an error, where that is not ``name``.

    Raises:
        DeliveryError: it is missing, or no possible date-time.
    """
    value = document.get(name)
    if not isinstance(value, str):
        raise DeliveryError("malformed_delivery", f"{shown or name} is missing from the body")
    try:
        parse_instant(value)
    except ValueError as error:
        raise DeliveryError("impossible_date", f"{shown or name}: {error}") from None
    return value
