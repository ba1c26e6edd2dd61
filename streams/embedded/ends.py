"""The true ends of partitions on the embedded broker.

Asked for the end of a partition, it answers the first offset of the last batch plus one, so a recovery would stop
before the last batch of the changelog. The high watermark in the answer to a fetch is right.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from aiokafka import AIOKafkaConsumer, TopicPartition
from faust.types import TP

_PATIENCE_S = 5.0


def ends_from_fetches(bootstrap_servers: str) -> Callable[[Mapping[TP, int]], Awaitable[dict[TP, int]]]:
    """Return a function that replaces the ends of partitions by those that a fetch from there tells."""

    async def true_ends(ends: Mapping[TP, int]) -> dict[TP, int]:
        found = dict(ends)
        unknown = {TopicPartition(*tp): tp for tp, end in ends.items() if end}
        if not unknown:
            return found
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap_servers, enable_auto_commit=False, fetch_max_wait_ms=100
        )
        await consumer.start()
        try:
            consumer.assign(list(unknown))
            for partition, tp in unknown.items():
                consumer.seek(partition, ends[tp] - 1)
            async with asyncio.timeout(_PATIENCE_S):
                while unknown:
                    await consumer.getmany(timeout_ms=100)
                    for partition in [one for one in unknown if consumer.highwater(one) is not None]:
                        found[unknown.pop(partition)] = consumer.highwater(partition)
        finally:
            await consumer.stop()
        return found

    return true_ends
