"""A producer's batches wait for a Kafka that is away, and a request does not."""

import asyncio
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaConnectionError, KafkaError, UnknownTopicOrPartitionError
from aiokafka.producer import message_accumulator

from streams.settings import Settings
from streams.transport import producer
from streams.transport.producer import Producer, wait_for_kafka

PLACE = TopicPartition("cases", 0)
AWAY_S = 600.0


async def expired(monkeypatch: pytest.MonkeyPatch, *, patient: bool) -> KafkaError | None:
    """Have a batch wait for its partition's leader; return why it was given up, None if it was not."""
    client = AIOKafkaProducer(bootstrap_servers="127.0.0.1:1", acks="all")
    if patient:
        wait_for_kafka(client)
    accumulator = client._message_accumulator
    accumulator._cluster = SimpleNamespace(leader_for_partition=lambda place: -1)
    batch = client.create_batch()
    batch.append(key=b"key", value=b"value", timestamp=None)
    sent = await accumulator.add_batch(batch, PLACE, timeout=1)
    begun = message_accumulator.time.monotonic()
    monkeypatch.setattr(message_accumulator, "time", SimpleNamespace(monotonic=lambda: begun + AWAY_S))
    accumulator.drain_by_nodes(ignore_nodes=set())
    await asyncio.sleep(0)
    found: Any = sent.exception() if sent.done() else None
    await client.client.close()
    client._closed = True
    return found


async def test_a_batch_waits_for_its_partition_to_have_a_leader_again(monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as usual:
        assert await expired(usual, patient=False) is not None  # aiokafka gives it up: else nothing is proved
    assert await expired(monkeypatch, patient=True) is None


async def test_one_request_is_waited_for_as_before():
    client = AIOKafkaProducer(bootstrap_servers="127.0.0.1:1")
    wait_for_kafka(client)
    assert client._sender._request_timeout_ms == client.client._request_timeout_ms == 40_000
    await client.stop()


class Client:
    """A producer's client; what it raises, and what it takes."""

    raises: ClassVar[list[KafkaError]] = []

    def __init__(self, **_: Any) -> None:
        self.client = SimpleNamespace(send=None)
        self._message_accumulator = SimpleNamespace()

    async def start(self) -> None:
        self._raise(KafkaConnectionError)

    def _raise(self, kind: type[KafkaError]) -> None:
        if self.raises and isinstance(self.raises[0], kind):
            raise self.raises.pop(0)

    def create_batch(self) -> Any:
        return SimpleNamespace(append=lambda **_: True, record_count=lambda: 1)

    async def send_batch(self, batch: Any, topic: str, *, partition: int) -> str:
        self._raise(UnknownTopicOrPartitionError)
        return "sent"

    async def stop(self) -> None: ...


async def test_kafka_may_go_away_before_the_first_record(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(producer, "AIOKafkaProducer", Client)
    monkeypatch.setattr(producer, "_PAUSE_S", 0.0)
    monkeypatch.setattr(Client, "raises", [KafkaConnectionError(), KafkaConnectionError()])
    outputs = Producer(Settings())

    assert await outputs.hand_over("cases", 2, [(b"key", b"value", ())]) == [("sent", 1)]
    assert Client.raises == []


async def test_kafka_may_go_away_before_the_first_record_of_a_topic(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(producer, "AIOKafkaProducer", Client)
    monkeypatch.setattr(Client, "raises", [UnknownTopicOrPartitionError(), UnknownTopicOrPartitionError()])
    outputs = Producer(Settings())

    assert await outputs.hand_over("reviews", 2, [(b"key", b"value", ())]) == [("sent", 1)]
    assert Client.raises == []
