"""The limit: the pure functions in a plain aiokafka loop. A dict holds the rows.

It is given rows to start with, as the others are, but writes none back: nothing recovers what it does.
"""

import asyncio
import signal
from collections.abc import Iterable

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from benchmarks.contenders.status import say
from benchmarks.kafka import Reader
from streams.clock import clock_ms
from streams.fold import fold
from streams.intake import take_all, take_delivery, take_operation
from streams.memory import spare_collections
from streams.outputs import Output
from streams.publish import to_records
from streams.settings import Settings
from streams.transport.topics import CASES, OPERATIONS, WEBHOOKS
from streams.worker import load_context


async def given_rows(settings: Settings) -> dict[bytes, bytes]:
    """Read the rows that there are."""
    rows: dict[bytes, bytes] = {}
    async with Reader(settings.bootstrap_servers) as reader:
        async for record in reader.read(settings.changelog_topic, settings.partitions):
            rows[record.key] = record.value
    return rows


async def run(settings: Settings) -> None:
    """Take in, fold, publish and commit, until SIGTERM."""
    context = load_context(settings)
    say("recovering")
    rows = await given_rows(settings)
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    operations, webhooks, cases = (settings.topic(name) for name in (OPERATIONS, WEBHOOKS, CASES))
    consumer = AIOKafkaConsumer(
        operations,
        webhooks,
        cases,
        bootstrap_servers=settings.bootstrap_servers,
        group_id=settings.app_id,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    producer = AIOKafkaProducer(bootstrap_servers=settings.bootstrap_servers, acks="all", max_batch_size=512 * 1024)

    async def deliver(outputs: Iterable[Output]) -> None:
        sent = [
            await producer.send(settings.topic(one.topic), one.value, key=one.key, headers=list(one.headers))
            for one in to_records(outputs)
        ]
        await asyncio.gather(*sent)

    await producer.start()
    await consumer.start()
    spare_collections()
    say("ready")
    try:
        while not stopping.is_set():
            fetched = await consumer.getmany(timeout_ms=200, max_records=settings.max_poll_records)
            outputs: list[Output] = []
            for place, records in fetched.items():
                if place.topic == operations:
                    outputs += take_all(take_operation, records, context, clock_ms())
                elif place.topic == webhooks:
                    outputs += take_all(take_delivery, records, context, clock_ms())
                else:
                    folded = fold(records, rows.get, context, clock_ms())
                    outputs += folded.outputs
                    for key, value in folded.rows.items():
                        if value is None:
                            rows.pop(key, None)
                        else:
                            rows[key] = value
            if fetched:
                await deliver(outputs)
                await consumer.commit()
    finally:
        await consumer.stop()
        await producer.stop()


if __name__ == "__main__":
    asyncio.run(run(Settings()))
