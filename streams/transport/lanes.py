"""Lanes: the batches of each partition one after the other, partitions side by side.

While one partition waits for Kafka's acknowledgements, another's batch is worked on. Batches of a partition that have
queued up meanwhile are worked on as one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from aiokafka import ConsumerRecord
from faust.types import EventT, StreamT

from streams.transport.batch import abandon
from streams.transport.crash_points import crash_point
from streams.transport.fatal import fatal
from streams.transport.membership import Membership, PartitionsLost

_QUEUED = 4  # batches


@dataclass(frozen=True, slots=True)
class Batch:
    """Records of one partition, in order, and the generation of the group that they were fetched in."""

    records: Sequence[ConsumerRecord]
    partition: int
    generation: int
    membership: Membership

    async def confirm(self) -> None:
        """Make sure that the partition is still this worker's, see :meth:`Membership.confirm`."""
        await self.membership.confirm(self.generation)


Work = Callable[[Batch], Awaitable[None]]


class Lanes:
    """Runs a stage's work over the batches of a topic.

    A batch is acknowledged when its work is done. Work that raises ends the process: Faust would acknowledge the batch
    and go on. A batch whose partition was lost is neither worked on nor acknowledged.
    """

    def __init__(self, stage: str, membership: Membership, work: Work) -> None:
        self._stage = stage
        self._membership = membership
        self._work = work
        self._lanes: dict[int, asyncio.Queue[EventT[Any]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, stream: StreamT[Any]) -> None:
        """Put each batch of a stream into its partition's lane, until cancelled."""
        try:
            async for event in stream.events():
                event.message.incref()  # what Faust acknowledges when the loop goes on is not the last word
                lane = self._lanes.get(event.message.partition)
                if lane is None:
                    lane = self._open(event.message.partition)
                await lane.put(event)
        finally:
            for task in self._tasks:
                task.cancel()
            self._lanes.clear()

    def _open(self, partition: int) -> asyncio.Queue[EventT[Any]]:
        lane: asyncio.Queue[EventT[Any]] = asyncio.Queue(_QUEUED)
        task = asyncio.create_task(self._drive(lane))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._lanes[partition] = lane
        return lane

    async def _drive(self, lane: asyncio.Queue[EventT[Any]]) -> None:
        while True:
            events = [await lane.get()]
            while not lane.empty():
                events.append(lane.get_nowait())
            # A rebalance may lie between two batches in a lane; what is of one generation is next to each other.
            for generation in dict.fromkeys(_generation(event) for event in events):
                await self._do([event for event in events if _generation(event) == generation])

    async def _do(self, events: list[EventT[Any]]) -> None:
        first = events[0]
        records = first.value if len(events) == 1 else list(chain.from_iterable(event.value for event in events))
        batch = Batch(records, first.message.partition, _generation(first), self._membership)
        with fatal(self._stage):
            try:
                await batch.confirm()
                crash_point(self._stage, "batch_read")
                await self._work(batch)
            except PartitionsLost:
                for event in events:
                    abandon(event)
                return
        for event in events:
            event.ack()


def _generation(event: EventT[Any]) -> int:
    return event.message.generation_id or 0
