"""Timers: when each row is due, in memory, rebuilt from the table. Timers only send; what is due, the state says."""

import asyncio
import heapq
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from streams.cases import due_ms_of
from streams.messages import Tick
from streams.outputs import ToCase
from streams.transport.fatal import end_process
from streams.transport.outbox import Outbox

_MOST_TICKS = 1000
_NOT_READY_S = 0.2
_LOOK_AGAIN_S = 30.0  # the wall clock may be set while the wait goes by another one


class Timers:
    """The due times of rows, each row once. Times are milliseconds since the epoch.

    A heap with lazy deletion: arming a row again leaves its old entry in the heap, to be skipped when it comes up.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, bytes]] = []
        self._due: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._due)

    def arm(self, key: bytes, due_ms: int | None) -> bool:
        """Set when a row is due, or with None that it is not.

        Returns:
            True where the row is now the first of all: whoever waits for the next one must look again.
        """
        if due_ms is None:
            self._due.pop(key, None)
            return False
        if self._due.get(key) != due_ms:
            self._due[key] = due_ms
            heapq.heappush(self._heap, (due_ms, key))
            if len(self._heap) > 2 * len(self._due) + 1024:
                self._heap = [(due, one) for one, due in self._due.items()]
                heapq.heapify(self._heap)
        return self._heap[0] == (due_ms, key)

    def rebuild(self, dues: Iterable[tuple[bytes, int | None]]) -> None:
        """Forget everything, and set the rows of a recovered table."""
        self._due = {key: due for key, due in dues if due is not None}
        self._heap = [(due, key) for key, due in self._due.items()]
        heapq.heapify(self._heap)

    def next_ms(self) -> int | None:
        """Return when the next row is due, None where none is."""
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take_due(self, now_ms: int, limit: int) -> list[bytes]:
        """Remove and return the rows that are due, the oldest first, at most ``limit``.

        They are armed again by what becomes of their ticks.
        """
        due: list[bytes] = []
        while len(due) < limit and (first := self.next_ms()) is not None and first <= now_ms:
            _, key = heapq.heappop(self._heap)
            del self._due[key]
            due.append(key)
        return due


class Alarm:
    """Waits for the next timer to be due, and turns those that are into ticks."""

    def __init__(self, clock_ms: Callable[[], int]) -> None:
        self._clock_ms = clock_ms
        self._timers = Timers()
        self._changed = asyncio.Event()

    def arm(self, dues: Mapping[bytes, int | None]) -> None:
        """Set when rows are due."""
        for key, due in dues.items():
            if self._timers.arm(key, due):
                self._changed.set()

    def rebuild(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Set the timers of a recovered table. A row that cannot be read has none; its next message says so."""
        self._timers.rebuild((key, due_ms_of(value)) for key, value in rows)
        self._changed.set()

    async def due(self, ready: Callable[[], bool]) -> list[ToCase]:
        """Wait until timers are due and the worker is ready, and return a tick for each, at most a thousand."""
        while True:
            now, first = self._clock_ms(), self._timers.next_ms()
            if first is not None and first <= now and ready():
                return [ToCase(key.decode(), Tick(now)) for key in self._timers.take_due(now, _MOST_TICKS)]
            wait = _LOOK_AGAIN_S if first is None else max((first - now) / 1000, 0.0 if ready() else _NOT_READY_S)
            self._changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), min(wait, _LOOK_AGAIN_S))


async def fire(alarm: Alarm, outbox: Outbox, ready: Callable[[], bool]) -> None:
    """Send ticks as they fall due, until cancelled. One that Kafka does not take ends the process."""
    while True:
        ticks = await alarm.due(ready)
        try:
            await outbox.deliver(ticks, "timers")
        except Exception as error:  # noqa: BLE001 - a tick that was not sent would be lost until the next start
            end_process("timers", error)
