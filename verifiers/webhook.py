"""The webhook verifier: what a channel of events shows, from a case's ledger."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from contracts.evaluation import Facts
from contracts.instants import parse_instant
from contracts.model import EventFilter
from contracts.paths import MISSING
from verifiers.events import RecordedEvent


@dataclass(frozen=True, slots=True)
class EventsObserved:
    """The events that a channel counts, in the order of their resources' creation.

    ``events`` may hold several of one resource, where a channel counts several types of event; it is one all the same.
    """

    events: tuple[RecordedEvent, ...]

    @property
    def resources(self) -> tuple[str, ...]:
        """The distinct resources that the channel shows."""
        return tuple(dict.fromkeys(one.event.resource_id for one in self.events))

    @property
    def count(self) -> int:
        """How many distinct resources the channel shows."""
        return len(self.resources)

    @property
    def duplicates_dropped(self) -> int:
        """How many deliveries were dropped as repeats."""
        return sum(one.deliveries - 1 for one in self.events)

    def members(self) -> dict[str, Any]:
        """Return what the published pages say the verifier returns, by name; times only where there are events."""
        members: dict[str, Any] = {
            "events": list(self.resources),
            "count": self.count,
            "types": sorted({one.event.type for one in self.events}),
            "duplicates_dropped": self.duplicates_dropped,
        }
        if self.events:
            members["earliest"] = self.events[0].event.created_at
            members["latest"] = self.events[-1].event.created_at
        return members


def observe(
    ledger: Iterable[RecordedEvent], wanted: EventFilter, facts: Facts, before_ms: int | None
) -> EventsObserved | None:
    """Count the events of a channel.

    Args:
        ledger: every event of the case.
        wanted: the channel's filter: type, subject and time.
        facts: path text → value, for the values that the filter names.
        before_ms: the end of the observation, what arrived at or after it does not count; None for no end.

    Returns:
        What the channel shows, or None where a value that the filter needs is not known yet.
    """
    where = {name: facts.get(path, MISSING) for name, path in wanted.where.items()}
    since = facts.get(wanted.since, MISSING) if wanted.since is not None else None
    if since is MISSING or any(value is MISSING for value in where.values()):
        return None
    start = parse_instant(since) if since is not None else None
    counted = [
        one
        for one in ledger
        if (before_ms is None or one.arrived_ms < before_ms)
        and one.event.type in wanted.types
        and all(one.event.identifiers.get(name) == value for name, value in where.items())
        and (start is None or not parse_instant(one.event.created_at).wholly_before(start))
    ]
    counted.sort(key=lambda one: (parse_instant(one.event.created_at), one.event.resource_id))
    return EventsObserved(tuple(counted))
