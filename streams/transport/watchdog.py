"""The watchdog: ends a worker that stands still, with what stands still, so that its supervisor starts it again.

It runs in a thread of its own and asks Kafka itself for committed offsets and ends, so that nothing that may hang in
the worker can hide it. While Kafka does not answer, nothing counts as a stall: the worker goes on when it is back.
"""

import asyncio
import faulthandler
import threading
from collections.abc import Callable, Collection, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from streams.transport.fatal import end_process

_LOOKS_IN_A_TIMEOUT = 12
_MOST_S_BETWEEN_LOOKS = 5.0
_ANSWER_WITHIN_MS = 10_000


class Stalled(RuntimeError):
    """The worker has stood still for too long."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the worker looks like at one moment.

    ``recovered`` counts the changelog records taken in. ``unfinished`` are its partitions in which there is something
    to do. ``delivery`` names the oldest delivery to Kafka that is under way.
    """

    generation: int
    rebalancing: bool
    recovering: bool
    recovered: int
    unfinished: Collection[TopicPartition]
    delivery: int | None


@dataclass(frozen=True, slots=True)
class Offsets:
    """What Kafka says, by partition: where the group would go on, and where the records end that may be read.

    Behind the beginning of an open transaction nothing may be read; to wait for its end is not to stand still.
    """

    places: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]


@dataclass(slots=True)
class Patience:
    """Measures how long what should move has stood still.

    Each thing that is watched has a sign; the time counts from when it last changed. Time passes by looks, each of
    which counts for a bounded time: a process that was paused has not stood still.
    """

    timeout_s: float
    longest_look_s: float
    _signs: dict[str, tuple[Hashable, float]] = field(default_factory=dict)

    def judge(self, look: Look, beats: int, offsets: Offsets | None, passed_s: float) -> str | None:
        """Take in a look.

        Args:
            look: the worker.
            beats: how often its event loop has come round.
            offsets: what Kafka says, None where it does not answer.
            passed_s: the time since the last look, in seconds.

        Returns:
            What stands still, or None.
        """
        passed_s = min(passed_s, self.longest_look_s)
        watched: dict[str, Hashable] = {"the event loop has not come round": beats}
        if offsets is not None and look.rebalancing:
            watched["a rebalance has not ended"] = look.generation
        elif offsets is not None and look.recovering:
            watched["the recovery of the table has not moved"] = look.recovered
        elif offsets is not None:
            for partition in look.unfinished:
                place = offsets.places.get(partition)
                if place is not None and offsets.ends.get(partition, 0) > place:
                    name = f"{partition.topic}/{partition.partition}"
                    watched[f"nothing was committed on {name}, although records wait there,"] = place
            if look.delivery is not None:
                watched["a delivery to Kafka has not been acknowledged"] = look.delivery
        still = {}
        for what, sign in watched.items():
            before, since_s = self._signs.get(what, (sign, -passed_s))
            still[what] = (sign, since_s + passed_s if before == sign else 0.0)
        self._signs = still
        for what, (_, since_s) in still.items():
            if since_s >= self.timeout_s:
                return f"{what} for {since_s:.0f} s"
        return None


class Watchdog:
    """Looks at a worker every few seconds, and ends it when it stands still."""

    def __init__(self, bootstrap_servers: str | None, group: str, timeout_s: float) -> None:
        """Prepare.

        Args:
            bootstrap_servers: Kafka's addresses; None for a broker that cannot be asked.
            group: the consumer group.
            timeout_s: how long anything may stand still, in seconds.
        """
        self._kafka = _Kafka(bootstrap_servers, group) if bootstrap_servers is not None else None
        self._beats = 0
        self._between_s = min(_MOST_S_BETWEEN_LOOKS, timeout_s / _LOOKS_IN_A_TIMEOUT)
        self._patience = Patience(timeout_s, 2 * self._between_s)

    def start(self, look: Callable[[], Look], call_soon: Callable[[Callable[[], None]], object]) -> None:
        """Start to look, in a thread that ends with the process.

        Args:
            look: looks at the worker; called in the watchdog's thread.
            call_soon: has the worker's event loop call something; to see that it comes round.
        """
        watching = threading.Thread(
            target=lambda: asyncio.run(self._watch(look, call_soon)), name="watchdog", daemon=True
        )
        watching.start()

    async def _watch(self, look: Callable[[], Look], call_soon: Callable[[Callable[[], None]], object]) -> None:
        before = monotonic()
        while True:
            await asyncio.sleep(self._between_s)
            seen, beats = look(), self._beats
            offsets = await self._kafka.offsets(seen.unfinished) if self._kafka is not None else Offsets({}, {})
            now = monotonic()
            stalled = self._patience.judge(seen, beats, offsets, now - before)
            before = now
            if stalled is not None:
                faulthandler.dump_traceback()
                end_process("the watchdog", Stalled(stalled))
            with suppress(RuntimeError):  # the loop is closed: the worker is about to end
                call_soon(self._beat)

    def _beat(self) -> None:
        self._beats += 1


class _Kafka:
    """Asks Kafka, over connections that are kept while they work."""

    def __init__(self, bootstrap_servers: str, group: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._group = group
        self._clients: tuple[AIOKafkaAdminClient, AIOKafkaConsumer] | None = None

    async def offsets(self, partitions: Collection[TopicPartition]) -> Offsets | None:
        """Return what Kafka says of partitions, None where it does not answer."""
        try:
            admin, consumer = self._clients or await self._connect()
            committed = await admin.list_consumer_group_offsets(self._group)
            beginnings = await consumer.beginning_offsets(partitions)
            ends = await consumer.end_offsets(partitions)
        except (KafkaError, OSError, TimeoutError):
            await self._disconnect()
            return None
        places = {one: max(committed[one].offset if one in committed else 0, beginnings[one]) for one in partitions}
        return Offsets(places, ends)

    async def _connect(self) -> tuple[AIOKafkaAdminClient, AIOKafkaConsumer]:
        patience: dict[str, Any] = {"request_timeout_ms": _ANSWER_WITHIN_MS}
        admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap_servers, **patience)
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self._bootstrap_servers, isolation_level="read_committed", **patience
        )
        self._clients = (admin, consumer)
        await admin.start()
        await consumer.start()
        return self._clients

    async def _disconnect(self) -> None:
        clients, self._clients = self._clients, None
        if clients is not None:
            admin, consumer = clients
            with suppress(KafkaError, OSError, TimeoutError):
                await consumer.stop()
            with suppress(KafkaError, OSError, TimeoutError):
                await admin.close()
