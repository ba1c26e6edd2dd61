"""Workers under a supervisor: what ends is started again, as it would be where they really run."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from streams.embedded.processes import Process, log_tail, start_child
from tests.integration.system import System, until

_RESTART_S = 1.0
WORKER = (sys.executable, "-m", "streams.cli", "worker")


@dataclass
class Worker:
    """One place for a worker: its process, which is another one after each end, and how the earlier ones ended."""

    system: System
    name: str
    command: Sequence[str]
    plans: list[str]
    process: Process | None = None
    ends: list[int] = field(default_factory=list)
    _supervisor: asyncio.Task[None] | None = None

    @property
    def log(self) -> Path:
        """The file that the worker's output goes to."""
        return self.system.directory / f"{self.name}.log"

    @property
    def health(self) -> Path:
        """The file that the worker touches while it is ready."""
        return self.system.directory / f"{self.name}.healthy"

    @property
    def data(self) -> Path:
        """The directory of the worker's local files."""
        return self.system.directory / f"{self.name}-data"

    @property
    def pid(self) -> int:
        """The process id of its present life."""
        assert self.process is not None
        return self.process.pid

    async def start(self) -> None:
        """Start the first process, and supervise it from now on."""
        await self._begin()
        self._supervisor = asyncio.create_task(self._supervise())

    async def _begin(self) -> None:
        self.health.unlink(missing_ok=True)
        environment = self.system.environment | {
            "PROOFSTREAM_HEALTH_FILE": str(self.health),
            "PROOFSTREAM_DATA_DIR": str(self.data),
        }
        if self.plans:  # how this life is to end
            environment["PROOFSTREAM_TEST_CRASH_AT"] = self.plans.pop(0)
        self.process = await start_child(*self.command, log=self.log, environment=environment)

    async def _supervise(self) -> None:
        while self.process is not None:
            code = await self.process.wait()
            self.ends.append(code)
            if code >= 0:  # it gave up by itself: without Kafka it would do so again at once
                await asyncio.sleep(_RESTART_S)
            await self._begin()

    async def ready(self, within_s: float = 60) -> None:
        """Wait until the worker is ready, in whatever life."""
        await until(self.health.exists, within_s)

    async def ended(self, times: int, within_s: float = 60) -> None:
        """Wait until so many of its lives are over."""
        try:
            await until(lambda: len(self.ends) >= times, within_s)
        except TimeoutError:
            raise AssertionError(
                f"{self.name} has ended {self.ends}, not {times} times; {log_tail(self.log)}"
            ) from None

    def send(self, what: signal.Signals) -> None:
        """Send its process a signal, if it lives."""
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(what)

    def is_stopped(self) -> bool:
        """Tell whether its process is paused by a signal."""
        try:
            state = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return False
        return state == "T"

    async def leave(self, within_s: float = 30) -> int:
        """Ask it to end, and do not start it again; returns its exit code."""
        if self._supervisor is not None:
            self._supervisor.cancel()
        assert self.process is not None
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        async with asyncio.timeout(within_s):
            return await self.process.wait()

    async def kill(self) -> None:
        """Kill it, and do not start it again."""
        if self._supervisor is not None:
            self._supervisor.cancel()
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


class Fleet:
    """The workers of a system."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.workers: list[Worker] = []
        self._count = 0

    async def join(self, *plans: str, command: Sequence[str] = WORKER) -> Worker:
        """Add a worker. ``plans``: at which crash point each of its first lives is to end."""
        self._count += 1
        worker = Worker(self._system, f"worker-{self._count}", command, list(plans))
        self.workers.append(worker)
        await worker.start()
        return worker

    async def part(self, worker: Worker) -> int:
        """Have a worker leave; returns its exit code."""
        self.workers.remove(worker)
        return await worker.leave()

    async def stop(self) -> None:
        """Have all leave."""
        for worker in list(self.workers):
            await self.part(worker)


@contextlib.asynccontextmanager
async def fleet_of(system: System) -> AsyncIterator[Fleet]:
    """Have workers for as long as the block runs."""
    fleet = Fleet(system)
    try:
        yield fleet
    finally:
        for worker in fleet.workers:
            await worker.kill()
