"""Latency: from a delivery appended on `webhooks` to its verdict appended on `verdicts`, both by the broker's clock."""

import asyncio
import math
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer

from benchmarks.contender import PARTITIONS, Contender
from benchmarks.kafka import Reader, producing
from benchmarks.workload import operation_id
from streams.embedded.processes import log_tail, start_child, stop_child
from streams.transport.topics import VERDICTS, WEBHOOKS

_START_S = 30.0
_ROUND_TRIPS = 200
_KEPT_UP_MS = 1000


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles in milliseconds.

    ``missing``: deliveries whose verdict did not come. ``behind_ms``: how long after the last delivery the last verdict
    fell.
    """

    per_s: float
    p50: float
    p90: float
    p99: float
    max: float
    missing: int
    behind_ms: int

    @property
    def held(self) -> bool:
        """Whether the contender kept up with the rate."""
        return not self.missing and self.behind_ms < _KEPT_UP_MS


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that so many of the values are no greater than; not a number where there are none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan


async def measure_latency(contender: Contender, reader: Reader, first: int, count: int, per_s: float) -> Latency:
    """Have deliveries come at a steady rate to a contender that runs and has nothing else to do.

    Args:
        contender: the contender.
        reader: reads its topics.
        first: the first operation whose delivery comes.
        count: how many come.
        per_s: how many come a second.

    Raises:
        RuntimeError: the generator failed.
    """
    settings = contender.settings
    webhooks, verdicts = settings.topic(WEBHOOKS), settings.topic(VERDICTS)
    begins = {topic: await reader.ends(topic, PARTITIONS) for topic in (webhooks, verdicts)}
    log = contender.directory / "generator.log"
    generator = await start_child(
        *(sys.executable, "-m", "benchmarks.generator", webhooks, str(first), str(count), str(per_s)),
        log=log,
        environment={
            **os.environ,
            **contender.environment,
            "PROOFSTREAM_BOOTSTRAP_SERVERS": settings.bootstrap_servers,
        },
    )
    try:
        if await asyncio.wait_for(generator.wait(), count / per_s * 2 + _START_S) != 0:
            raise RuntimeError(f"the generator failed: {log_tail(log)}")
    finally:
        await stop_child(generator)
    await contender.reaches(reader, VERDICTS, sum(begins[verdicts].values()) + count)
    wanted = {operation_id(index).encode() for index in range(first, first + count)}
    came = {one.key: one.timestamp async for one in reader.read(webhooks, PARTITIONS, begins[webhooks])}
    fell = {one.key: one.timestamp async for one in reader.read(verdicts, PARTITIONS, begins[verdicts])}
    took = [fell[key] - came[key] for key in wanted if key in fell]
    return Latency(
        per_s=per_s,
        p50=percentile(took, 0.5),
        p90=percentile(took, 0.9),
        p99=percentile(took, 0.99),
        max=percentile(took, 1),
        missing=count - len(took),
        behind_ms=max(fell.values(), default=0) - max(came.values()),
    )


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """What the network and the broker take by themselves, in milliseconds.

    ``produce``: from a send with acks=all to its acknowledgement. ``consume``: from the send to the record's arrival at
    a consumer that waits for it.
    """

    produce_p50: float
    produce_p99: float
    consume_p50: float
    consume_p99: float


async def measure_round_trips(bootstrap: str, topic: str) -> RoundTrips:
    """Send records one at a time to a topic of its own, and wait for each."""
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="latest")
    await consumer.start()
    produced, consumed = [], []
    try:
        await consumer.seek_to_end()
        async with producing(bootstrap) as producer:
            for _ in range(_ROUND_TRIPS):
                sent = time.perf_counter()
                arrival = asyncio.create_task(_arrival(consumer))
                await producer.send_and_wait(topic, b"there")
                produced.append((time.perf_counter() - sent) * 1000)
                consumed.append((await arrival - sent) * 1000)
                await asyncio.sleep(0.02)
    finally:
        await consumer.stop()
    return RoundTrips(
        percentile(produced, 0.5), percentile(produced, 0.99), percentile(consumed, 0.5), percentile(consumed, 0.99)
    )


async def _arrival(consumer: AIOKafkaConsumer) -> float:
    await consumer.getone()
    return time.perf_counter()
