"""The nemesis: faults by seed, each injected while there is work left.

Short runs have faults that take seconds. Long runs have two more: a repair in each round, and in every third one an
outage that is longer than any request is waited for.
"""

import asyncio
import random
import shutil
import signal
from collections import Counter
from collections.abc import Awaitable, Callable

from tests.brokers import RunningKafka
from tests.faults.fleet import Worker
from tests.faults.repair import Repair
from tests.faults.test_crash_points import POINTS
from tests.faults.trial import Trial

SESSION_S = 2.0
MOST_WORKERS = 3
LONG_OUTAGE_S = (60.0, 75.0)
_OUTAGE_EVERY = 3
Tell = Callable[[str], None]
Fault = Callable[[], Awaitable[None]]


class Nemesis:
    """Injects one fault after the other into a trial."""

    def __init__(self, trial: Trial, kafka: RunningKafka, chance: random.Random, tell: Tell) -> None:
        self._trial = trial
        self._kafka = kafka
        self._chance = chance
        self._tell = tell
        self.injected: Counter[str] = Counter()
        self._faults: list[Fault] = [
            self.kill,
            self.kill_at_a_step,
            self.kill_again_and_again,
            self.pause,
            self.join_and_leave,
            self.poison,
            self.stop_the_broker,
            self.kill_the_broker,
        ]

    def plan(self, faults: int, seed: int, *, long: bool) -> list[Fault]:
        """Choose so many faults, in order. A round of a long run has the long ones in the place of some."""
        plan = [self._chance.choice(self._faults) for _ in range(faults)]
        if long:
            ones = [self.repair, *([self.a_long_outage] if seed % _OUTAGE_EVERY == 2 else [])]
            for place, fault in zip(self._chance.sample(range(faults), len(ones)), ones, strict=True):
                plan[place] = fault
        return plan

    async def strike(self, fault: Fault) -> None:
        """Inject one fault. There must be work left, or it would prove nothing."""
        left = await self._trial.left()
        assert left > 0, "there is nothing left to do: a fault would prove nothing"
        name = fault.__name__.replace("_", " ")
        self._tell(f"{name} ({left} operations undecided)")
        await fault()
        self.injected[name] += 1

    def _victim(self) -> Worker:
        return self._chance.choice(self._trial.fleet.workers)

    async def kill(self) -> None:
        """Kill a worker; its data directory is kept, or wiped."""
        victim = self._victim()
        if self._chance.random() < 0.5:
            shutil.rmtree(victim.data, ignore_errors=True)
        victim.send(signal.SIGKILL)

    async def kill_at_a_step(self) -> None:
        """Kill a worker, and have its next life end at a step of a batch."""
        victim = self._victim()
        victim.plans.append(f"{self._chance.choice(POINTS)}:{self._chance.randint(1, 5)}")
        victim.send(signal.SIGKILL)

    async def kill_again_and_again(self) -> None:
        """Kill a worker five times, before it can have recovered."""
        victim = self._victim()
        for _ in range(5):
            victim.send(signal.SIGKILL)
            await asyncio.sleep(self._chance.uniform(0.5, 3.5))

    async def pause(self) -> None:
        """Pause a worker for longer than its session, so that it wakes up as a zombie."""
        victim = self._victim()
        victim.send(signal.SIGSTOP)
        await asyncio.sleep(SESSION_S * self._chance.uniform(1.5, 3))
        victim.send(signal.SIGCONT)

    async def join_and_leave(self) -> None:
        """Have a worker join, or one leave."""
        fleet = self._trial.fleet
        if len(fleet.workers) < MOST_WORKERS:
            await fleet.join()
        else:
            code = await fleet.part(self._victim())
            assert code in {0, -signal.SIGKILL, 70}, f"a worker that was asked to leave ended with {code}"

    async def poison(self) -> None:
        """Publish what no stage can read."""
        await self._trial.world.poison()

    async def stop_the_broker(self) -> None:
        """Shut the broker down, and start it again some time later."""
        await self._kafka.stop()
        await asyncio.sleep(self._chance.uniform(0, 6))
        await self._kafka.restart()

    async def kill_the_broker(self) -> None:
        """Kill the broker, and start it again."""
        await self._kafka.kill()
        await self._kafka.restart()

    async def a_long_outage(self) -> None:
        """Have the broker away for longer than a client waits for an answer."""
        await self._chance.choice((self._kafka.stop, self._kafka.kill))()
        await asyncio.sleep(self._chance.uniform(*LONG_OUTAGE_S))
        await self._kafka.restart()

    async def repair(self) -> None:
        """Mend the cause of dead letters and put them back, twice at once, and others that are still no good."""
        await Repair(self._trial, self._chance).carry_out()
