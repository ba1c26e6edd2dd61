"""A trial: a world on a real Kafka, workers, and in the end the checker's word."""

import asyncio
import contextlib
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from aiokafka.errors import KafkaError

from streams.intake import Context
from streams.settings import Settings
from streams.transport.topics import ensure_topics
from streams.worker import load_context
from tests.faults.checker import Violation, check, summary
from tests.faults.fleet import Fleet, fleet_of
from tests.faults.topics import Contents, read_all
from tests.faults.upstream import Upstream, upstream_of
from tests.faults.world import World
from tests.integration.system import System, running_system

VERDICTS = ("VERIFIED", "CONTRADICTED", "FAILED", "UNVERIFIABLE")


@dataclass
class Trial:
    """Everything that a trial holds. ``came_to``: what there was to check in the end, by kind."""

    system: System
    upstream: Upstream
    world: World
    fleet: Fleet
    context: Context
    came_to: Counter[str] = field(default_factory=Counter)

    async def contents(self) -> Contents:
        """Read all topics, as soon as Kafka lets it."""
        async with asyncio.timeout(90):
            while True:
                try:
                    return await read_all(self.system.bootstrap, self.system.prefix)
                except (KafkaError, OSError):
                    await asyncio.sleep(0.5)

    async def left(self) -> int:
        """Count the operations that are begun and whose last verdict has not been said: what there is left to do."""
        return len(self._unsaid(await self.contents()))

    def _unsaid(self, contents: Contents) -> set[str]:
        said = {(one.key.decode(), verdict) for one in contents.of("verdicts") for verdict in _verdict_in(one.value)}
        return {one for one, verdict in self.world.expected.verdicts.items() if (one, verdict) not in said}

    async def drain(self, within_s: float = 90) -> Contents:
        """Wait until all is said and worked off, or the time is over; have the workers leave; read the topics."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            contents = await self.contents()
            if contents.worked_off and not self._unsaid(contents):
                break
            await asyncio.sleep(0.5)
        await self.fleet.stop()
        return await self.contents()

    async def verify(self, within_s: float = 90) -> list[Violation]:
        """Drain, and check."""
        contents = await self.drain(within_s)
        self.came_to = summary(contents)
        return check(contents, self.world.expected, self.context, self.system.prefix)

    def read_context(self) -> None:
        """Read contracts and connections again, as a worker does that starts now."""
        with _environment(self.system.environment):
            self.context = load_context(Settings())


def _verdict_in(value: bytes) -> list[str]:
    return [one for one in VERDICTS if f'"verdict":"{one}"'.encode() in value]


@contextlib.asynccontextmanager
async def trial_on(bootstrap: str, prefix: str, directory: Path, seed: int) -> AsyncIterator[Trial]:
    """Prepare a trial on a Kafka."""
    async with (
        running_system(bootstrap, prefix, directory, "kafka") as system,
        upstream_of(bootstrap, prefix) as upstream,
        fleet_of(system) as fleet,
    ):
        world = World(system, upstream, seed)
        with _environment(system.environment):
            settings = Settings()
            context = load_context(settings)
        await ensure_topics(settings)
        yield Trial(system, upstream, world, fleet, context)


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
