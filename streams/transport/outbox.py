"""The outbox: records go out, and are acknowledged by Kafka, or the process ends. Nothing is only logged."""

import asyncio
from collections.abc import Iterable

from aiokafka import AIOKafkaProducer

from streams.outputs import Output
from streams.publish import to_records
from streams.settings import Settings
from streams.transport.topics import MAX_REQUEST_BYTES

# topic, key, value, partition (None: by the key), headers
_Send = tuple[str, bytes | None, bytes | None, int | None, list[tuple[str, bytes | None]]]


class Outbox:
    """A Kafka producer that returns only when what it was given is acknowledged by all replicas in sync."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer: AIOKafkaProducer | None = None
        self._starting = asyncio.Lock()

    async def _started(self) -> AIOKafkaProducer:
        async with self._starting:
            if self._producer is None:
                producer = AIOKafkaProducer(
                    bootstrap_servers=self._settings.bootstrap_servers,
                    client_id=self._settings.app_id,
                    acks="all",
                    # Retries may neither repeat nor reorder. The embedded broker has no idempotent producer; repeats
                    # are told by their source offsets then, as after a crash.
                    enable_idempotence=self._settings.broker != "embedded",
                    max_request_size=MAX_REQUEST_BYTES,
                    linger_ms=0,
                )
                await producer.start()
                self._producer = producer
            return self._producer

    async def deliver(self, outputs: Iterable[Output]) -> None:
        """Publish outputs in order, and wait until each is acknowledged.

        Raises:
            aiokafka.errors.KafkaError: one was not; the caller must not go on as if it had been.
        """
        records: list[_Send] = [
            (self._settings.topic(one.topic), one.key, one.value, None, list(one.headers))
            for one in to_records(outputs)
        ]
        await self._send(records)

    async def deliver_rows(self, topic: str, partition: int, rows: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Write rows to a changelog partition, None as a tombstone, and wait until each is acknowledged.

        Raises:
            aiokafka.errors.KafkaError: one was not.
        """
        await self._send([(topic, key, value, partition, []) for key, value in rows])

    async def _send(self, records: list[_Send]) -> None:
        if not records:
            return
        producer = self._producer or await self._started()
        sent = [
            await producer.send(topic, value, key=key, partition=partition, headers=headers)
            for topic, key, value, partition, headers in records
        ]
        await asyncio.gather(*sent)

    async def stop(self) -> None:
        """Send what is left and close."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.stop()
