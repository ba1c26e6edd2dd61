"""What upstream producers write in transactions: what is committed counts, and nothing else does."""

import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from system import System, now_text, running_system

from streams.settings import Settings
from streams.transport.reader import open_reader

pytestmark = pytest.mark.timeout(180)

LOST = {"capture_id": "CAP-LOST", "amount": "60.00", "currency_code": "USD"}


@pytest.fixture
async def system(kafka: str, topic_prefix: str, tmp_path: Path) -> AsyncIterator[System]:
    """On a real Kafka: the embedded broker has no transactions."""
    async with running_system(kafka, topic_prefix, tmp_path, "kafka") as running:
        yield running


@contextlib.asynccontextmanager
async def publishing_by(system: System, transactional_id: str | None) -> AsyncIterator[AIOKafkaProducer]:
    """Have what the system publishes go through another producer."""
    before = system.kafka
    system.kafka = AIOKafkaProducer(bootstrap_servers=system.bootstrap, transactional_id=transactional_id)
    await system.kafka.start()
    try:
        yield system.kafka
    finally:
        await system.kafka.stop()
        system.kafka = before


def gateway(system: System) -> contextlib.AbstractAsyncContextManager[AIOKafkaProducer]:
    """Have what the system publishes go through a producer of transactions."""
    return publishing_by(system, f"{system.prefix}gateway")


async def abort_on_every_partition(system: System, *topics: str) -> None:
    async with publishing_by(system, f"{system.prefix}aborting") as kafka:
        await kafka.begin_transaction()
        for topic in topics:
            for partition in range(4):
                await kafka.send_and_wait(topic, b"was never published", b"nobody", partition=partition)
        await kafka.abort_transaction()


async def lag(system: System, topic: str) -> int:
    admin = AIOKafkaAdminClient(bootstrap_servers=system.bootstrap)
    consumer = AIOKafkaConsumer(bootstrap_servers=system.bootstrap)
    await admin.start()
    await consumer.start()
    try:
        committed = await admin.list_consumer_group_offsets(f"{system.prefix}app")
        ends = await consumer.end_offsets([TopicPartition(system.prefix + topic, one) for one in range(4)])
    finally:
        await consumer.stop()
        await admin.close()
    return sum(end - (committed[place].offset if place in committed else 0) for place, end in ends.items())


async def test_what_was_aborted_is_not_there_and_what_was_committed_is(system: System):
    await system.start_worker()
    async with gateway(system) as kafka:
        await kafka.begin_transaction()
        aborted, made = await system.refund_order(1001)
        await system.deliver_refund(made)
        await kafka.abort_transaction()
        async with kafka.transaction():
            committed, made = await system.refund_order(1002)
            await system.deliver_refund(made)

    assert [one["verdict"] for one in await system.verdicts(committed)] == ["VERIFIED"]
    cases = await system.read("cases", lambda found: len(found) > 0)
    assert any(committed.encode() in (one.value or b"") for one in cases)
    assert not any(aborted.encode() in (one.value or b"") for one in cases)


async def test_timers_go_on_promptly_after_a_restart_behind_what_was_aborted(system: System):
    worker = await system.start_worker()
    async with gateway(system) as kafka, kafka.transaction():
        await system.start("quick.paypal.refund.recorded", LOST, "op-lost", action={"result": {"id": "REFUND-LOST"}})
    await system.read("readbacks", lambda found: len(found) >= 1)
    worker.kill()
    await worker.wait()

    await abort_on_every_partition(system, f"{system.prefix}operations", f"{system.prefix}webhooks")
    await asyncio.sleep(6)  # past the timeout of the operation
    await system.start_worker()
    begun = time.monotonic()

    assert [one["verdict"] for one in await system.verdicts("op-lost", within_s=90)] == ["UNVERIFIABLE"]
    assert time.monotonic() - begun < 20
    async with asyncio.timeout(20):
        while await lag(system, "operations") + await lag(system, "webhooks") > 0:
            await asyncio.sleep(0.5)


async def test_many_small_transactions_in_a_row_are_worked_off_one_by_one_without_delay(system: System):
    await system.start_worker()
    consumer = AIOKafkaConsumer(bootstrap_servers=system.bootstrap, fetch_max_wait_ms=50)
    await consumer.start()
    consumer.assign([TopicPartition(f"{system.prefix}cases", one) for one in range(4)])
    await consumer.seek_to_end()

    async def forwarded(operation_id: str) -> None:
        async for record in consumer:
            if operation_id.encode() in (record.value or b""):
                return

    took = []
    async with gateway(system) as kafka:
        for number in range(1, 26):
            operation = {
                "operation_id": f"op-{number}",
                "contract": "shopify.refund.created",
                "connection": "acme",
                "created_at": now_text(),
                "input": {"order_id": number, "amount": "42.50"},
            }
            async with kafka.transaction():
                await kafka.send_and_wait(f"{system.prefix}operations", orjson.dumps(operation), partition=1)
            begun = time.monotonic()
            async with asyncio.timeout(10):
                await forwarded(f"op-{number}")
            took.append(time.monotonic() - begun)
    await consumer.stop()

    # A fetch that waits for more takes half a second: no transaction may wait for one to come back.
    assert statistics.median(took) < 0.25, took


async def test_an_open_transaction_holds_up_its_partition_but_is_no_stall(system: System):
    worker = await system.start_worker(stall_timeout_s="4")
    async with gateway(system) as kafka:
        await kafka.begin_transaction()
        for partition in range(4):
            await kafka.send_and_wait(f"{system.prefix}webhooks", b"not yet", partition=partition)
        async with publishing_by(system, None):
            operation, made = await system.refund_order(3001)
            await system.deliver_refund(made)  # behind the beginning of the transaction
        await asyncio.sleep(12)
        assert worker.returncode is None
        cases = await system.read("cases", lambda found: len(found) > 0)
        assert not any(b'"kind":"events"' in one.value for one in cases)
        await kafka.abort_transaction()

    assert [one["verdict"] for one in await system.verdicts(operation)] == ["VERIFIED"]
    assert worker.returncode is None


async def test_a_changelog_that_ends_with_a_marker_is_recovered(system: System):
    worker = await system.start_worker()
    operation, made = await system.refund_order(4001)
    await system.read("cases", lambda found: len(found) >= 2)
    worker.terminate()
    await worker.wait()

    await abort_on_every_partition(system, f"{system.prefix}app-cases-changelog")
    await system.start_worker()
    await system.deliver_refund(made)

    assert [one["verdict"] for one in await system.verdicts(operation)] == ["VERIFIED"]


async def test_a_person_reads_what_is_committed_and_waits_for_nothing_else(
    system: System, monkeypatch: pytest.MonkeyPatch
):
    worker = await system.start_worker()
    worker.kill()
    await worker.wait()
    for name, value in system.environment.items():
        monkeypatch.setenv(name, value)
    topic = f"{system.prefix}operations"
    await system.kafka.send_and_wait(topic, b"plain", partition=0)
    await abort_on_every_partition(system, topic)

    async with gateway(system) as kafka, open_reader(Settings()) as reader:
        await kafka.begin_transaction()
        await kafka.send_and_wait(topic, b"not yet", partition=1)
        async with asyncio.timeout(10):
            assert [one.value async for one in reader.scan(topic)] == [b"plain"]
            assert await reader.read(topic, 0, 1) is None  # aborted
            assert await reader.read(topic, 0, 2) is None  # the marker
            assert await reader.read(topic, 1, 2) is None  # open
        await kafka.commit_transaction()
        async with asyncio.timeout(10):
            assert [one.value async for one in reader.scan(topic)] == [b"plain", b"not yet"]
