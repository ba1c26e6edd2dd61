"""Kafka, as the gateway knows it: a delivery is on the topic, or it is not known to be.

One producer for everything; all replicas in sync acknowledge; idempotent where the broker can be. It connects by
itself, goes on by itself when Kafka is back, and is replaced when it is beyond repair.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator
from typing import Final

from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    KafkaError,
    OutOfOrderSequenceNumber,
    ProducerClosed,
    ProducerFenced,
    UnknownProducerId,
)
from aiokafka.structs import RecordMetadata

from streams.gateway.headers import KafkaHeaders
from streams.settings import Settings
from streams.transport.topics import MAX_REQUEST_BYTES, WEBHOOKS

LATELY_S: Final = 5.0
_BATCH_BYTES: Final = 512 * 1024
# A node that says nothing is given up after this; what waits goes to the next one, or to the same one anew.
_REQUEST_TIMEOUT_MS: Final = 10_000
_START_WITHIN_S: Final = 10.0
_ASK_EVERY_S: Final = 1.0
_ASK_WITHIN_S: Final = 2.0
# A producer to which nothing was answered for so long is replaced: it would never look where Kafka is now.
_GIVEN_UP_AFTER_S: Final = 30.0
_RETIRE_WITHIN_S: Final = 5.0
_END_WITHIN_S: Final = 1.0
# After these a new producer can do what this one cannot: it has lost count of its records, or is closed.
_WORTH_ANOTHER: Final = (
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    OutOfOrderSequenceNumber,
    ProducerClosed,
    ProducerFenced,
    UnknownProducerId,
)
_log = logging.getLogger("proofstream.gateway")


class NotAcknowledged(Exception):
    """Kafka has not acknowledged the record. It may be on the topic all the same, or get there later."""


class Publisher:
    """Puts deliveries on the topic `webhooks`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._topic = settings.topic(WEBHOOKS)
        self._client: AIOKafkaProducer | None = None
        self._connected = asyncio.Event()
        self._beyond_repair = asyncio.Event()
        self._retiring: set[asyncio.Task[None]] = set()
        self._answered_at = self._acknowledged_at = self._failed_at = float("-inf")
        self._said: str | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Be connected, as far as Kafka lets us, until the block ends."""
        keeping = asyncio.create_task(self._keep_connected())
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            # Every delivery is answered by now. What is left was not acknowledged, and nobody waits for it.
            client, self._client = self._client, None
            if client is not None:
                self._retire(client, _END_WITHIN_S)
            await asyncio.gather(*self._retiring, return_exceptions=True)

    @property
    def ready(self) -> bool:
        """Whether Kafka answered lately, and did not lately leave a record without its acknowledgement."""
        now = time.monotonic()
        failing = self._failed_at > self._acknowledged_at and now - self._failed_at < LATELY_S
        return self._connected.is_set() and now - self._answered_at < LATELY_S and not failing

    async def publish(self, value: bytes, headers: KafkaHeaders, deadline: float) -> RecordMetadata:
        """Put a record on the topic, in whichever partition can take it.

        Args:
            value: the record's value.
            headers: its headers.
            deadline: until when to wait for the acknowledgement, in the event loop's time.

        Returns:
            Where it is. All replicas in sync have it.

        Raises:
            NotAcknowledged: with what happened.
        """
        try:
            async with asyncio.timeout_at(deadline):
                place = await self._acknowledged(value, headers)
        except TimeoutError:
            self._failed_at = time.monotonic()
            raise NotAcknowledged("Kafka did not acknowledge it in time") from None
        except KafkaError as error:
            self._failed_at = time.monotonic()
            raise NotAcknowledged(f"Kafka: {type(error).__name__}") from error
        self._answered_at = self._acknowledged_at = time.monotonic()
        return place

    async def _acknowledged(self, value: bytes, headers: KafkaHeaders) -> RecordMetadata:
        while True:
            client = self._client
            if client is None:
                await self._connected.wait()
                continue
            try:
                return await (await client.send(self._topic, value, headers=headers))
            except KafkaError as error:
                if not error.retriable:
                    # Its next record of that partition would leave a gap in the count, and none would be taken.
                    self._replace(client)
                if not isinstance(error, _WORTH_ANOTHER):
                    raise

    def _replace(self, client: AIOKafkaProducer | None) -> None:
        if client is not None and client is self._client:
            self._client = None
            self._connected.clear()
            self._retire(client)
            self._beyond_repair.set()

    def _retire(self, client: AIOKafkaProducer, within_s: float = _RETIRE_WITHIN_S) -> None:
        """Let a producer go, once it has finished what is under way."""
        task = asyncio.create_task(_stop(client, within_s))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def _keep_connected(self) -> None:
        while True:
            try:
                await self._be_connected()
            except Exception as error:  # noqa: BLE001 - without this task nothing would ever be acknowledged again
                _log.error("the connection to Kafka failed", exc_info=error)
            self._replace(self._client)
            await asyncio.sleep(_ASK_EVERY_S)

    async def _be_connected(self) -> None:
        client = await self._connect()
        if client is None:
            return
        self._beyond_repair.clear()
        self._client = client
        self._answered_at = time.monotonic()
        self._connected.set()
        self._say("Kafka answers")
        await self._watch(client)

    async def _connect(self) -> AIOKafkaProducer | None:
        """Start a producer, and see that the topic is there.

        All topics are asked for, never a missing one by its name: a broker might make it, with its own defaults.
        """
        settings = self._settings
        client = AIOKafkaProducer(
            bootstrap_servers=settings.bootstrap_servers,
            client_id=f"{settings.app_id}-gateway",
            acks="all",
            # The embedded broker has no idempotent producer. A repeat is told from a second refund all the same.
            enable_idempotence=settings.broker != "embedded",
            max_batch_size=_BATCH_BYTES,
            max_request_size=MAX_REQUEST_BYTES,
            request_timeout_ms=_REQUEST_TIMEOUT_MS,
            linger_ms=0,
        )
        found = False
        try:
            async with asyncio.timeout(_START_WITHIN_S):
                await client.start()
                found = self._topic in (await client.client.fetch_all_metadata()).topics()
            if not found:
                self._say(f"there is no topic {self._topic}: a worker creates it when it starts")
        except (KafkaError, OSError, TimeoutError) as error:
            self._say(f"Kafka does not answer at {settings.bootstrap_servers}: {type(error).__name__}")
        finally:
            if not found:
                self._retire(client)
        return client if found else None

    async def _watch(self, client: AIOKafkaProducer) -> None:
        """Ask Kafka every second whether it is there, until the producer has to be replaced."""
        while time.monotonic() - self._answered_at < _GIVEN_UP_AFTER_S:
            if await self._asked(client):
                self._answered_at = time.monotonic()
                self._say("Kafka answers")
            elif time.monotonic() - self._answered_at > LATELY_S:
                self._say("Kafka does not answer")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_ASK_EVERY_S):  # wait_for swallows a cancellation that comes with the event
                    await self._beyond_repair.wait()
                self._say("the producer has to be replaced")
                return

    async def _asked(self, client: AIOKafkaProducer) -> bool:
        try:
            async with asyncio.timeout(_ASK_WITHIN_S):
                updated = await client.client.force_metadata_update()
        except (KafkaError, OSError, TimeoutError):
            return False
        return bool(updated and client.client.cluster.available_partitions_for_topic(self._topic))

    def _say(self, sentence: str) -> None:
        """Log a change, once."""
        if sentence != self._said:
            self._said = sentence
            _log.log(logging.INFO if sentence == "Kafka answers" else logging.WARNING, "%s", sentence)


async def _stop(client: AIOKafkaProducer, within_s: float) -> None:
    """Stop a producer; one that cannot finish is broken off. Nobody was told that its records had arrived."""
    for stop in (client.stop, client.client.close):
        with contextlib.suppress(KafkaError, OSError, TimeoutError):
            async with asyncio.timeout(within_s):
                await stop()
