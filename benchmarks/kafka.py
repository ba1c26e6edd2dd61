"""The broker: one real Kafka node, which sets the time of every record itself; and what the benchmark asks of it."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from streams.embedded.broker import HOST, free_port, wait_until_reachable
from streams.embedded.processes import start_child, stop_child
from tests.brokers import PROPERTIES, QUIET, START_WITHIN_S, fetch_libs, format_storage

# More than the tests give theirs: a million rows go through it, and it runs long enough for the compiler to pay.
JAVA = ("java", "-Xms512m", "-Xmx1g", "-XX:+UseSerialGC")
# The broker's clock is the only one: every record gets the time at which it was appended.
OWN_PROPERTIES = "log.message.timestamp.type=LogAppendTime\n"
_BATCH_BYTES = 512 * 1024
_UNDER_WAY = 16  # batches

Message = tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]
"""Key, value, headers."""


@contextlib.asynccontextmanager
async def start_broker() -> AsyncIterator[str]:
    """Run a Kafka node for as long as the block runs; its address is HOST:PORT.

    Raises:
        RuntimeError: the jars cannot be fetched, or the node does not start.
    """
    libs = fetch_libs()
    with tempfile.TemporaryDirectory(prefix="proofstream-bench-kafka-") as name:
        directory = Path(name)
        port, controller_port = free_port(), free_port()
        settings = PROPERTIES.format(host=HOST, port=port, controller_port=controller_port, data=directory / "data")
        properties, log = directory / "server.properties", directory / "server.log"
        properties.write_text(settings + OWN_PROPERTIES)
        java = (*JAVA, QUIET, "-cp", f"{libs}/*")
        await format_storage(directory, libs)
        node = await start_child(*java, "kafka.Kafka", str(properties), log=log)
        try:
            await wait_until_reachable(node, f"{HOST}:{port}", log, START_WITHIN_S)
            yield f"{HOST}:{port}"
        finally:
            await stop_child(node, 0.1)  # nobody reads its data again


@contextlib.asynccontextmanager
async def producing(bootstrap: str) -> AsyncIterator[AIOKafkaProducer]:
    """Have a producer whose sends are acknowledged by all replicas in sync."""
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, acks="all", max_batch_size=_BATCH_BYTES, max_request_size=2 * 1024 * 1024
    )
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def publish(bootstrap: str, topic: str, partitions: Mapping[int, Iterable[Message]]) -> None:
    """Append messages to each partition, in order, and wait until they are acknowledged."""
    async with producing(bootstrap) as producer:
        under_way: set[asyncio.Future[object]] = set()

        async def send(batch: object, partition: int) -> None:
            under_way.add(await producer.send_batch(batch, topic, partition=partition))
            if len(under_way) >= _UNDER_WAY:
                done, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                under_way.difference_update(done)
                for one in done:
                    one.result()

        for partition, messages in partitions.items():
            batch = producer.create_batch()
            for key, value, headers in messages:
                while batch.append(key=key, value=value, timestamp=None, headers=list(headers)) is None:
                    await send(batch, partition)
                    batch = producer.create_batch()
            if batch.record_count():
                await send(batch, partition)
        await asyncio.gather(*under_way)


class Reader:
    """Reads topics to the ends that they have when it is asked."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            enable_auto_commit=False,
            fetch_max_wait_ms=100,
            max_partition_fetch_bytes=4 * 1024 * 1024,
        )

    async def __aenter__(self) -> "Reader":
        await self._consumer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._consumer.stop()

    async def ends(self, topic: str, partitions: int) -> dict[TopicPartition, int]:
        """Return where a topic's partitions end."""
        places = [TopicPartition(topic, partition) for partition in range(partitions)]
        ends: dict[TopicPartition, int] = await self._consumer.end_offsets(places)
        return ends

    async def count(self, topic: str, partitions: int) -> int:
        """Return how many records a topic has had."""
        return sum((await self.ends(topic, partitions)).values())

    async def read(
        self, topic: str, partitions: int, since: Mapping[TopicPartition, int] | None = None
    ) -> AsyncIterator[ConsumerRecord]:
        """Yield the records of a topic, from its beginning or from the given offsets on."""
        ends = {place: end for place, end in (await self.ends(topic, partitions)).items() if end > 0}
        starts = {place: (since or {}).get(place, 0) for place in ends}
        left = {place for place, end in ends.items() if end > starts[place]}
        self._consumer.assign(list(left))
        for place in left:
            self._consumer.seek(place, starts[place])
        while left:
            for place, records in (await self._consumer.getmany(timeout_ms=500, max_records=5000)).items():
                for record in records:
                    if record.offset < ends[place]:
                        yield record
            left = {place for place in left if await self._consumer.position(place) < ends[place]}


async def create_compacted(bootstrap: str, topic: str, partitions: int) -> None:
    """Create a compacted topic."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, partitions, 1, topic_configs={"cleanup.policy": "compact"})])
    finally:
        await admin.close()


async def begin_behind_fillers(bootstrap: str, group: str, topics: Iterable[str], partitions: int) -> None:
    """Put one record into each partition of topics that are empty, and have a group without members begin behind it."""
    names = list(topics)
    for name in names:
        await publish(bootstrap, name, {partition: [(None, b"", ())] for partition in range(partitions)})
    places = [TopicPartition(name, partition) for name in names for partition in range(partitions)]
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
    await consumer.start()
    try:
        consumer.assign(places)
        await consumer.commit(dict.fromkeys(places, 1))
    finally:
        await consumer.stop()
