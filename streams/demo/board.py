"""What the demo has seen so far, and how it differs from what must come out."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from contracts.instants import parse_instant

Record = Mapping[str, Any]
_FORGED_ONLY = Counter({"not_authentic": 1})


@dataclass(frozen=True, slots=True)
class Expected:
    """A verdict that must come out, and the rule that must make it."""

    verdict: str
    rule: str

    def __str__(self) -> str:
        return f"{self.verdict} by {self.rule}"


@dataclass(frozen=True, slots=True)
class Difference:
    """What was expected about an operation, or about the dead letters, and what came out."""

    about: str
    expected: str
    seen: str


class Board:
    """The verdicts of each operation, and the dead letters, in the order in which they came.

    Attributes:
        verdicts: by operation id. A repeated record is the same record, so it is there once.
        refusals: class and reason of each dead letter.
        decided: set, by operation id, once there is a verdict.
        over: set once everything expected is there, or nothing more can come.
    """

    def __init__(self, expected: Mapping[str, tuple[Expected, ...]]) -> None:
        self._expected = expected
        self.verdicts: defaultdict[str, list[Record]] = defaultdict(list)
        self.refusals: list[tuple[str, str]] = []
        self.decided: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.over = asyncio.Event()

    def add_verdict(self, record: Record) -> bool:
        """Take a verdict record.

        Returns:
            True where it is a new one.
        """
        operation_id = record["operation_id"]
        seen = self.verdicts[operation_id]
        if any(one["verdict_id"] == record["verdict_id"] for one in seen):
            return False
        seen.append(record)
        self.decided[operation_id].set()
        self._look()
        return True

    def add_refusal(self, class_: str, reason: str) -> None:
        """Take a dead letter."""
        self.refusals.append((class_, reason))
        self._look()

    def _look(self) -> None:
        enough = all(len(self.verdicts.get(one, [])) >= len(expected) for one, expected in self._expected.items())
        if enough and len(self.refusals) >= _FORGED_ONLY.total():
            self.over.set()

    def differences(self) -> list[Difference]:
        """Compare everything seen with everything expected: verdicts and rules, in sequence, and nothing more."""
        found = []
        for operation_id in self._expected.keys() | self.verdicts.keys():
            expected, seen = self._expected.get(operation_id, ()), self.verdicts.get(operation_id, [])
            said = [Expected(one["verdict"], one["rule"]) for one in seen]
            if said != list(expected) or not _is_chain(seen):
                found.append(Difference(operation_id, _list(expected), _list(said)))
        classes = Counter(class_ for class_, _ in self.refusals)
        if classes != _FORGED_ONLY:
            found.append(Difference("dead letters", _counts(_FORGED_ONLY), _counts(classes)))
        return sorted(found, key=lambda one: one.about)


def _is_chain(records: list[Record]) -> bool:
    """Tell whether each record supersedes the one before it, and the sequence counts them."""
    before = [None, *(one["verdict_id"] for one in records)]
    return all(
        one["sequence"] == number and one["supersedes"] == superseded
        for number, (one, superseded) in enumerate(zip(records, before, strict=False), start=1)
    )


def _list(things: Iterable[object]) -> str:
    return ", then ".join(str(one) for one in things) or "nothing"


def _counts(classes: Counter[str]) -> str:
    return ", ".join(f"{count} {class_}" for class_, count in classes.items()) or "nothing"


def seconds_after_start(record: Record) -> float:
    """Return how long after its operation's start a verdict fell."""
    return (parse_instant(record["decided_at"]).start_ms - parse_instant(record["created_at"]).start_ms) / 1000
