"""A Kafka producer that takes records by the batch, started when it is first needed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError, UnknownTopicOrPartitionError
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.structs import RecordMetadata

from streams.records import Headers
from streams.settings import Settings
from streams.transport.fatal import fatal
from streams.transport.topics import MAX_REQUEST_BYTES

PATIENCE_S: Final = 86_400.0
"""How long anything waits for a Kafka that is away: in effect until it is back. A delivery that is not acknowledged
although Kafka answers is the watchdog's, and does not take that long."""
_BATCH_BYTES = 512 * 1024
_PAUSE_S = 1.0

KeyValue = tuple[bytes | None, bytes | None, Headers]
"""A record's key, value and headers."""


class Producer:
    """Hands records over to Kafka in as few batches as hold them."""

    def __init__(self, settings: Settings, before_sending: Callable[[], Awaitable[None]] | None = None) -> None:
        """Prepare.

        Args:
            settings: where Kafka is.
            before_sending: is awaited right before a request with records leaves the process, which ends if it raises.
        """
        self._settings = settings
        self._before_sending = before_sending
        self._client: AIOKafkaProducer | None = None
        self._starting = asyncio.Lock()

    async def hand_over(
        self, topic: str, partition: int, records: Iterable[KeyValue]
    ) -> list[tuple[asyncio.Future[RecordMetadata], int]]:
        """Hand records of one partition over, in order.

        Returns:
            For each batch a future that is done when all replicas in sync have it, and how many records it holds.
        """
        client = self._client or await self._started()
        batch, batches = client.create_batch(), []
        for key, value, headers in records:
            # A batch takes its first record whatever its size; what no broker takes comes back as an error.
            while batch.append(key=key, value=value, timestamp=None, headers=list(headers)) is None:
                batches.append(batch)
                batch = client.create_batch()
        if batch.record_count():
            batches.append(batch)
        return [(await _send(client, one, topic, partition), one.record_count()) for one in batches]

    async def _started(self) -> AIOKafkaProducer:
        async with self._starting:
            while self._client is None:
                client = AIOKafkaProducer(
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
                wait_for_kafka(client)
                try:
                    await client.start()
                except KafkaConnectionError:  # it has gone away since the worker was started
                    await client.stop()
                    await asyncio.sleep(_PAUSE_S)
                else:
                    self._guard(client)
                    self._client = client
            return self._client

    def _guard(self, client: AIOKafkaProducer) -> None:
        send, before_sending = client.client.send, self._before_sending
        if before_sending is None:
            return

        async def guarded(node: int, request: Any, **options: Any) -> Any:
            if isinstance(request, ProduceRequest):
                with fatal("the changelog"):
                    await before_sending()
            return await send(node, request, **options)

        client.client.send = guarded  # aiokafka has no other place right before the bytes leave

    async def stop(self) -> None:
        """Send what is left and close."""
        client, self._client = self._client, None
        if client is not None:
            await client.stop()


def wait_for_kafka(client: AIOKafkaProducer) -> None:
    """Have a producer's batches wait for as long as Kafka is away.

    aiokafka lets a batch wait for as long as one request, 40 seconds, idempotent or not: for its turn, and for its
    partition to have a leader again. The request itself is still waited for that long, so that a connection over which
    nothing comes any more is noticed.
    """
    client._request_timeout_ms = int(PATIENCE_S * 1000)  # noqa: SLF001 - here, it is only how long a turn is waited for
    client._message_accumulator._batch_ttl = PATIENCE_S  # noqa: SLF001


async def _send(client: AIOKafkaProducer, batch: BatchBuilder, topic: str, partition: int) -> Any:
    while True:
        try:
            return await client.send_batch(batch, topic, partition=partition)
        except UnknownTopicOrPartitionError:
            # The topic is there, or the worker would not have started: Kafka went away before it was written to.
            continue
