"""The outbox: records go out, and are acknowledged by Kafka, or the process ends. Nothing is only logged.

Records are put into Kafka's batches here and not one by one by the producer, since a batch costs one future.
"""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

from aiokafka import AIOKafkaProducer
from aiokafka.structs import RecordMetadata

from streams.outputs import Output
from streams.publish import to_records
from streams.records import Headers
from streams.settings import Settings
from streams.transport.crash_points import crash_point
from streams.transport.partitioner import partition_of
from streams.transport.topics import MAX_REQUEST_BYTES

_BATCH_BYTES = 512 * 1024
# key, value, headers
_Record = tuple[bytes | None, bytes | None, Headers]


@dataclass(frozen=True, slots=True)
class Written:
    """Where a batch of records went: the offset of its first one, and how many they are."""

    offset: int
    records: int


class Outbox:
    """A Kafka producer that returns only when what it was given is acknowledged by all replicas in sync."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer: AIOKafkaProducer | None = None
        self._starting = asyncio.Lock()
        self._keyless = count()
        self._numbers = count()
        self._under_way: dict[int, None] = {}

    async def deliver(self, outputs: Iterable[Output], stage: str) -> None:
        """Publish outputs, in order within each partition, and wait until each is acknowledged.

        Args:
            outputs: what to publish.
            stage: who publishes.

        Raises:
            aiokafka.errors.KafkaError: one was not; the caller must not go on as if it had been.
        """
        partitions = self._settings.partitions
        places: dict[tuple[str, int], list[_Record]] = {}
        for one in to_records(outputs):
            partition = partition_of(one.key, partitions) if one.key is not None else next(self._keyless) % partitions
            places.setdefault((self._settings.topic(one.topic), partition), []).append(
                (one.key, one.value, one.headers)
            )
        with self._delivery():
            sent = await asyncio.gather(*(self._hand_over(*place, records) for place, records in places.items()))
            crash_point(stage, "outputs_sent")
            await asyncio.gather(*(batch for batches in sent for batch, _ in batches))
            crash_point(stage, "outputs_acked")

    async def deliver_rows(self, topic: str, partition: int, rows: Iterable[_Record], stage: str) -> list[Written]:
        """Write rows to a changelog partition, and wait until each is acknowledged.

        Args:
            topic: the changelog.
            partition: its partition.
            rows: key, value (None as a tombstone) and headers of each.
            stage: who writes.

        Returns:
            Where they went.

        Raises:
            aiokafka.errors.KafkaError: one was not acknowledged.
        """
        with self._delivery():
            sent = await self._hand_over(topic, partition, rows)
            crash_point(stage, "state_sent")
            written = [Written((await batch).offset, records) for batch, records in sent]
            crash_point(stage, "state_acked")
        return written

    async def _hand_over(
        self, topic: str, partition: int, records: Iterable[_Record]
    ) -> list[tuple[asyncio.Future[RecordMetadata], int]]:
        """Hand records to the producer in as few batches as hold them: a future for each, and how many it holds."""
        producer = self._producer or await self._started()
        batch, batches = producer.create_batch(), []
        for key, value, headers in records:
            # A batch takes its first record whatever its size; what no broker takes comes back as an error.
            while batch.append(key=key, value=value, timestamp=None, headers=list(headers)) is None:
                batches.append(batch)
                batch = producer.create_batch()
        if batch.record_count():
            batches.append(batch)
        return [(await producer.send_batch(one, topic, partition=partition), one.record_count()) for one in batches]

    async def _started(self) -> AIOKafkaProducer:
        async with self._starting:
            if self._producer is None:
                producer = AIOKafkaProducer(
                    bootstrap_servers=self._settings.bootstrap_servers,
                    client_id=self._settings.app_id,
                    acks="all",
                    # Retries may neither repeat nor reorder, and go on until the broker is back. The embedded broker
                    # has no idempotent producer; repeats are told by their source offsets then, as after a crash.
                    enable_idempotence=self._settings.broker != "embedded",
                    max_batch_size=_BATCH_BYTES,
                    max_request_size=MAX_REQUEST_BYTES,
                    linger_ms=0,
                )
                await producer.start()
                self._producer = producer
            return self._producer

    @contextmanager
    def _delivery(self) -> Iterator[None]:
        number = next(self._numbers)
        self._under_way[number] = None
        try:
            yield
        finally:
            del self._under_way[number]

    def oldest(self) -> int | None:
        """Return the number of the oldest delivery that waits to be acknowledged, None where none does."""
        return next(iter(self._under_way), None)

    async def stop(self) -> None:
        """Send what is left and close."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.stop()
