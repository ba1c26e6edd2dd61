"""Plain Kafka clients for the commands that a person gives."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition

from streams.settings import Settings


@asynccontextmanager
async def producer(settings: Settings) -> AsyncIterator[AIOKafkaProducer]:
    """Open a producer whose sends are acknowledged by all replicas in sync."""
    client = AIOKafkaProducer(bootstrap_servers=settings.bootstrap_servers, acks="all")
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


async def follow(settings: Settings, name: str, *, from_beginning: bool) -> AsyncIterator[ConsumerRecord]:
    """Yield the records of a topic as they come, without a group and without committing, until it is cancelled.

    Raises:
        LookupError: there is no such topic.
    """
    topic = settings.topic(name)
    client = AIOKafkaConsumer(
        bootstrap_servers=settings.bootstrap_servers,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=100,
    )
    await client.start()
    try:
        if topic not in await client.topics():
            raise LookupError(f"there is no topic {topic}: a worker creates it when it starts")
        partitions = [TopicPartition(topic, one) for one in client.partitions_for_topic(topic) or ()]
        client.assign(partitions)
        await (client.seek_to_beginning if from_beginning else client.seek_to_end)(*partitions)
        async for record in client:
            yield record
    finally:
        await client.stop()
