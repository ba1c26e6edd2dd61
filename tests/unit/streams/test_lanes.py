"""Lanes: what waits in several partitions is one unit, and a partition's batches keep their order."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from streams.transport import lanes
from streams.transport.lanes import Lanes, Unit
from streams.transport.membership import Membership

MANY = ["a"] * lanes._WORTH_IT
Seen = list[tuple[int, list[str]]]


@dataclass
class Event:
    """What Faust hands over: a batch of a partition."""

    partition: int
    value: Sequence[str]
    generation: int = 1
    acked: bool = False
    abandoned: bool = False
    message: Any = field(init=False)

    def __post_init__(self) -> None:
        self.message = SimpleNamespace(partition=self.partition, generation_id=self.generation, incref=lambda: None)

    def ack(self) -> None:
        self.acked = True


class Stage:
    """A stage that writes down its units and works on each until it is told to end it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.membership = Membership(30.0)
        self.membership._coordinator = SimpleNamespace(generation=1)
        self.units: list[Seen] = []
        self.gates: list[asyncio.Event] = []
        self.over = False
        self.queue: asyncio.Queue[Any] = asyncio.Queue()
        monkeypatch.setattr(lanes, "abandon", self.abandon)
        self.running = asyncio.create_task(Lanes("stage", self.membership, self.work).run(self))  # type: ignore[arg-type]

    @staticmethod
    def abandon(event: Any) -> None:
        event.abandoned = True

    async def work(self, unit: Unit) -> None:
        records: Any = [(batch.partition, list(batch.records)) for batch in unit.batches]
        self.units.append(records)
        self.gates.append(gate := asyncio.Event())
        if not self.over:
            await gate.wait()

    async def events(self) -> AsyncIterator[Any]:
        while True:
            yield await self.queue.get()

    async def comes(self, *events: Event) -> None:
        for event in events:
            self.queue.put_nowait(event)
        await self.settle()

    async def ends(self, unit: int) -> None:
        self.gates[unit].set()
        await self.settle()

    @staticmethod
    async def settle() -> None:
        for _ in range(20):
            await asyncio.sleep(0)


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    stage = Stage(monkeypatch)
    yield stage
    stage.over = True  # a unit that is cancelled ends the process
    for gate in stage.gates:
        gate.set()
    await stage.settle()
    stage.running.cancel()


async def test_what_waits_in_several_partitions_is_worked_on_together(stage: Stage):
    await stage.comes(first := Event(0, "ab"), second := Event(3, "c"), third := Event(0, "d"))

    assert stage.units == [[(0, ["a", "b", "d"]), (3, ["c"])]]
    assert not first.acked
    await stage.ends(0)
    assert first.acked
    assert second.acked
    assert third.acked


async def test_a_partition_that_is_worked_on_waits_and_another_does_not(stage: Stage):
    await stage.comes(Event(0, "a"))
    await stage.comes(Event(0, "b"), Event(1, MANY))
    assert stage.units == [[(0, ["a"])], [(1, MANY)]]

    await stage.ends(0)
    await stage.ends(1)
    assert stage.units[2:] == [[(0, ["b"])]]


async def test_a_few_records_wait_for_the_unit_under_way(stage: Stage):
    await stage.comes(Event(0, "a"))
    await stage.comes(Event(1, "b"))
    await stage.comes(Event(2, "c"))
    assert stage.units == [[(0, ["a"])]]

    await stage.ends(0)
    assert stage.units[1:] == [[(1, ["b"]), (2, ["c"])]]


async def test_so_many_units_are_under_way_and_each_end_begins_the_next(stage: Stage):
    for partition in range(lanes._UNDER_WAY + 2):
        await stage.comes(Event(partition, MANY))
    assert stage.units == [[(partition, MANY)] for partition in range(lanes._UNDER_WAY)]

    # Two end in the same turn of the event loop.
    stage.gates[0].set()
    await stage.ends(1)
    assert [record for unit in stage.units[lanes._UNDER_WAY :] for record in unit] == [(4, MANY), (5, MANY)]


async def test_a_unit_that_is_large_enough_takes_no_more(stage: Stage):
    many = ["a"] * lanes._ENOUGH
    await stage.comes(Event(0, many), Event(1, "b"), Event(0, "c"))
    assert stage.units == [[(0, many)]]


async def test_batches_from_before_and_after_a_rebalance_are_no_unit(stage: Stage):
    old, new = Event(0, "a", generation=0), Event(0, "b", generation=1)
    await stage.comes(old, new, Event(1, "c", generation=1))

    assert stage.units == [[(1, ["c"]), (0, ["b"])]]  # the old one is not worked on
    assert old.abandoned
    assert not old.acked


async def test_the_stream_waits_while_too_much_is_waiting(stage: Stage):
    await stage.comes(*(Event(0, "a") for _ in range(lanes._WAITING + 5)))
    assert stage.queue.qsize() == 4  # one has been taken from it and waits for room

    await stage.ends(0)
    assert stage.queue.qsize() == 0
