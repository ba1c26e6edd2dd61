"""A dead letter, read from its record on the topic `dead-letters`.

The worker puts its headers behind those of the record it refused, so only the last ones are its own: on `webhooks` a
sender may have given a header any name that HTTP allows, `dead_letter_stage` as well.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from contracts.instants import parse_instant
from streams.messages import Source
from streams.records import Headers, Record
from streams.transport.topics import CASES, OPERATIONS, READBACKS

_NAMES: Final = frozenset(
    f"dead_letter_{name}" for name in ("stage", "class", "reason", "topic", "partition", "offset", "timestamp", "at")
)
_CUT: Final = "dead_letter_cut"
_ID = re.compile(r"([0-9]{1,9})/([0-9]{1,18})")
_REGISTRATION: Final = b"operation/"


@dataclass(frozen=True, slots=True, order=True)
class LetterId:
    """A letter's place on the topic `dead-letters`, written ``partition/offset``."""

    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.partition}/{self.offset}"


def parse_letter_id(text: str) -> LetterId:
    """Read a letter's id.

    Raises:
        ValueError: it is none.
    """
    found = _ID.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no dead letter's id: it is its partition and its offset, such as 3/17")
    return LetterId(int(found[1]), int(found[2]))


@dataclass(frozen=True, slots=True)
class Letter:
    """What is said of a refused record. Times in milliseconds.

    ``source``: where it lay, the topic by its full name. ``timestamp``: the record's own, where it is known. ``size``:
    the bytes of its value that the letter holds. ``cut``: what the letter says where it does not hold all of them.
    """

    id: LetterId
    at: int
    stage: str
    class_: str
    reason: str
    source: Source
    timestamp: int | None
    operation_id: str | None
    size: int
    cut: str | None


@dataclass(frozen=True, slots=True)
class Contents:
    """The refused record itself."""

    key: bytes | None
    value: bytes | None
    headers: Headers


def parse_letter(record: Record, topics: Mapping[str, str]) -> Letter | None:
    """Read what a letter says of the record it holds.

    Args:
        record: a record of `dead-letters`.
        topics: the full name of each topic that letters come from, and its plain one.

    Returns:
        The letter; None for a record that is none.
    """
    _, own = _split(record)
    told = {name: (value or b"").decode(errors="replace") for name, value in own}
    try:
        source = Source(told["dead_letter_topic"], int(told["dead_letter_partition"]), int(told["dead_letter_offset"]))
        timestamp = told.get("dead_letter_timestamp")
        return Letter(
            id=LetterId(record.partition, record.offset),
            at=parse_instant(told["dead_letter_at"]).start_ms,
            stage=told["dead_letter_stage"],
            class_=told["dead_letter_class"],
            reason=told["dead_letter_reason"],
            source=source,
            timestamp=None if timestamp is None else int(timestamp),
            operation_id=_operation_id(record, topics.get(source.topic)),
            size=len(record.value or b""),
            cut=told.get(_CUT),
        )
    except (KeyError, ValueError):
        return None


def contents_of(record: Record) -> Contents:
    """Return the record that a letter holds, as it came; of a letter that was cut, what is left of it."""
    headers, _ = _split(record)
    return Contents(record.key, record.value, headers)


def _split(record: Record) -> tuple[Headers, Headers]:
    """Tell the headers of the refused record from the worker's own, which are behind them, each once."""
    headers = tuple(record.headers)
    begin, seen = len(headers), set[str]()
    while begin and (name := headers[begin - 1][0]) in _NAMES - seen:
        seen.add(name)
        begin -= 1
    if begin == 1 and headers[0][0] == _CUT and record.key is None:  # nothing else is kept of one that was cut
        begin = 0
    return headers[:begin], headers[begin:]


def _operation_id(record: Record, topic: str | None) -> str | None:
    """Name the operation that a refused record is about, where it says so; a delivery speaks of none."""
    if topic not in (OPERATIONS, CASES, READBACKS):
        return None
    try:
        document = orjson.loads(record.value or b"")
    except orjson.JSONDecodeError:
        document = None
    if isinstance(document, dict) and isinstance(named := document.get("operation_id"), str):
        return named
    key = record.key or b""
    if topic == CASES and key.startswith(_REGISTRATION):
        return key.removeprefix(_REGISTRATION).decode(errors="replace")
    return None
