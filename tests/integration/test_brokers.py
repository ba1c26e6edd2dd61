"""What the rest of the project takes for granted about each broker, and where the embedded one differs."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import UnknownError
from aiokafka.structs import ConsumerRecord

PARTITIONS = 3


@contextlib.asynccontextmanager
async def connected(client: AIOKafkaAdminClient | AIOKafkaConsumer | AIOKafkaProducer) -> AsyncIterator[None]:
    try:
        await client.start()
        yield
    finally:
        await (client.close() if isinstance(client, AIOKafkaAdminClient) else client.stop())


async def create_topic(broker: str, name: str, **configs: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=broker)
    async with connected(admin):
        response = await admin.create_topics([NewTopic(name, PARTITIONS, 1, topic_configs=configs)])
    assert [error for _, error, *_ in response.topic_errors] == [0]


async def produce(broker: str, topic: str, records: Sequence[dict[str, object]]) -> list[int]:
    """Send records to partition 0 in one batch and return the offsets they were given."""
    producer = AIOKafkaProducer(bootstrap_servers=broker, acks="all", linger_ms=50)
    async with connected(producer):
        sent = [await producer.send(topic, partition=0, **record) for record in records]
        return [metadata.offset for metadata in await asyncio.gather(*sent)]


async def read(consumer: AIOKafkaConsumer, count: int) -> list[ConsumerRecord]:
    records: list[ConsumerRecord] = []
    async with asyncio.timeout(20):
        while len(records) < count:
            for batch in (await consumer.getmany(timeout_ms=500)).values():
                records += batch
    return records


async def read_from_start(broker: str, topic: str, count: int) -> list[ConsumerRecord]:
    consumer = AIOKafkaConsumer(bootstrap_servers=broker)
    async with connected(consumer):
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), 0)
        return await read(consumer, count)


async def test_records_come_back_as_they_were_sent(broker: str, topic_prefix: str) -> None:
    topic = f"{topic_prefix}records"
    await create_topic(broker, topic)
    headers = [("ce_id", b"1"), ("ce_id", b"2"), ("empty", b""), ("none", None)]
    sent: list[dict[str, object]] = [
        {"key": b"a", "value": b"1", "headers": headers, "timestamp_ms": 1_700_000_000_123},
        {"key": None, "value": b"\x00\xff", "headers": [], "timestamp_ms": 1_700_000_000_124},
        {"key": b"a", "value": None, "headers": [("why", b"resolved")], "timestamp_ms": 1_700_000_000_125},
    ]

    assert await produce(broker, topic, sent) == [0, 1, 2]

    got = await read_from_start(broker, topic, len(sent))
    assert [
        {"key": r.key, "value": r.value, "headers": list(r.headers), "timestamp_ms": r.timestamp} for r in got
    ] == sent


async def test_a_topic_has_the_partitions_and_configs_it_was_created_with(broker: str, topic_prefix: str) -> None:
    topic = f"{topic_prefix}compacted"
    await create_topic(broker, topic, **{"cleanup.policy": "compact"})

    admin = AIOKafkaAdminClient(bootstrap_servers=broker)
    async with connected(admin):
        assert topic in await admin.list_topics()
        [described] = await admin.describe_topics([topic])
        [configs] = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])

    assert len(described["partitions"]) == PARTITIONS
    [(error, _, _, name, entries)] = configs.resources
    assert (error, name) == (0, topic)
    assert ("cleanup.policy", "compact") in [(entry[0], entry[1]) for entry in entries]


async def test_creating_a_topic_twice_is_refused(broker: str, topic_prefix: str) -> None:
    await create_topic(broker, f"{topic_prefix}once")
    admin = AIOKafkaAdminClient(bootstrap_servers=broker)
    async with connected(admin):
        again = await admin.create_topics([NewTopic(f"{topic_prefix}once", PARTITIONS, 1)])
    assert [error for _, error, *_ in again.topic_errors] == [36]  # TOPIC_ALREADY_EXISTS


async def test_a_group_goes_on_where_it_committed(broker: str, topic_prefix: str) -> None:
    topic = f"{topic_prefix}group"
    await create_topic(broker, topic)
    await produce(broker, topic, [{"value": str(i).encode()} for i in range(5)])

    def member() -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            topic,
            bootstrap_servers=broker,
            group_id=topic,
            session_timeout_ms=2000,
            heartbeat_interval_ms=500,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )

    first = member()
    async with connected(first):
        assert len(await read(first, 5)) == 5
        await first.commit({TopicPartition(topic, 0): 3})
    second = member()
    async with connected(second):
        assert await second.committed(TopicPartition(topic, 0)) == 3
        assert await second.committed(TopicPartition(topic, 1)) is None
        assert [record.value for record in await read(second, 2)] == [b"3", b"4"]


async def test_a_fetch_tells_the_end_of_the_log(broker: str, topic_prefix: str) -> None:
    topic = f"{topic_prefix}end"
    await create_topic(broker, topic)
    await produce(broker, topic, [{"value": b"x"}] * 10)
    partition = TopicPartition(topic, 0)

    consumer = AIOKafkaConsumer(bootstrap_servers=broker)
    async with connected(consumer):
        consumer.assign([partition])
        consumer.seek(partition, 0)
        await read(consumer, 1)
        assert consumer.highwater(partition) == 10


async def end_offset_after_a_batch_of_ten(broker: str, topic: str) -> int:
    await create_topic(broker, topic)
    await produce(broker, topic, [{"value": b"x"}] * 10)
    consumer = AIOKafkaConsumer(bootstrap_servers=broker)
    async with connected(consumer):
        offsets = await consumer.end_offsets([TopicPartition(topic, 0)])
    return int(offsets[TopicPartition(topic, 0)])


async def test_kafka_tells_the_end_offset(kafka: str, topic_prefix: str) -> None:
    assert await end_offset_after_a_batch_of_ten(kafka, f"{topic_prefix}end") == 10


async def test_the_embedded_broker_tells_an_end_offset_that_is_too_low(embedded: str, topic_prefix: str) -> None:
    """Tansu 0.6.0 answers the base offset of the last batch plus one. When this fails, it was mended."""
    assert await end_offset_after_a_batch_of_ten(embedded, f"{topic_prefix}end") == 1


async def test_the_embedded_broker_has_no_idempotent_producer(embedded: str) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=embedded, enable_idempotence=True)
    with pytest.raises(UnknownError):
        async with connected(producer):
            pass


async def test_the_embedded_broker_creates_a_topic_that_somebody_asks_about(embedded: str, topic_prefix: str) -> None:
    """So whether a topic is missing must be read from the list of all topics, never by its name."""
    admin = AIOKafkaAdminClient(bootstrap_servers=embedded)
    async with connected(admin):
        await admin.describe_topics([f"{topic_prefix}asked"])
        assert f"{topic_prefix}asked" in await admin.list_topics()


async def test_kafka_creates_no_topic_by_itself(kafka: str, topic_prefix: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    async with connected(admin):
        [described] = await admin.describe_topics([f"{topic_prefix}asked"])
        assert described["error_code"] == 3  # UNKNOWN_TOPIC_OR_PARTITION
        assert f"{topic_prefix}asked" not in await admin.list_topics()
