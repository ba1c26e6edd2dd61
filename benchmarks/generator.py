"""Publishes deliveries at a steady rate: ``python -m benchmarks.generator TOPIC FIRST COUNT PER_SECOND``.

A process of its own, so that it does not share its time with what it measures. Everything is made before it begins.
"""

import asyncio
import os
import sys
from time import monotonic

from benchmarks.contender import PARTITIONS
from benchmarks.kafka import producing
from benchmarks.workload import Workload
from streams.settings import Settings


async def generate(topic: str, first: int, count: int, per_s: float) -> None:
    """Publish the deliveries of operations ``first`` to ``first + count - 1``, one at a time.

    Args:
        topic: the topic.
        first: the first operation.
        count: how many.
        per_s: how many a second.
    """
    workload = Workload(int(os.environ["BENCH_CREATED_MS"]))
    deliveries = [workload.delivery(index) for index in range(first, first + count)]
    async with producing(Settings().bootstrap_servers) as producer:
        await producer.partitions_for(topic)
        sent = []
        began = monotonic()
        for number, (key, value, headers) in enumerate(deliveries):
            if (early_s := began + number / per_s - monotonic()) > 0:
                await asyncio.sleep(early_s)
            partition = number % PARTITIONS
            sent.append(await producer.send(topic, value, key=key, headers=list(headers), partition=partition))
        await asyncio.gather(*sent)


if __name__ == "__main__":
    asyncio.run(generate(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])))
