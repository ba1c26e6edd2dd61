"""Which offsets a fetch covers, of records, of markers and of what was aborted."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import READ_COMMITTED, FetchResult, PartitionRecords
from aiokafka.consumer.subscription_state import Assignment
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy
from aiokafka.record.memory_records import MemoryRecords

from streams.transport.fetches import Fetched, Fetches

PARTITION = TopicPartition("source", 0)
TRANSACTIONAL, CONTROL = 0x10, 0x30
ABORT, COMMIT = b"\x00\x00\x00\x00", b"\x00\x00\x00\x01"


def batch(offset: int, *values: bytes, key: bytes | None = None, attributes: int = 0, producer: int = -1) -> bytes:
    builder = _DefaultRecordBatchBuilderPy(2, 0, 0, producer, 0, 0, 1 << 20)
    builder._get_attributes = lambda *_: attributes
    for number, value in enumerate(values):
        builder.append(number, 1_700_000_000_000, key, value, [])
    return bytes(offset.to_bytes(8, "big") + builder.build()[8:])


class Kafka:
    """A consumer whose fetches are answered by what a test lays out."""

    def __init__(self) -> None:
        self.assignment = Assignment([PARTITION])
        self.records: dict[TopicPartition, FetchResult] = {}
        self.answer: Any = None
        self._client = SimpleNamespace(send=self._send)
        self._fetcher: Any = SimpleNamespace(_records=self.records, _proc_fetch_request=self._process)
        self.fetches = Fetches(self)  # type: ignore[arg-type]

    async def _send(self, node: int, request: Any) -> Any:
        await asyncio.sleep(0)
        return self.answer

    async def _process(self, assignment: Any, node: int, request: Any) -> bool:
        """As aiokafka's fetcher does it."""
        answer = await self._client.send(node, request)
        ((_, ((_, data, aborted),)),) = answer.topics
        position = self.assignment.state_value(PARTITION).position
        records = PartitionRecords(PARTITION, MemoryRecords(data), aborted, position, None, None, True, READ_COMMITTED)
        self.records[PARTITION] = FetchResult(PARTITION, assignment=assignment, partition_records=records, backoff=0)
        return True

    async def fetch(self, *batches: bytes, aborted: Any = ()) -> None:
        self.answer = SimpleNamespace(topics=[("source", [(0, b"".join(batches), list(aborted))])])
        await self._fetcher._proc_fetch_request(self.assignment, 1, FetchRequest(500, 1, 1 << 20, 1, []))

    def take(self, at_most: int | None = None) -> dict[TopicPartition, Fetched]:
        records = self.records[PARTITION].getall(at_most)
        return self.fetches.cover({PARTITION: records} if records else {})


@pytest.fixture
async def kafka() -> Kafka:
    found = Kafka()
    found.assignment.state_value(PARTITION).seek(5)
    return found


def offsets(fetched: Fetched) -> tuple[list[int], int, int]:
    return [one.offset for one in fetched.records], fetched.begin, fetched.end


async def test_a_fetch_covers_what_it_brings(kafka: Kafka):
    await kafka.fetch(batch(5, b"a", b"b"), batch(7, b"c"))
    (fetched,) = kafka.take().values()
    assert offsets(fetched) == ([5, 6, 7], 5, 8)
    assert kafka.fetches.cover({}) == {}


async def test_a_fetch_that_is_taken_in_parts_is_covered_in_parts(kafka: Kafka):
    await kafka.fetch(batch(5, b"a", b"b", b"c"))
    taken = [offsets(one) for part in (2, 2) for one in kafka.take(part).values()]
    assert taken == [([5, 6], 5, 7), ([7], 7, 8)]


async def test_markers_and_what_was_aborted_are_covered(kafka: Kafka):
    await kafka.fetch(
        batch(5, b"a", attributes=TRANSACTIONAL, producer=3),
        batch(6, b"", key=COMMIT, attributes=CONTROL, producer=3),
        batch(7, b"b", attributes=TRANSACTIONAL, producer=4),
        batch(8, b"", key=ABORT, attributes=CONTROL, producer=4),
        aborted=[(4, 7)],
    )
    (fetched,) = kafka.take().values()
    assert offsets(fetched) == ([5], 5, 9)


async def test_markers_alone_are_covered_too_and_with_the_records_that_follow(kafka: Kafka):
    await kafka.fetch(batch(5, b"", key=COMMIT, attributes=CONTROL, producer=3))
    assert kafka.records[PARTITION].getall() == []
    assert kafka.assignment.state_value(PARTITION).position == 6
    await kafka.fetch(batch(6, b"a"))
    (fetched,) = kafka.take().values()
    assert offsets(fetched) == ([6], 5, 7)

    await kafka.fetch(batch(7, b"", key=COMMIT, attributes=CONTROL, producer=3))
    (fetched,) = kafka.take().values()
    assert offsets(fetched) == ([], 7, 8)


async def test_what_is_taken_after_a_seek_is_covered_from_there(kafka: Kafka):
    await kafka.fetch(batch(5, b"a"))
    assert len(kafka.records[PARTITION].getall()) == 1
    kafka.assignment.state_value(PARTITION).seek(2)
    await kafka.fetch(batch(2, b"a"))
    (fetched,) = kafka.take().values()
    assert offsets(fetched) == ([2], 2, 3)


async def test_what_got_lost_on_the_way_is_forgotten(kafka: Kafka):
    await kafka.fetch(batch(5, b"a"))
    kafka.records[PARTITION].getall()
    kafka.fetches.forget()
    await kafka.fetch(batch(6, b"b"))
    (fetched,) = kafka.take().values()
    assert offsets(fetched) == ([6], 6, 7)
