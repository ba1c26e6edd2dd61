"""Producers upstream: one for each codec, for real ones compress, each in its own way."""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from aiokafka import AIOKafkaProducer
from aiokafka.structs import RecordMetadata

from streams.records import Headers
from tests.faults.expected import Place

CODECS: Final = (None, "gzip", "snappy", "lz4", "zstd")
Codec = str | None
# A producer upstream is asked to try for as long as an outage may last, or what it published would not be known.
_PATIENCE_MS = 300_000


@dataclass(frozen=True)
class Outgoing:
    """A record to publish. ``topic`` without the prefix; ``partition`` None for the default partitioner's choice."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    partition: int | None = None


class Upstream:
    """Publishes with any codec, and counts how often it has used each."""

    def __init__(self, prefix: str, producers: Mapping[Codec, AIOKafkaProducer]) -> None:
        self._prefix = prefix
        self._producers = producers
        self.used: Counter[Codec] = Counter()

    def producer(self, codec: Codec) -> AIOKafkaProducer:
        """Return the producer that compresses with a codec."""
        return self._producers[codec]

    async def publish(self, record: Outgoing, codec: Codec = None) -> Place:
        """Publish a record, and return its place when Kafka has acknowledged it."""
        kafka, topic = self.producer(codec), self._prefix + record.topic
        headers, partition = list(record.headers), record.partition
        if record.key is None and record.value is None:  # which a producer takes by the batch only
            batch = kafka.create_batch()
            batch.append(key=None, value=None, timestamp=None, headers=headers)
            sent: RecordMetadata = await (await kafka.send_batch(batch, topic, partition=partition or 0))
        else:
            sent = await kafka.send_and_wait(topic, record.value, record.key, partition, headers=headers)
        self.used[codec] += 1
        return record.topic, sent.partition, sent.offset


@contextlib.asynccontextmanager
async def upstream_of(bootstrap: str, prefix: str) -> AsyncIterator[Upstream]:
    """Have a producer for each codec for as long as the block runs."""
    async with AsyncExitStack() as stack:
        producers = {}
        for codec in CODECS:
            kafka = AIOKafkaProducer(
                bootstrap_servers=bootstrap,
                acks="all",
                enable_idempotence=True,
                compression_type=codec,
                linger_ms=10,  # so that some of what is compressed is compressed together
                request_timeout_ms=_PATIENCE_MS,
            )
            producers[codec] = await stack.enter_async_context(kafka)
        yield Upstream(prefix, producers)
