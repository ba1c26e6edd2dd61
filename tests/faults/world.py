"""A seeded world: refunds that were asked for, what the providers made of them, and what must be said of each.

Its contracts are the built-in ones with a timing that faults cannot outlast: what is true in the end must be said in
the end, however long a worker was dead. Only what is never seen, or too late, has a short timeout.
"""

import asyncio
import itertools
import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson

from tests.faults import refunds, twists
from tests.faults.expected import LATER, Expected, Fate, Place, refused, taken
from tests.faults.hostile import bad_deliveries, bad_operations, poison
from tests.faults.refunds import HURRIED, KINDS, Refunds
from tests.faults.upstream import CODECS, Codec, Outgoing, Upstream
from tests.integration.system import System, now_text, write_contracts

CALM = {"timeout_ms": 900_000, "stale_read_window_ms": 1000, "max_attempts": 60, "poll_interval_ms": 1000}
SOON = {"timeout_ms": 2500, "stale_read_window_ms": 1000, "max_attempts": 4, "poll_interval_ms": 1000}

_TOO_LATE_S = SOON["timeout_ms"] / 1000 + 0.1
Headers = list[tuple[str, bytes | None]]


class World:
    """Publishes operations and deliveries, each by its own plan, and knows what they come to."""

    def __init__(self, system: System, upstream: Upstream, seed: int) -> None:
        self._system = system
        self._upstream = upstream
        self._seed = seed
        self._next = 1
        self.expected = Expected()
        write_contracts(system.directory / "contracts", "calm", CALM)
        write_contracts(system.directory / "contracts", "hurried", SOON)

    async def live(self, operations: int, within_s: float) -> None:
        """Begin so many operations at random times within a span, and see each through; returns when all is sent."""
        await asyncio.gather(*(self._plan(number, within_s).see_through() for number in self._numbers(operations)))

    async def poison(self) -> None:
        """Publish what no stage can read, on every topic that one reads."""
        for (record, fate), codec in zip(poison(), itertools.cycle(CODECS), strict=False):
            await self.publish(record, fate, codec)

    async def strangers(self, operations: int) -> list[Place]:
        """Publish operations of a connection that nobody knows, and their deliveries; return where they lie."""
        plans = [self._plan(number, 0, stranger=True) for number in self._numbers(operations)]
        await asyncio.gather(*(plan.see_through() for plan in plans))
        return [place for plan in plans for place in plan.places]

    async def publish(self, record: Outgoing, fate: Fate, codec: Codec = None) -> Place:
        """Publish a record, and note what must become of it."""
        place = await self._upstream.publish(record, codec)
        self.expected.fates[place] = fate
        return place

    def _numbers(self, operations: int) -> Iterable[int]:
        self._next += operations
        return range(self._next - operations, self._next)

    def _plan(self, number: int, within_s: float, *, stranger: bool = False) -> "_Plan":
        return _Plan(self, self._system, self._seed, number, within_s, stranger=stranger)


class _Plan:
    """One operation, and everything that is published for it and in its name."""

    def __init__(
        self, world: World, system: System, seed: int, number: int, within_s: float, *, stranger: bool
    ) -> None:
        self._world = world
        self._system = system
        self._number = number
        self._stranger = stranger
        self._chance = chance = random.Random(f"{seed}/{number}")
        self._kind = "good" if stranger else chance.choice(KINDS)
        # What takes its time begins early, so that it keeps nobody waiting.
        self._begins_s = chance.random() * within_s * (0.5 if self._kind in HURRIED else 1)
        self._codec = CODECS[(seed + number) % len(CODECS)]
        self._id = twists.IDS[number % len(twists.IDS)](number)
        self.places: list[Place] = []

    def _make(self) -> Refunds:
        if self._stranger:
            return refunds.of_shop(self._system, self._number, self._kind, LATER)
        made = self._chance.choice((refunds.of_shop, refunds.of_account))
        return made(self._system, self._number, self._kind)

    async def see_through(self) -> None:
        """Publish everything, each at its time."""
        chance, kind = self._chance, self._kind
        await asyncio.sleep(self._begins_s)
        created_at, made = now_text(), self._make()
        self._world.expected.verdicts[self._id] = made.comes_to
        operation = {
            "operation_id": self._id,
            "contract": f"{'hurried' if kind in HURRIED else 'calm'}.{made.contract}",
            "connection": made.connection,
            "created_at": created_at,
            "input": made.inputs,
        }
        deliveries = [one for one in range(len(made.names)) for _ in range(chance.randint(1, 3))]
        deliveries = deliveries * 8 if kind == "repeated" else deliveries if kind != "lost" else []
        chance.shuffle(deliveries)
        if kind == "early":
            await self._deliver(made, deliveries.pop())
        if chance.random() < 0.5:  # what came of it is known later
            await self._operation(operation)
            await asyncio.sleep(chance.random())
        told = operation | {"action": {"result": made.result}}
        for _ in range(chance.choice((1, 1, 2))):
            await self._operation(told)
        if kind == "changed":
            await self._published_again(told, made)
        if not self._stranger:
            await self._in_its_name(told, made)
        if kind == "late":
            await asyncio.sleep(_TOO_LATE_S + chance.random() * 1.5)
        pause_s = 0.5 if len(deliveries) < 8 else 0.05
        for one in deliveries:
            await asyncio.sleep(chance.random() * pause_s)
            await self._deliver(made, one)

    async def _published_again(self, told: dict[str, Any], made: Refunds) -> None:
        """Publish it as something else: the first publication stands."""
        changes: list[tuple[str, dict[str, Any]]] = [
            ("intent_changed", {"input": {**made.inputs, "amount": "1.00"}}),
            ("intent_changed", {"input": made.other_inputs}),
            ("intent_changed", {"contract": f"hurried.{made.contract}"}),
            ("intent_changed", {"created_at": "2026-01-01T00:00:00Z"}),
            ("action_changed", {"action": {"result": made.other_result}}),
        ]
        for class_, change in self._chance.sample(changes, 2):
            fate = replace(refused(class_, "decide"), forwarded=True, about=self._id)
            await self._publish(Outgoing("operations", self._written(told | change), self._id.encode()), fate)

    async def _in_its_name(self, told: dict[str, Any], made: Refunds) -> None:
        """Publish what must be refused, or ignored, for all that it says is right but one thing."""
        bad = bad_operations(told, self._number)
        await self._publish(*bad[self._number % len(bad)])
        bad = bad_deliveries(made.deliver(0), made.connection)
        for one in (2 * self._number, 2 * self._number + 1):
            await self._publish(*bad[one % len(bad)])

    async def _operation(self, operation: dict[str, Any]) -> None:
        record = Outgoing("operations", self._written(operation), self._id.encode())
        if self._kind != "changed":  # there, order matters, so that all must lie in one partition
            record = self._chance.choice(twists.PLACES)(record)
        await self._publish(record, self._fate(self._id))

    async def _deliver(self, made: Refunds, one: int) -> None:
        request = made.deliver(one)
        request = twists.with_body(request, self._chance.choice(twists.BODIES)(request.body))
        headers: Headers = list(request.kafka_headers(made.connection, datetime.now(UTC)))
        headers = self._chance.choice(twists.HEADERS)(headers)
        record = self._chance.choice(twists.PLACES)(Outgoing("webhooks", request.body, None, tuple(headers)))
        fate = self._fate(made.names[one])
        await self._publish(record, replace(fate, late_for=self._id) if self._kind == "late" else fate)

    def _fate(self, about: str) -> Fate:
        if self._stranger:
            return replace(refused("unknown_connection"), about=about, mended=True)
        return taken(about)

    def _written(self, operation: dict[str, Any]) -> bytes:
        return self._chance.choice(twists.WRITINGS)(orjson.dumps(operation))

    async def _publish(self, record: Outgoing, fate: Fate) -> None:
        self.places.append(await self._world.publish(record, fate, self._codec))
