"""The gateway's way to Kafka: what counts as acknowledged, and when a producer is replaced. Kafka is played here."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest
from aiokafka.errors import (
    KafkaConnectionError,
    MessageSizeTooLargeError,
    NotLeaderForPartitionError,
    OutOfOrderSequenceNumber,
    ProducerClosed,
)

from streams.gateway import publisher
from streams.gateway.publisher import NotAcknowledged, Publisher
from streams.settings import Settings


class Cluster:
    """What the played producers find: a script of what comes of each send, and whether anything answers."""

    def __init__(self) -> None:
        self.producers: list[Producer] = []
        self.outcomes: list[Exception | str] = []
        self.there, self.answers = True, True
        self.topics = {"webhooks"}

    @property
    def stopped(self) -> list[bool]:
        return [one.stopped for one in self.producers]


class Producer:
    """A producer, and its client, and the metadata that this one knows."""

    def __init__(self, played: Cluster, **options: Any) -> None:
        self.played, self.options, self.stopped = played, options, False
        self.client = self.cluster = self
        played.producers.append(self)

    async def start(self) -> None:
        if not self.played.there:
            raise KafkaConnectionError("nobody there")

    async def stop(self) -> None:
        self.stopped = True

    async def close(self) -> None:
        self.stopped = True

    async def fetch_all_metadata(self) -> "Producer":
        return self

    def topics(self) -> set[str]:
        return self.played.topics

    async def force_metadata_update(self) -> bool:
        return self.played.answers

    def available_partitions_for_topic(self, topic: str) -> set[int]:
        return {0} if topic in self.played.topics else set()

    async def send(self, topic: str, value: bytes, headers: Any) -> "asyncio.Future[Any]":
        if self.stopped:
            raise ProducerClosed
        outcome = self.played.outcomes.pop(0) if self.played.outcomes else "acknowledged"
        future = asyncio.get_running_loop().create_future()
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        elif outcome != "silence":
            future.set_result(outcome)
        return future


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    played = Cluster()
    monkeypatch.setattr(publisher, "AIOKafkaProducer", partial(Producer, played))
    monkeypatch.setattr(publisher, "_ASK_EVERY_S", 0.01)
    return played


@contextlib.asynccontextmanager
async def connected() -> AsyncIterator[Publisher]:
    tested = Publisher(Settings(_env_file=None))
    async with tested.running():
        yield tested


def soon(seconds: float = 2) -> float:
    return asyncio.get_running_loop().time() + seconds


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(2):
        while not holds():
            await asyncio.sleep(0.005)


async def test_what_is_acknowledged_is_told_where_it_is(cluster: Cluster):
    async with connected() as tested:
        assert await tested.publish(b"1", [], soon()) == "acknowledged"
        assert tested.ready
    assert cluster.stopped == [True]


async def test_all_replicas_acknowledge_and_nothing_is_repeated(cluster: Cluster):
    async with connected() as tested:
        await tested.publish(b"1", [], soon())
    assert cluster.producers[0].options["acks"] == "all"
    assert cluster.producers[0].options["enable_idempotence"] is True


async def test_silence_is_no_acknowledgement(cluster: Cluster):
    cluster.outcomes = ["silence"]
    async with connected() as tested:
        with pytest.raises(NotAcknowledged, match="in time"):
            await tested.publish(b"1", [], soon(0.05))
        assert not tested.ready, "a record was left without its acknowledgement"
        await tested.publish(b"2", [], soon())
        assert tested.ready


@pytest.mark.parametrize("error", [NotLeaderForPartitionError(), MessageSizeTooLargeError()])
async def test_an_error_is_no_acknowledgement(cluster: Cluster, error: Exception):
    cluster.outcomes = [error]
    async with connected() as tested:
        with pytest.raises(NotAcknowledged, match=type(error).__name__):
            await tested.publish(b"1", [], soon())


async def test_a_producer_that_lost_count_is_replaced_and_the_record_goes_to_the_next(cluster: Cluster):
    cluster.outcomes = [OutOfOrderSequenceNumber(), "by the second"]
    async with connected() as tested:
        assert await tested.publish(b"1", [], soon()) == "by the second"
        assert cluster.stopped == [True, False]


async def test_a_producer_that_would_lose_count_is_replaced(cluster: Cluster):
    cluster.outcomes = [MessageSizeTooLargeError()]
    async with connected() as tested:
        with pytest.raises(NotAcknowledged):
            await tested.publish(b"1", [], soon())
        await tested.publish(b"2", [], soon())
        assert cluster.stopped == [True, False]


async def test_an_error_that_passes_replaces_nothing(cluster: Cluster):
    cluster.outcomes = [NotLeaderForPartitionError()]
    async with connected() as tested:
        with pytest.raises(NotAcknowledged):
            await tested.publish(b"1", [], soon())
        await tested.publish(b"2", [], soon())
        assert cluster.stopped == [False]


async def test_it_waits_for_a_kafka_that_is_not_there_yet(cluster: Cluster, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "proofstream.gateway")
    cluster.there = False
    async with connected() as tested:
        with pytest.raises(NotAcknowledged):
            await tested.publish(b"1", [], soon(0.05))
        assert not tested.ready
        cluster.there = True
        await tested.publish(b"1", [], soon())
        assert tested.ready
    assert len(caplog.messages) == 2, "what goes on is said once"
    assert all(cluster.stopped)


async def test_it_waits_for_a_topic_that_is_not_there_yet(cluster: Cluster, caplog: pytest.LogCaptureFixture):
    cluster.topics = set()
    async with connected() as tested:
        with pytest.raises(NotAcknowledged):
            await tested.publish(b"1", [], soon(0.05))
        cluster.topics = {"webhooks"}
        await tested.publish(b"1", [], soon())
    assert "there is no topic webhooks" in caplog.text


async def test_it_is_not_ready_while_kafka_is_silent_and_is_again_by_itself(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(publisher, "LATELY_S", 0.05)
    async with connected() as tested:
        await until(lambda: tested.ready)
        cluster.answers = False
        await until(lambda: not tested.ready)
        cluster.answers = True
        await until(lambda: tested.ready)
        assert cluster.stopped == [False]


async def test_a_producer_without_answers_for_long_is_replaced(cluster: Cluster, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(publisher, "_GIVEN_UP_AFTER_S", 0.05)
    async with connected() as tested:
        await until(lambda: tested.ready)
        cluster.answers = False
        await until(lambda: len(cluster.producers) > 1)
        cluster.answers = True
        await tested.publish(b"1", [], soon())
        assert cluster.producers[0].stopped


async def test_an_error_nobody_thought_of_does_not_end_it(cluster: Cluster, monkeypatch: pytest.MonkeyPatch):
    failing = [True, True]

    async def start(self: Producer) -> None:
        if failing:
            failing.pop()
            raise RuntimeError("a bug")

    monkeypatch.setattr(Producer, "start", start)
    async with connected() as tested:
        assert await tested.publish(b"1", [], soon()) == "acknowledged"
