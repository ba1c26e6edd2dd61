"""Lanes: the batches of each partition one after the other, partitions side by side.

What several partitions have waiting is worked on together, as one unit, since a stage pays by the unit: for its tasks,
for its requests to Kafka, for its looks at the lease. While one unit waits for Kafka's acknowledgements, another one is
worked on, of other partitions.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from aiokafka import ConsumerRecord
from faust.types import EventT, StreamT

from streams.transport.batch import abandon
from streams.transport.crash_points import crash_point
from streams.transport.fatal import fatal
from streams.transport.membership import Membership, PartitionsLost

_WAITING: Final = 32
"""So many fetched batches wait in the lanes; then the stream waits, and the fetching."""
_UNDER_WAY: Final = 4
"""So many units are worked on at a time: one has the processor, the others wait for Kafka to acknowledge."""
_WORTH_IT: Final = 50
"""With fewer records waiting, a unit begins only when no other is under way: many small ones take longer than few."""
_ENOUGH: Final = 500
"""A unit of so many records takes no further batch: it occupies the event loop for a good tenth of a second."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Records of one partition, in order."""

    partition: int
    records: Sequence[ConsumerRecord]

    @property
    def position(self) -> int:
        """The offset of the last record."""
        offset: int = self.records[-1].offset
        return offset


@dataclass(frozen=True, slots=True)
class Unit:
    """What is worked on together: a batch each of some partitions, all fetched in one generation of the group."""

    batches: Sequence[Batch]
    generation: int
    membership: Membership

    def records(self) -> Iterator[ConsumerRecord]:
        """Iterate over all the records, in order within each partition."""
        return chain.from_iterable(batch.records for batch in self.batches)

    async def confirm(self) -> None:
        """Make sure that the partitions are still this worker's, see :meth:`Membership.confirm`."""
        await self.membership.confirm(self.generation)


Work = Callable[[Unit], Awaitable[None]]
_Events = list[EventT[Any]]


class Lanes:
    """Runs a stage's work over the batches of a topic.

    A batch is acknowledged when its work is done. Work that raises ends the process: Faust would acknowledge the batch
    and go on. A batch whose partition was lost is neither worked on nor acknowledged.
    """

    def __init__(self, stage: str, membership: Membership, work: Work) -> None:
        self._stage = stage
        self._membership = membership
        self._work = work
        self._waiting: dict[int, deque[EventT[Any]]] = {}  # by partition, the one that has waited longest first
        self._busy: set[int] = set()
        self._room = asyncio.Semaphore(_WAITING)
        self._changed = asyncio.Event()
        self._units: set[asyncio.Task[None]] = set()

    async def run(self, stream: StreamT[Any]) -> None:
        """Put each batch of a stream into its partition's lane, until cancelled."""
        dispatcher = asyncio.create_task(self._dispatch())
        try:
            async for event in stream.events():
                event.message.incref()  # what Faust acknowledges when the loop goes on is not the last word
                await self._room.acquire()
                self._waiting.setdefault(event.message.partition, deque()).append(event)
                self._changed.set()
        finally:
            for task in (dispatcher, *self._units):
                task.cancel()
            self._waiting.clear()

    async def _dispatch(self) -> None:
        """Begin a unit when there is something for it, and another one has not too many beside it."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._may_begin() and (lanes := self._take()):
                unit = asyncio.create_task(self._do(lanes))
                self._units.add(unit)
                unit.add_done_callback(self._ended)

    def _may_begin(self) -> bool:
        if not self._units:
            return True
        free = (events for partition, events in self._waiting.items() if partition not in self._busy)
        records = sum(len(event.value) for event in chain.from_iterable(free))
        return len(self._units) < _UNDER_WAY and records >= _WORTH_IT

    def _ended(self, unit: asyncio.Task[None]) -> None:
        self._units.discard(unit)
        self._changed.set()

    def _take(self) -> dict[int, _Events]:
        """Take what waits in the partitions that nothing is done in, up to a unit's size, of one generation."""
        taken: dict[int, _Events] = {}
        generation, records = None, 0
        for partition, waiting in list(self._waiting.items()):
            if partition in self._busy or records >= _ENOUGH:
                continue
            # A rebalance may lie between two batches in a lane; what is of one generation is next to each other.
            generation = _generation(waiting[0]) if generation is None else generation
            events: _Events = []
            while waiting and _generation(waiting[0]) == generation and records < _ENOUGH:
                events.append(waiting.popleft())
                records += len(events[-1].value)
            if events:
                taken[partition] = events
                self._busy.add(partition)
                del self._waiting[partition]
                if waiting:
                    self._waiting[partition] = waiting
        return taken

    async def _do(self, lanes: dict[int, _Events]) -> None:
        batches = [
            Batch(partition, list(chain.from_iterable(event.value for event in events)))
            for partition, events in lanes.items()
        ]
        all_events = list(chain.from_iterable(lanes.values()))
        unit = Unit(batches, _generation(all_events[0]), self._membership)
        lost = False
        with fatal(self._stage):
            try:
                await unit.confirm()
                crash_point(self._stage, "batch_read")
                await self._work(unit)
            except PartitionsLost:
                lost = True
        for event in all_events:
            if lost:
                abandon(event)
            else:
                event.ack()
            self._room.release()
        self._busy.difference_update(lanes)


def _generation(event: EventT[Any]) -> int:
    return event.message.generation_id or 0
