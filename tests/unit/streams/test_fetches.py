"""Which offsets a fetch covers, of records, of markers and of what was aborted."""

import asyncio
import gc
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import READ_COMMITTED, FetchResult, PartitionRecords
from aiokafka.consumer.subscription_state import Assignment
from aiokafka.errors import CorruptRecordException
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
        ((_, ((_, aborted, data),)),) = answer.topics
        position = self.assignment.state_value(PARTITION).position
        records = PartitionRecords(PARTITION, MemoryRecords(data), aborted, position, None, None, True, READ_COMMITTED)
        self.records[PARTITION] = FetchResult(PARTITION, assignment=assignment, partition_records=records, backoff=0)
        return True

    async def fetch(self, *batches: bytes, aborted: Any = ()) -> None:
        self.answer = SimpleNamespace(topics=[("source", [(0, list(aborted), b"".join(batches))])])
        await self._fetcher._proc_fetch_request(self.assignment, 1, FetchRequest(500, 1, 1 << 20, 1, []))

    def take_nothing(self) -> None:
        assert self.fetches.cover({}) == {}

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


class RawName(str):
    """A header's name that is written as other bytes than its text."""

    __slots__ = ()

    def encode(self, *_: Any) -> bytes:
        return str.encode(self, "latin-1")


def named(offset: int, *names: str, codec: int = 0) -> bytes:
    """A batch of one record for each name, of its one header."""
    builder = _DefaultRecordBatchBuilderPy(2, codec, 0, -1, 0, 0, 1 << 20)
    for number, name in enumerate(names):
        headers = [("plain", None), (RawName(name), b"\xff")]
        builder.append(number, 1_700_000_000_000 + number, b"key", b"value %d" % number, headers)
    return bytes(offset.to_bytes(8, "big") + builder.build()[8:])


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
async def test_a_name_that_is_no_text_is_written_out_and_holds_up_nothing(kafka: Kafka, codec: int):
    await kafka.fetch(batch(5, b"a"), named(6, "good", "\xff\xe4", "x\x80", codec=codec), batch(9, b"b"))
    (fetched,) = kafka.take().values()
    assert offsets(fetched) == ([5, 6, 7, 8, 9], 5, 10)
    assert [one.headers for one in fetched.records[1:4]] == [
        (("plain", None), ("good", b"\xff")),
        (("plain", None), ("\\xff\\xe4", b"\xff")),
        (("plain", None), ("x\\x80", b"\xff")),
    ]
    first, *_, last = fetched.records[1:4]
    assert (last.key, last.value, last.timestamp - first.timestamp) == (b"key", b"value 2", 2)
    assert last.timestamp_type == first.timestamp_type


async def test_a_batch_with_such_a_name_may_be_taken_in_parts(kafka: Kafka):
    await kafka.fetch(named(5, "a", "\xff", "b"))
    assert [offsets(kafka.take(at_most=1)[PARTITION]) for _ in range(3)] == [([5], 5, 6), ([6], 6, 7), ([7], 7, 8)]


async def test_a_batch_that_is_broken_otherwise_is_still_refused(kafka: Kafka):
    whole = named(5, "a", "b")
    await kafka.fetch(whole[:-3] + b"\x00\x00\x00")
    with pytest.raises(CorruptRecordException):
        kafka.take()


async def test_what_a_fetch_brought_is_gone_when_it_has_been_taken(kafka: Kafka, monkeypatch: pytest.MonkeyPatch):
    """At once, and not when the garbage collector comes round: a recovery would hold many times what it keeps."""
    made: list[weakref.ref[PartitionRecords]] = []
    create = PartitionRecords.__init__

    def noted(self: PartitionRecords, *arguments: Any) -> None:
        made.append(weakref.ref(self))
        create(self, *arguments)

    monkeypatch.setattr(PartitionRecords, "__init__", noted)
    gc.disable()
    try:
        await kafka.fetch(batch(5, b"a", b"b"))
        kafka.take()
        kafka.records.clear()
        kafka.take_nothing()
        assert [one() for one in made] == [None, None]
    finally:
        gc.enable()
