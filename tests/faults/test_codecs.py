"""Upstream producers compress as they like, each client in its own way: a batch of any codec is taken in."""

import asyncio
import uuid
from asyncio.subprocess import PIPE
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import orjson
import pytest
import pytest_asyncio

from tests.brokers import JAVA, RunningKafka, start_kafka
from tests.faults.checks.evidence import message_of
from tests.faults.trial import Trial, trial_on
from tests.faults.upstream import CODECS, Codec
from tests.integration.system import now_text

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.usefixtures("kafka_tools"),
    pytest.mark.asyncio(loop_scope="session"),  # as the worker, which all of them share
]

RECORDS = 20
_ATTRIBUTES = 21  # where a batch on disk says how it is compressed: KIP-98, by the number of the codec
_HEADER = 12


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def taking(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Trial, RunningKafka]]:
    """A worker on a Kafka whose files can be looked at."""
    directory: Path = tmp_path_factory.mktemp("codecs")
    async with start_kafka() as kafka, trial_on(kafka.bootstrap, "codecs-", directory, seed=2026) as trial:
        worker = await trial.fleet.join()
        await worker.ready()
        yield trial, kafka


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("client", ["aiokafka", "java"])
async def test_a_batch_is_taken_in(taking: tuple[Trial, RunningKafka], client: str, codec: Codec):
    trial, kafka = taking
    operations = [operation() for _ in range(RECORDS)]
    before = Counter(batches(kafka, "codecs-operations"))

    if client == "java":
        await publish_by_java(trial, kafka, codec, operations)
    else:
        await publish_by_aiokafka(trial, codec, operations)

    # They were compressed, and together.
    assert Counter(batches(kafka, "codecs-operations")) - before == {(CODECS.index(codec), RECORDS): 1}
    wanted = {orjson.loads(one)["operation_id"] for one in operations}
    async with asyncio.timeout(30):
        while not wanted <= {message_of(one).get("operation_id") for one in (await trial.contents()).of("cases")}:
            await asyncio.sleep(0.2)
    [worker] = trial.fleet.workers
    assert worker.ends == []


def operation() -> bytes:
    return orjson.dumps(
        {
            "operation_id": f"op-{uuid.uuid4()}",
            "contract": "calm.shopify.refund.created",
            "connection": "acme",
            "created_at": now_text(),
            "input": {"order_id": 1, "amount": "42.50"},
        }
    )


async def publish_by_aiokafka(trial: Trial, codec: Codec, values: list[bytes]) -> None:
    producer = trial.upstream.producer(codec)
    batch = producer.create_batch()
    for value in values:
        assert batch.append(key=None, value=value, timestamp=None) is not None
    await (await producer.send_batch(batch, f"{trial.system.prefix}operations", partition=0))


async def publish_by_java(trial: Trial, kafka: RunningKafka, codec: Codec, values: list[bytes]) -> None:
    """Publish lines by Kafka's own console producer, which has its own framing of each codec."""
    process = await asyncio.create_subprocess_exec(
        *(*JAVA, "-cp", f"{kafka.libs}/*", "org.apache.kafka.tools.ConsoleProducer"),
        *("--bootstrap-server", trial.system.bootstrap, "--topic", f"{trial.system.prefix}operations"),
        *(f"--compression-codec={codec or 'none'}", "--batch-size=100000"),
        *("--producer-property=linger.ms=2000"),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(b"\n".join(values) + b"\n"), 60)
    assert process.returncode == 0, out + err


def batches(kafka: RunningKafka, topic: str) -> Iterator[tuple[int, int]]:
    """Yield the codec's number and the count of records of each batch that lies in a topic's files."""
    for file in sorted(kafka.directory.glob(f"data/{topic}-*/*.log"), key=str):
        data, at = file.read_bytes(), 0
        while at + _HEADER < len(data):
            length = int.from_bytes(data[at + 8 : at + _HEADER], "big")
            attributes = int.from_bytes(data[at + _ATTRIBUTES : at + _ATTRIBUTES + 2], "big")
            yield attributes & 0b111, int.from_bytes(data[at + 57 : at + 61], "big")
            at += _HEADER + length
