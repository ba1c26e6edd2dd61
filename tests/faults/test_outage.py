"""Kafka is away for longer than any request is waited for, and everything goes on by itself when it is back."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from streams.settings import Settings
from streams.transport.producer import Producer, wait_for_kafka
from streams.transport.topics import ensure_topics
from tests.brokers import start_kafka
from tests.faults.trial import trial_on

pytestmark = [pytest.mark.timeout(400), pytest.mark.usefixtures("kafka_tools")]

AWAY_S = 75.0  # aiokafka waits for 40 seconds


async def test_the_same_worker_goes_on_after_an_outage(tmp_path: Path):
    async with start_kafka() as kafka, trial_on(kafka.bootstrap, "outage-", tmp_path, seed=2026) as trial:
        trial.system.environment["PROOFSTREAM_SESSION_TIMEOUT_S"] = "30"
        wait_for_kafka(trial.system.kafka)
        worker = await trial.fleet.join()
        await worker.ready()
        pid = worker.pid
        load = asyncio.create_task(trial.world.live(150, within_s=5))
        await asyncio.sleep(3)
        assert await trial.left() > 0, "there was nothing left to do: it proved nothing"

        await kafka.stop()
        await asyncio.sleep(AWAY_S)
        await kafka.restart()
        await load

        assert await trial.verify(within_s=120) == []
        assert (worker.ends, worker.pid) == ([], pid)


async def test_what_is_sent_while_kafka_answers_nothing_waits_for_it():
    async with start_kafka() as kafka:
        settings = Settings(bootstrap_servers=kafka.bootstrap, partitions=2)
        await ensure_topics(settings)
        started, late = Producer(settings), Producer(settings)
        assert await acknowledged(started, "cases", 0, records=1) == [0]

        os.kill(kafka.pid, signal.SIGSTOP)  # connections are taken, and nothing comes over them
        waiting = [
            asyncio.create_task(acknowledged(started, "cases", 0, records=5)),  # in batches, one behind the other
            asyncio.create_task(acknowledged(started, "reviews", 0, records=1)),  # the first on its topic
            asyncio.create_task(acknowledged(late, "cases", 1, records=1)),  # the first of its producer
        ]
        await asyncio.sleep(AWAY_S)
        assert not any(one.done() for one in waiting), waiting
        os.kill(kafka.pid, signal.SIGCONT)

        async with asyncio.timeout(60):
            assert await asyncio.gather(*waiting) == [[1, 2, 3, 4, 5], [0], [0]]
        await started.stop()
        await late.stop()


async def acknowledged(producer: Producer, topic: str, partition: int, records: int) -> list[int]:
    """Send records, each so large that it is a batch of its own; return their offsets."""
    sent = await producer.hand_over(topic, partition, [(b"key", bytes(500_000), ())] * records)
    return [(await batch).offset for batch, _ in sent]
