"""What the pure stages give back: data that the edge publishes, in order."""

from dataclasses import dataclass
from typing import Any, Literal

from streams.messages import CaseMessage, ReadRequest

DeadLetterClass = str
Stage = Literal["intake", "decide", "readback"]


@dataclass(frozen=True, slots=True)
class ToCase:
    """A message for a row, through the topic `cases`."""

    key: str
    message: CaseMessage


@dataclass(frozen=True, slots=True)
class ToReadback:
    """A read that is due, for the topic `readbacks`."""

    request: ReadRequest


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict, for the topic `verdicts`."""

    operation_id: str
    verdict_id: str
    at: int
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Review:
    """What waits for a person, for the compacted topic `reviews`. ``id`` is new for each update."""

    operation_id: str
    id: str
    at: int
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Refused:
    """A record that cannot be processed: a word, a sentence, and, where it is not the record at hand, the original.

    ``timestamp``: the record's own, in milliseconds, where it is known and means something.
    """

    class_: DeadLetterClass
    reason: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    topic: str
    partition: int
    offset: int
    stage: Stage
    at: int
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class Ignored:
    """A delivery of a type that no contract listens to. Counted, not published."""

    event_type: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Events that waited for an operation in vain and were dropped. Counted, not published."""

    events: int


Output = ToCase | ToReadback | Verdict | Review | Refused | Ignored | Forgotten
