"""What the checks go by: the topics, put in order once; and what the pure functions make of them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson
from aiokafka import ConsumerRecord

from streams.fold import fold
from streams.intake import Context
from streams.publish import to_records
from streams.records import OutRecord
from tests.faults.expected import CONSUMED, Expected, Fate, Place
from tests.faults.topics import CHANGELOG, Contents, letters_of

_REQUEUED = "requeued from"
_PLACE = re.compile(r"(.+)/(\d+)/(\d+)")
_TOLD_AT_ITS_TIME = frozenset(("dead_letter_at", "dead_letter_reason"))


@dataclass(frozen=True)
class Violation:
    """Something that is not as it must be: of which kind, of what, and how it is instead."""

    kind: str
    subject: str
    said: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.subject}: {self.said}"


Violations = Iterator[Violation]


@dataclass(frozen=True)
class Letter:
    """A dead letter: the record as it lies on its topic, and the place that it names."""

    record: ConsumerRecord
    place: Place

    @property
    def why(self) -> tuple[str, str]:
        """The stage that refused it, and the class."""
        told = dict(self.record.headers)
        return (told["dead_letter_stage"] or b"").decode(), (told["dead_letter_class"] or b"").decode()

    @property
    def again(self) -> bool:
        """Whether it is of a record that was put back."""
        return _REQUEUED in dict(self.record.headers)

    @property
    def content(self) -> tuple[Any, ...]:
        """Everything that copies of it must share: all but the time of refusal, which the reason may name as well."""
        headers = tuple(one for one in self.record.headers if one[0] not in _TOLD_AT_ITS_TIME)
        return self.record.key, self.record.value, headers


@dataclass
class History:
    """What a fold comes to: every record that it publishes, in order, and each row as it is in the end."""

    published: list[OutRecord] = field(default_factory=list)
    rows: dict[bytes, bytes | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    """The topics of a trial once everything has been worked off, and what the world says of them."""

    contents: Contents
    expected: Expected
    context: Context
    prefix: str

    def place_of(self, record: ConsumerRecord) -> Place:
        """Return a record's place, its topic without the prefix."""
        return record.topic.removeprefix(self.prefix), record.partition, record.offset

    @cached_property
    def originals(self) -> Mapping[Place, ConsumerRecord]:
        """Every record that the world has published."""
        return {place: one for place, one in self._consumed() if place in self.expected.fates}

    @cached_property
    def put_back(self) -> Mapping[Place, list[ConsumerRecord]]:
        """The records that a person has put back, by the place that each lay in first."""
        found: dict[Place, list[ConsumerRecord]] = defaultdict(list)
        for place, one in self._consumed():
            if place not in self.expected.fates and (first := self._first_place(one)) is not None:
                found[first].append(one)
        return found

    @cached_property
    def own(self) -> Mapping[str, list[ConsumerRecord]]:
        """What is left: the records of each consumed topic that workers have written, or nobody knows who."""
        foreign = {self.place_of(one) for records in self.put_back.values() for one in records}
        found: dict[str, list[ConsumerRecord]] = {topic: [] for topic in CONSUMED}
        for place, one in self._consumed():
            if place not in self.expected.fates and place not in foreign:
                found[place[0]].append(one)
        return found

    def fate(self, first: Place, *, again: bool) -> Fate:
        """Return what must become of a record that the world has published, or of one that was put back for it."""
        fate = self.expected.fates.get(first, Fate())
        return Fate(forwarded=True, about=fate.about, late_for=fate.late_for) if fate.mended and again else fate

    def taken(self, topic: str) -> Mapping[Place, Fate]:
        """Return the records of a topic that must have been taken, each once: by the place that each lay in first."""
        firsts = [place for place in self.originals if place[0] == topic]
        fates = {first: self.fate(first, again=first in self.put_back) for first in firsts}
        return {first: fate for first, fate in fates.items() if fate.forwarded and fate.letter is None}

    @cached_property
    def letters(self) -> list[Letter]:
        """Every dead letter."""
        return [Letter(record, place) for _, place, record in letters_of(self.contents, self.prefix)]

    @cached_property
    def folded(self) -> "History":
        """What the pure fold makes of `cases`, as far as it is committed: one record at a time."""
        history = History()
        for partition, records in self.contents.records["cases"].items():
            committed = self.contents.committed.get(("cases", partition), 0)
            for record in records:
                if record.offset < committed:
                    folded = fold([record], history.rows.get, self.context, 0)
                    history.published += to_records(folded.outputs)
                    history.rows |= folded.rows
        return history

    @cached_property
    def rows(self) -> Mapping[bytes, bytes]:
        """The last value of each key in the changelog."""
        rows: dict[bytes, bytes] = {}
        for record in self.contents.of(CHANGELOG):
            if record.value is None:
                rows.pop(record.key, None)
            else:
                rows[record.key] = record.value
        return rows

    def _consumed(self) -> Iterator[tuple[Place, ConsumerRecord]]:
        for topic in CONSUMED:
            for one in self.contents.of(topic):
                yield self.place_of(one), one

    def _first_place(self, record: ConsumerRecord) -> Place | None:
        told = _PLACE.fullmatch((dict(record.headers).get(_REQUEUED) or b"").decode(errors="replace"))
        if told is None:  # strangers write this header too, and not always a place
            return None
        topic, partition, offset = told.groups()
        return topic.removeprefix(self.prefix), int(partition), int(offset)


def without_time(headers: Iterable[tuple[str, bytes | None]]) -> tuple[tuple[str, bytes | None], ...]:
    """Leave out when a record was refused: the one thing that copies of a letter may differ in."""
    return tuple(one for one in headers if one[0] != "dead_letter_at")


def message_of(record: ConsumerRecord) -> dict[str, Any]:
    """Return the object that is a record's value; an empty one where it is none."""
    try:
        value = orjson.loads(record.value or b"")
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
