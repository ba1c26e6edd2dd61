"""The nemesis: faults by seed, each injected while there is work left."""

import asyncio
import random
import shutil
import signal
from collections import Counter
from collections.abc import Awaitable, Callable

from tests.brokers import RunningKafka
from tests.faults.fleet import Worker
from tests.faults.test_crash_points import POINTS
from tests.faults.trial import Trial

SESSION_S = 2.0
MOST_WORKERS = 3
Tell = Callable[[str], None]


class Nemesis:
    """Injects one fault after the other into a trial."""

    def __init__(self, trial: Trial, kafka: RunningKafka, chance: random.Random, tell: Tell) -> None:
        self._trial = trial
        self._kafka = kafka
        self._chance = chance
        self._tell = tell
        self.injected: Counter[str] = Counter()
        self._faults: list[Callable[[], Awaitable[None]]] = [
            self.kill,
            self.kill_at_a_step,
            self.kill_again_and_again,
            self.pause,
            self.join_and_leave,
            self.poison,
            self.stop_the_broker,
            self.kill_the_broker,
        ]

    async def strike(self) -> None:
        """Inject one fault, of whichever kind. There must be work left, or it would prove nothing."""
        left = await self._trial.left()
        assert left > 0, "there is nothing left to do: a fault would prove nothing"
        fault = self._chance.choice(self._faults)
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
