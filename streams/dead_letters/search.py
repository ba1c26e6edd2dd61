"""Finding dead letters: what is asked for, and what is found, from the records of the topic."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from contracts.instants import parse_instant
from streams.dead_letters.letter import Letter, LetterId, parse_letter
from streams.dead_letters.requeue import PutBack, parse_mark
from streams.records import Record

_DURATION = re.compile(r"([0-9]{1,6})(s|m|h|d)", re.ASCII)
_UNIT_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def parse_moment(text: str, now: int) -> int:
    """Read a moment: an RFC 3339 date-time, or how long ago, such as ``90s``, ``30m``, ``2h`` or ``7d``.

    Args:
        text: what was written.
        now: the time, in milliseconds.

    Returns:
        Milliseconds since the epoch.

    Raises:
        ValueError: it is neither.
    """
    if found := _DURATION.fullmatch(text):
        return now - int(found[1]) * _UNIT_MS[found[2]]
    try:
        return parse_instant(text).start_ms
    except ValueError as error:
        raise ValueError(f"{error}; nor is it how long ago, such as 90s, 30m, 2h or 7d") from None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which letters are asked for. What is left empty asks for nothing. Times in milliseconds, ``until`` excluded."""

    ids: frozenset[LetterId] = frozenset()
    stages: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    since: int | None = None
    until: int | None = None
    operation_id: str | None = None

    def matches(self, letter: Letter) -> bool:
        """Tell whether a letter is among them."""
        return (
            (not self.ids or letter.id in self.ids)
            and (not self.stages or letter.stage in self.stages)
            and (not self.classes or letter.class_ in self.classes)
            and (self.since is None or letter.at >= self.since)
            and (self.until is None or letter.at < self.until)
            and (self.operation_id is None or letter.operation_id == self.operation_id)
        )

    @property
    def beginnings(self) -> dict[int, int] | None:
        """Where the topic must be read from, by partition; None for all of it. A letter's mark is behind it."""
        if not self.ids:
            return None
        partitions = {one.partition for one in self.ids}
        return {one: min(each.offset for each in self.ids if each.partition == one) for one in partitions}


@dataclass(slots=True)
class Found:
    """What a search has found so far. ``strangers``: records that are neither letters nor marks."""

    wanted: Wanted
    topics: Mapping[str, str]
    letters: list[Letter] = field(default_factory=list)
    put_back: dict[LetterId, PutBack] = field(default_factory=dict)
    strangers: int = 0

    def look_at(self, record: Record) -> None:
        """Take the next record of the topic."""
        if (letter := parse_letter(record, self.topics)) is not None:
            if self.wanted.matches(letter):
                self.letters.append(letter)
        elif (mark := parse_mark(record)) is not None:
            self.put_back[mark.letter] = mark
        else:
            self.strangers += 1

    def newest_first(self) -> list[Letter]:
        """Return what was found, the letters of one moment in the order of their ids."""
        return sorted(sorted(self.letters, key=lambda one: one.id), key=lambda one: one.at, reverse=True)

    def missing(self) -> Iterable[LetterId]:
        """Return the ids that were asked for and are no letters."""
        return sorted(self.wanted.ids - {one.id for one in self.letters})
