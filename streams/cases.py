"""The rows of the table: one for each operation id, one for each case.

A **registration** keeps what an operation was meant to do, so that it cannot be published again as something else,
not even on another subject. A **case** is everything that concerns one subject of one connection: its operations and
the ledger of the provider's events. A row is one table value, so each change of it is one atomic record.
"""

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import orjson
from pydantic import ConfigDict, Discriminator, TypeAdapter, ValidationError, with_config

from contracts.model import Verdict
from streams.messages import Intent, MalformedMessage, Source, describe
from verifiers.events import RecordedEvent

_STRICT = ConfigDict(strict=True)
Phase = Literal["observing", "listening", "closed"]


@with_config(_STRICT)
@dataclass(slots=True)
class Evidence:
    """The newest answer of a channel that holds evidence."""

    attempt: int
    asked_ms: int
    answered_ms: int
    status: int
    digest: str
    served_version: str | None
    values: dict[str, Any]


@with_config(_STRICT)
@dataclass(slots=True)
class LastAnswer:
    """The newest answer of a channel, evidence or not."""

    attempt: int
    answered_ms: int
    status: int | None
    error: str | None
    detail: str | None


@with_config(_STRICT)
@dataclass(slots=True)
class OwedRead:
    """A read that is due beside the schedule: an event arrived, or a contradiction rests on stale reads."""

    since_ms: int
    due_ms: int
    why: Literal["event", "stale"]
    failures: int = 0


@with_config(_STRICT)
@dataclass(slots=True)
class Reads:
    """The reads of one channel of one operation.

    ``slot`` is the next place in the schedule, ``extra`` the attempts used beside it, ``made`` counts every read
    asked for and numbers the newest. ``asked_ms`` is set while that one is unanswered, ``repeats`` counts how often it
    was asked again.
    """

    slot: int = 0
    extra: int = 0
    made: int = 0
    asked_ms: int | None = None
    repeats: int = 0
    owed: OwedRead | None = None
    last: LastAnswer | None = None
    evidence: Evidence | None = None


@with_config(_STRICT)
@dataclass(slots=True)
class Operation:
    """One operation under observation.

    ``observing`` waits for a verdict; ``listening`` has one and watches for a contradiction until the deadline;
    ``closed`` asks for nothing more. ``sequence`` counts the verdicts published, ``verdict`` is the last one.
    """

    operation_id: str
    intent: Intent
    action: dict[str, Any]
    known_ms: int
    deadline_ms: int
    phase: Phase = "observing"
    sequence: int = 0
    verdict: Verdict | None = None
    verdict_id: str | None = None
    review: bool = False
    counted: int = 0
    reads: dict[str, Reads] = field(default_factory=dict)
    late: list[str] = field(default_factory=list)


@with_config(_STRICT)
@dataclass(slots=True, kw_only=True)
class Registration:
    """The row of an operation id. ``due_ms``: when it may be forgotten."""

    position: int = -1
    due_ms: int
    intent: Intent
    action: dict[str, Any]
    case_key: str
    sources: dict[str, int] = field(default_factory=dict)
    row: Literal["registration"] = "registration"


@with_config(_STRICT)
@dataclass(slots=True)
class Case:
    """The row of a subject. ``due_ms``: its next timer. The ledger's keys are event type and resource id."""

    position: int = -1
    due_ms: int | None = None
    operations: dict[str, Operation] = field(default_factory=dict)
    ledger: dict[str, RecordedEvent] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    row: Literal["case"] = "case"


Row = Registration | Case
# Both begin with what recovery asks of millions of them.
_HEAD = re.compile(rb'\{"position":(-?\d+),"due_ms":(\d+|null),')
_ROW: TypeAdapter[Row] = TypeAdapter(Annotated[Row, Discriminator("row")])


def case_key(connection: str, name: str, value: str) -> str:
    """Name the case of a subject: ``case/acme/order_id/gid://shopify/Order/1``."""
    return f"case/{connection}/{name}/{value}"


def registration_key(operation_id: str) -> str:
    """Name the registration of an operation."""
    return f"operation/{operation_id}"


def encode_row(row: Row) -> bytes:
    """Write a row as the table holds it."""
    return orjson.dumps(row)


def decode_row(value: bytes) -> Row:
    """Read a row.

    Raises:
        MalformedMessage: the value is none.
    """
    try:
        return _ROW.validate_json(value)
    except ValidationError as error:
        raise MalformedMessage(f"the table's row cannot be read: {describe(error)}") from None


def position_of(value: bytes) -> int:
    """Return the position of a row's value, -1 for a value that is no row's, without reading the rest of it."""
    found = _HEAD.match(value)
    return int(found[1]) if found else -1


def due_ms_of(value: bytes) -> int | None:
    """Return when the timer of a row's value is due, None where it has none, without reading the rest of it."""
    found = _HEAD.match(value)
    return int(found[2]) if found and found[2] != b"null" else None


def seen_before(row: Row, source: Source) -> bool:
    """Tell whether a forwarded record was applied already, and note it where it was not.

    Intake forwards a record again after a crash between its output and its commit. A case keeps the highest source
    offset it has applied for each source partition; what is at or below it is a re-forward, and no repeat. A record
    that was put back after a repair comes in any order and perhaps twice, so it is a stream of its own.
    """
    if source.offset <= row.sources.get(source.stream, -1):
        return True
    row.sources[source.stream] = source.offset
    return False
