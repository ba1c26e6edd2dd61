"""Deliveries as they arrive, and the provider's events in normal form."""

from collections.abc import Mapping
from dataclasses import dataclass

from contracts.inputs import MAX_TEXT_CHARACTERS
from contracts.instants import InstantText


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook delivery: the body exactly as sent, and its HTTP headers with lower-case names.

    ``arrived_ms`` is when it reached a gateway, in milliseconds since the epoch. A time that is signed must lie near
    it; where it is not known, it is 0, and no such signature is good.
    """

    connection: str
    headers: Mapping[str, str]
    body: bytes
    arrived_ms: int = 0


class DeliveryError(ValueError):
    """A delivery that cannot be used. ``class_`` is a stable word for it, the message a sentence for a person."""

    def __init__(self, class_: str, message: str) -> None:
        super().__init__(message)
        self.class_ = class_


@dataclass(frozen=True, slots=True)
class Event:
    """What a provider says happened, in normal form.

    ``created_at`` is the birth of the resource, as the provider wrote it (RFC 3339), never the time of the envelope
    or of arrival. ``identifiers`` name what the event concerns: the same names and forms as in operations.
    """

    id: str
    type: str
    resource_id: str
    created_at: InstantText
    identifiers: dict[str, str]

    def __post_init__(self) -> None:
        """Refuse names that no provider gives: a row holds each of them several times, and must stay small."""
        for name, value in {"id": self.id, "resource_id": self.resource_id, **self.identifiers}.items():
            if len(value) > MAX_TEXT_CHARACTERS:
                said = f"{name} has {len(value)} characters; more than {MAX_TEXT_CHARACTERS} are no name"
                raise DeliveryError("malformed_delivery", said)


@dataclass(slots=True)
class RecordedEvent:
    """An event in a case's ledger. One resource is recorded once; its repeats are only counted.

    ``arrived_ms`` is when its first delivery reached a gateway, ``known_ms`` when it was taken in. ``wanted`` is set
    once an operation has counted it.
    """

    event: Event
    arrived_ms: int
    known_ms: int
    deliveries: int = 1
    wanted: bool = False

    @property
    def name(self) -> str:
        """What makes two deliveries repeats of each other: the event's type and the resource it is about."""
        return f"{self.event.type} {self.event.resource_id}"


class NotAuthentic(DeliveryError):
    """The delivery was not, or cannot be shown to have been, sent by the provider."""

    def __init__(self, message: str) -> None:
        super().__init__("not_authentic", message)


class CannotTell(DeliveryError):
    """Whether the provider sent the delivery cannot be told now, and may be told later: what it takes is not at hand.

    That is never a reason to call a delivery forged: it is to come again, or to be put back.
    """
