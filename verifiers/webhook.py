"""The webhook verifier: what a channel of events shows, from a case's ledger."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from contracts.evaluation import Facts
from contracts.instants import parse_instant
from contracts.model import EventFilter
from contracts.paths import MISSING
from verifiers.events import RecordedEvent


@dataclass(frozen=True, slots=True)
class EventsObserved:
    """The events that a channel counts, in the order of their resources' creation.

    ``events`` may hold several of one resource, where a channel counts several types of event; it is one all the same.
    ``members`` is what the published pages say the verifier returns, by name; times only where there are events.
    """

    events: tuple[RecordedEvent, ...]
    members: Mapping[str, Any]

    @classmethod
    def of(cls, events: tuple[RecordedEvent, ...]) -> Self:
        """Sum up events, which are in order."""
        resources = list(dict.fromkeys([one.event.resource_id for one in events]))
        members: dict[str, Any] = {
            "events": resources,
            "count": len(resources),
            "types": sorted({one.event.type for one in events}),
            "duplicates_dropped": sum([one.deliveries - 1 for one in events]),
        }
        if events:
            members["earliest"] = events[0].event.created_at
            members["latest"] = events[-1].event.created_at
        return cls(events, members)

    @property
    def count(self) -> int:
        """How many distinct resources the channel shows."""
        count: int = self.members["count"]
        return count

    @property
    def duplicates_dropped(self) -> int:
        """How many deliveries were dropped as repeats."""
        dropped: int = self.members["duplicates_dropped"]
        return dropped


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
        and where.items() <= one.event.identifiers.items()
        and (start is None or not parse_instant(one.event.created_at).wholly_before(start))
    ]
    if len(counted) > 1:
        counted.sort(key=lambda one: (parse_instant(one.event.created_at), one.event.resource_id))
    return EventsObserved.of(tuple(counted))
