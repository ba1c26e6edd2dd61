"""Headers whose names are no UTF-8, which Kafka takes: they hold up nothing, and cost nothing but what they are on."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka.producer import message_accumulator
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy
from system import System, running_system

from streams.transport.partitioner import partition_of

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
async def system(kafka: str, topic_prefix: str, tmp_path: Path) -> AsyncIterator[System]:
    """On a real Kafka, which checks what it takes."""
    async with running_system(kafka, topic_prefix, tmp_path, "kafka") as running:
        yield running


class RawName(str):
    """A header's name that goes out as other bytes than its text."""

    __slots__ = ()

    def encode(self, *_: Any) -> bytes:
        return str.encode(self, "latin-1")


async def test_a_name_that_is_no_text_costs_nothing(system: System, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(message_accumulator, "DefaultRecordBatchBuilder", _DefaultRecordBatchBuilderPy)

    async def oddly(topic: str, value: bytes | None, key: bytes | None = None, headers: Any = ()) -> None:
        batch = system.kafka.create_batch()
        batch.append(key=key, value=value, timestamp=None, headers=[*headers, (RawName("\xff\xfe"), b"\xff")])
        await (await system.kafka.send_batch(batch, topic, partition=partition_of(key, 4) if key is not None else 0))

    monkeypatch.setattr(system.kafka, "send_and_wait", oddly)
    await system.start_worker()
    topics = ("operations", "webhooks", "cases", "readbacks")
    for topic in topics:
        await system.publish(topic, b"no message", key=b"case/pp/capture_id/1")
    operation, made = await system.refund_order(4001)
    await system.deliver_refund(made)

    assert [one["verdict"] for one in await system.verdicts(operation)] == ["VERIFIED"]
    letters = await system.read("dead-letters", lambda found: len(found) >= len(topics))
    assert sorted(dict(one.headers)["dead_letter_topic"].decode() for one in letters) == sorted(
        system.prefix + topic for topic in topics
    )
    assert {dict(one.headers)["\\xff\\xfe"] for one in letters} == {b"\xff"}
