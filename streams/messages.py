"""The messages of the topics `cases` and `readbacks`, in normal form.

Each is checked whole when it is read, so that what reaches ``decide`` has the types it says. Times are milliseconds
since the epoch; ``at`` is when the message was made, by the clock of the worker that made it.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar

import orjson
from pydantic import ConfigDict, Discriminator, Field, TypeAdapter, ValidationError, with_config

from contracts.instants import InstantText
from verifiers.events import Event
from verifiers.reads import Answer

T = TypeVar("T")

_STRICT = ConfigDict(strict=True)

Ms = Annotated[int, Field(ge=0, le=253_402_300_799_999)]
"""Milliseconds since the epoch, up to the end of the year 9999."""
Count = Annotated[int, Field(ge=0, lt=2**63)]


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class Source:
    """Where a forwarded record came from: what tells a record forwarded twice from one that was published twice.

    ``requeued``: it was a dead letter and was put back, so it no longer comes in the order of its partition.
    """

    topic: str
    partition: Count
    offset: Count
    requeued: bool = False

    @property
    def stream(self) -> str:
        """What the offsets rise in: the source partition; for a record that was put back, that record alone."""
        return self.place if self.requeued else f"{self.topic}/{self.partition}"

    @property
    def place(self) -> str:
        """The record's place as text."""
        return f"{self.topic}/{self.partition}/{self.offset}"


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class Intent:
    """What an operation was meant to do. Published again, it may not change."""

    contract: str
    version: str
    connection: str
    created_at: InstantText
    created_ms: Ms
    input: dict[str, str]


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class OriginalRecord:
    """A record as it was published: base64 of its key and value, and of each header's value."""

    key: str | None
    value: str | None
    headers: list[tuple[str, str | None]]


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class Submission:
    """An operation as published, on its way to its registration.

    ``action``: path → value, what the contract reads. ``version_given``: the version was asked for, and is not just the
    newest.
    """

    at: Ms
    source: Source
    operation_id: str
    intent: Intent
    version_given: bool
    action: dict[str, Any]
    case_key: str
    original: OriginalRecord
    kind: Literal["submission"] = "submission"


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class Start:
    """An operation that is registered, or known better than before, on its way to its case."""

    at: Ms
    source: Source
    operation_id: str
    intent: Intent
    action: dict[str, Any]
    kind: Literal["start"] = "start"


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class Events:
    """The events of one delivery that concern one case. ``arrived_ms``: when the delivery reached the gateway."""

    at: Ms
    source: Source
    arrived_ms: Ms
    events: list[Event]
    kind: Literal["events"] = "events"


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class Tick:
    """A timer that fired. What it means is for the state to say; a stale one means nothing."""

    at: Ms
    kind: Literal["tick"] = "tick"


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class ReadAnswered:
    """What a readback brought."""

    at: Ms
    operation_id: str
    channel: str
    attempt: Count
    asked_ms: Ms
    answer: Answer
    kind: Literal["answer"] = "answer"


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class ReadRequest:
    """One read that is due. ``inputs``: the request's parameters and variables by name."""

    operation_id: str
    case_key: str
    contract: str
    version: str
    connection: str
    channel: str
    attempt: Count
    asked_ms: Ms
    inputs: dict[str, str] = field(default_factory=dict)


CaseMessage = Submission | Start | Events | Tick | ReadAnswered

_CASE_MESSAGE: TypeAdapter[CaseMessage] = TypeAdapter(Annotated[CaseMessage, Discriminator("kind")])
_READ_REQUEST: TypeAdapter[ReadRequest] = TypeAdapter(ReadRequest)


class MalformedMessage(ValueError):
    """A value that is no message of its topic."""


def encode(message: CaseMessage | ReadRequest) -> bytes:
    """Write a message as JSON."""
    return orjson.dumps(message)


def decode_case_message(value: bytes | None) -> CaseMessage:
    """Read a value of the topic `cases`.

    Raises:
        MalformedMessage: it is none; the sentence names the first field that is wrong.
    """
    message = _decode(_CASE_MESSAGE, value)
    if not isinstance(message, Events | Tick):  # the others hold values of any kind, and a row must be able to, too
        try:
            orjson.dumps(message)
        except TypeError as error:
            raise MalformedMessage(f"a value cannot be kept: {error}") from None
    return message


def decode_read_request(value: bytes | None) -> ReadRequest:
    """Read a value of the topic `readbacks`.

    Raises:
        MalformedMessage: it is none; the sentence names the first field that is wrong.
    """
    return _decode(_READ_REQUEST, value)


def _decode(adapter: TypeAdapter[T], value: bytes | None) -> T:
    if value is None:
        raise MalformedMessage("the record has no value")
    try:
        return adapter.validate_json(value)
    except ValidationError as error:
        raise MalformedMessage(describe(error)) from None


def describe(error: ValidationError) -> str:
    """Say in a sentence what pydantic found wrong first, by field, without echoing the input."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{where or 'value'}: {first['msg']}{more}"
