"""Plain Kafka clients for the commands that a person gives."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord

from streams.settings import Settings
from streams.transport.topics import MAX_REQUEST_BYTES


@asynccontextmanager
async def producer(settings: Settings) -> AsyncIterator[AIOKafkaProducer]:
    """Open a producer whose sends are acknowledged by all replicas in sync."""
    client = AIOKafkaProducer(
        bootstrap_servers=settings.bootstrap_servers, acks="all", max_request_size=MAX_REQUEST_BYTES
    )
    try:
        await client.start()
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
        auto_offset_reset="earliest" if from_beginning else "latest",
        fetch_max_wait_ms=100,
        isolation_level="read_committed",
    )
    try:
        await client.start()
        if topic not in await client.topics():
            raise LookupError(f"there is no topic {topic}: a worker creates it when it starts")
        client.subscribe([topic])  # without a group, this is every partition
        async for record in client:
            yield record
    finally:
        await client.stop()
