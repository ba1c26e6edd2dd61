"""What the batch transport commits, and what it believes of the fetches it gets."""

from typing import Any

import faust
import pytest
from faust.types import TP

from streams.transport.batch import BatchConsumer, BatchTransport
from streams.transport.membership import Membership

PARTITION = TP("source", 0)


class Record:
    def __init__(self, offset: int) -> None:
        self.offset = offset


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> BatchConsumer:
    app = faust.App("test", broker="kafka://127.0.0.1:1", store="memory://", autodiscover=False)
    transport = BatchTransport(app, ["source"], Membership(30.0))
    app.transport = transport

    async def nothing(*_: Any) -> None: ...

    found = transport.create_consumer(callback=nothing, on_partitions_revoked=nothing, on_partitions_assigned=nothing)
    assert isinstance(found, BatchConsumer)
    found.sought = []  # type: ignore[attr-defined]

    async def seek(tp: TP, offset: int) -> None:
        found.sought.append((tp, offset))  # type: ignore[attr-defined]

    monkeypatch.setattr(found, "_seek", seek)
    return found


def hand_out(consumer: BatchConsumer, *offsets: int) -> None:
    consumer._handed_out[PARTITION].extend(offsets)


def ack(consumer: BatchConsumer, *offsets: int) -> None:
    consumer._acked_index[PARTITION].update(offsets)
    consumer._acked[PARTITION].extend(offsets)


def test_the_offset_behind_the_last_batch_is_committed(consumer: BatchConsumer):
    hand_out(consumer, 9, 19)
    ack(consumer, 9, 19)
    assert consumer._new_offset(PARTITION) == 20
    assert consumer._new_offset(PARTITION) is None


@pytest.mark.parametrize("committed", [None, 0, 10])
def test_a_batch_in_work_holds_up_the_ones_behind_it(consumer: BatchConsumer, committed: int | None):
    consumer._committed_offset[PARTITION] = committed
    hand_out(consumer, 19, 29)
    ack(consumer, 29)
    assert consumer._new_offset(PARTITION) is None
    ack(consumer, 19)
    assert consumer._new_offset(PARTITION) == 30


def test_a_batch_that_is_handed_out_again_after_its_commit_holds_up_nothing(consumer: BatchConsumer):
    consumer._committed_offset[PARTITION] = 10
    hand_out(consumer, 9, 19)  # Faust ignores an acknowledgement of 9: it is below what is committed
    ack(consumer, 19)
    assert consumer._new_offset(PARTITION) == 20


async def test_revoked_partitions_are_forgotten(consumer: BatchConsumer):
    hand_out(consumer, 9)
    await consumer.on_partitions_revoked({PARTITION})
    assert consumer._new_offset(PARTITION) is None


async def test_records_behind_a_hole_are_fetched_again_and_believed_the_second_time(consumer: BatchConsumer):
    consumer._read_offset[PARTITION] = 5
    late = [Record(8), Record(9)]

    assert await consumer._follow_on(PARTITION, late) == []
    assert consumer.sought == [(PARTITION, 5)]  # type: ignore[attr-defined]
    assert await consumer._follow_on(PARTITION, late) == late


async def test_records_that_were_handed_out_are_dropped(consumer: BatchConsumer):
    consumer._read_offset[PARTITION] = 5
    records = [Record(3), Record(4), Record(5), Record(6)]
    assert [one.offset for one in await consumer._follow_on(PARTITION, records)] == [5, 6]
    assert await consumer._follow_on(PARTITION, records[:2]) == []


async def test_a_partition_without_a_commit_is_sought_to_its_beginning(
    consumer: BatchConsumer, monkeypatch: pytest.MonkeyPatch
):
    other = TP("source", 1)

    async def committed() -> dict[TP, int | None]:
        return {PARTITION: None, other: 7}

    async def earliest(*tps: TP) -> dict[TP, int]:
        return dict.fromkeys(tps, 3)

    monkeypatch.setattr(consumer, "seek_to_committed", committed)
    monkeypatch.setattr(consumer, "earliest_offsets", earliest)
    await consumer.perform_seek()

    assert consumer.sought == [(PARTITION, 3)]  # type: ignore[attr-defined]
    assert (consumer._read_offset[PARTITION], consumer._read_offset[other]) == (3, 7)
