"""What a declared provider's deliveries say: which event, about which resource, made when, concerning what."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import Field

from contracts.instants import parse_instant
from contracts.paths import MISSING
from verifiers.connection import ConnectionPart
from verifiers.declared.parts import BodyPath, PlaceOrPath, text_at, value_at
from verifiers.events import Delivery, DeliveryError, Event

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_END_S = 253_402_300_800  # the year 10000, which RFC 3339 cannot write
_UNIX_MS = 1000

TimeForm = Literal["rfc3339", "unix_s", "unix_ms"]
IdentifierName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class Birth(ConnectionPart):
    """When the resource was made: never when the event was, nor when it was sent."""

    path: BodyPath
    form: TimeForm

    def read(self, document: Mapping[str, Any]) -> str:
        """Return the instant as RFC 3339, as exact as the provider gives it.

        Raises:
            DeliveryError: it is missing, or no possible date-time.
        """
        value = value_at(document, self.path)
        if value is MISSING:
            raise DeliveryError("malformed_delivery", f"{self.path} is missing from the body")
        if self.form == "rfc3339":
            return self._rfc3339(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise DeliveryError("malformed_delivery", f"{self.path} is no whole number")
        per_second = _UNIX_MS if self.form == "unix_ms" else 1
        if not 0 <= value < _END_S * per_second:
            raise DeliveryError("impossible_date", f"{self.path}: {value} is an impossible date-time")
        seconds, rest = divmod(value, per_second)
        text = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{text}.{rest:03}Z" if self.form == "unix_ms" else f"{text}Z"

    def _rfc3339(self, value: Any) -> str:
        if not isinstance(value, str):
            raise DeliveryError("malformed_delivery", f"{self.path} is no text")
        try:
            parse_instant(value)
        except ValueError as error:
            raise DeliveryError("impossible_date", f"{self.path}: {error}") from None
        return value


class EventDeclaration(ConnectionPart):
    """How events of one type are read: ``resource`` is the path of the id of what they are about."""

    resource: BodyPath
    created: Birth
    identifiers: Annotated[Mapping[IdentifierName, BodyPath], Field(min_length=1)]


class EventDeclarations(ConnectionPart):
    """The events that are carried. ``id`` names an event for people; what is counted is the resource."""

    id: PlaceOrPath | None = None
    type: PlaceOrPath
    types: Annotated[Mapping[Annotated[str, Field(min_length=1)], EventDeclaration], Field(min_length=1)]

    @property
    def carried(self) -> Mapping[str, frozenset[str]]:
        """Event type → the identifiers that such events carry."""
        return {name: frozenset(one.identifiers) for name, one in self.types.items()}

    def event_type(self, delivery: Delivery, document: Mapping[str, Any]) -> str:
        """Return the type of a delivery's event.

        Raises:
            DeliveryError: there is none.
        """
        name = self.type.text(delivery, document)
        if name is None:
            raise DeliveryError("malformed_delivery", f"{self.type.shown} is missing, which names the event's type")
        return name

    def normalise(self, delivery: Delivery, document: Mapping[str, Any]) -> list[Event]:
        """Read the event of a type that is carried.

        An identifier that the body lacks is left out; without the one that its case is known by, the event is refused
        further on.

        Raises:
            DeliveryError: the resource has no id, or a value is not what it must be.
        """
        name = self.event_type(delivery, document)
        declared = self.types[name]
        resource_id = text_at(document, declared.resource)
        if resource_id is None:
            raise DeliveryError("malformed_delivery", f"{declared.resource} is missing from the body")
        identifiers = {kind: text_at(document, path) for kind, path in declared.identifiers.items()}
        return [
            Event(
                id=(self.id.text(delivery, document) if self.id is not None else None) or "",
                type=name,
                resource_id=resource_id,
                created_at=declared.created.read(document),
                identifiers={kind: value for kind, value in identifiers.items() if value is not None},
            )
        ]
