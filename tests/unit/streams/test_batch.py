"""What the batch transport commits, and what it believes of the fetches it gets."""

from typing import Any

import faust
import pytest
from aiokafka.errors import IllegalStateError
from faust.transport.drivers.aiokafka import Consumer
from faust.types import TP, Message

from streams.settings import Settings
from streams.transport.batch import BatchConsumer, BatchConsumerThread, BatchTransport
from streams.transport.faust_settings import faust_settings
from streams.transport.fetches import Fetched
from streams.transport.membership import Membership

PARTITION = TP("source", 0)


class Record:
    timestamp = 1_700_000_000_000

    def __init__(self, offset: int) -> None:
        self.offset = offset


def fetched(begin: int, *offsets: int, end: int | None = None) -> Fetched:
    """A fetch of records, and of nothing else behind them unless it is said where it ends."""
    return Fetched([Record(one) for one in offsets], begin, offsets[-1] + 1 if end is None else end)


async def nothing(*_: Any) -> None: ...


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> BatchConsumer:
    app = faust.App("test", broker="kafka://127.0.0.1:1", store="memory://", autodiscover=False)
    transport = BatchTransport(app, ["source"], Membership(30.0))
    app.transport = transport

    found = transport.create_consumer(callback=nothing, on_partitions_revoked=nothing, on_partitions_assigned=nothing)
    assert isinstance(found, BatchConsumer)
    found.sought = []  # type: ignore[attr-defined]

    async def seek(tp: TP, offset: int) -> None:
        found.sought.append((tp, offset))  # type: ignore[attr-defined]

    monkeypatch.setattr(found, "_seek", seek)
    return found


def hand_out(consumer: BatchConsumer, *offsets: int) -> list[Message]:
    batches = [Message("source", 0, offset, 0.0, 0, [], None, None, None, tp=PARTITION) for offset in offsets]
    consumer._handed_out[PARTITION].extend(batches)
    return batches


def test_the_offset_behind_the_last_batch_is_committed(consumer: BatchConsumer):
    for batch in hand_out(consumer, 9, 19):
        consumer.ack(batch)
    assert consumer._new_offset(PARTITION) == 20
    assert consumer._new_offset(PARTITION) is None


@pytest.mark.parametrize("committed", [None, 0, 10])
def test_a_batch_in_work_holds_up_the_ones_behind_it(consumer: BatchConsumer, committed: int | None):
    consumer._committed_offset[PARTITION] = committed
    first, second = hand_out(consumer, 19, 29)
    consumer.ack(second)
    assert consumer._new_offset(PARTITION) is None
    consumer.ack(first)
    assert consumer._new_offset(PARTITION) == 30


def test_a_batch_that_was_given_up_is_never_committed_and_nothing_behind_it(consumer: BatchConsumer):
    lost, behind = hand_out(consumer, 19, 29)
    consumer.abandon(lost)
    consumer.ack(behind)
    assert consumer._new_offset(PARTITION) is None


def test_a_batch_that_is_handed_out_again_after_its_commit_holds_up_nothing(consumer: BatchConsumer):
    consumer._committed_offset[PARTITION] = 10
    for batch in hand_out(consumer, 9, 19):  # Faust ignores an acknowledgement of 9: it is below what is committed
        consumer.ack(batch)
    assert consumer._new_offset(PARTITION) == 20


async def test_after_a_seek_only_what_is_handed_out_from_then_on_counts(
    consumer: BatchConsumer, monkeypatch: pytest.MonkeyPatch
):
    async def committed() -> dict[TP, int]:
        return {PARTITION: 20}

    monkeypatch.setattr(consumer, "seek_to_committed", committed)
    dropped, in_work = hand_out(consumer, 29, 39)
    await consumer.perform_seek()
    (again,) = hand_out(consumer, 39)

    consumer.ack(in_work)
    assert consumer._new_offset(PARTITION) is None  # the same offset, but another batch
    consumer.ack(again)
    assert consumer._new_offset(PARTITION) == 40
    assert not dropped.acked


async def test_a_seek_while_a_batch_is_handed_over_has_the_last_word(
    consumer: BatchConsumer, monkeypatch: pytest.MonkeyPatch
):
    async def committed() -> dict[TP, int]:
        return {PARTITION: 5}

    async def hand_over(messages: list[Message]) -> None:
        await consumer.perform_seek()

    monkeypatch.setattr(consumer, "seek_to_committed", committed)
    monkeypatch.setattr(consumer, "_hand_over", hand_over)
    monkeypatch.setattr(consumer, "highwater", lambda tp: 9)
    consumer._read_offset[PARTITION] = 5
    await consumer._hand_out({PARTITION: fetched(5, 5, 6)}, None)

    assert consumer._read_offset[PARTITION] == 5


async def test_after_a_resume_the_place_is_sought_before_anything_is_handed_out(
    consumer: BatchConsumer, monkeypatch: pytest.MonkeyPatch
):
    done: list[str] = []

    async def fetch(_: float) -> Any:
        if len(done) >= 2:
            consumer._stopped.set()
        return {PARTITION: fetched(5, 5)}, None

    async def seek() -> None:
        done.append("sought")

    async def hand_out_all(*_: Any) -> None:
        done.append("handed out")

    monkeypatch.setattr(consumer, "_wait_next_records", fetch)
    monkeypatch.setattr(consumer, "perform_seek", seek)
    monkeypatch.setattr(consumer, "_hand_out", hand_out_all)
    consumer.app.in_recovery = True
    consumer.resume_flow()  # for the changelog: what is fetched then must not be dropped
    assert not consumer._resumed
    consumer.app.in_recovery = False
    consumer.resume_flow()
    await consumer._drain_messages(consumer)

    assert done == ["sought", "handed out", "handed out"]


async def test_revoked_partitions_are_forgotten(consumer: BatchConsumer):
    (batch,) = hand_out(consumer, 9)
    await consumer.on_partitions_revoked({PARTITION})
    consumer.ack(batch)
    assert consumer._new_offset(PARTITION) is None


async def test_records_behind_a_hole_are_fetched_again_and_believed_the_second_time(consumer: BatchConsumer):
    consumer._read_offset[PARTITION] = 5
    late = fetched(8, 8, 9)

    assert await consumer._follow_on(PARTITION, late) is None
    assert consumer.sought == [(PARTITION, 5)]  # type: ignore[attr-defined]
    assert await consumer._follow_on(PARTITION, late) == late.records


async def test_what_lies_between_records_and_was_read_is_no_hole(consumer: BatchConsumer):
    consumer._read_offset[PARTITION] = 5
    behind_markers = fetched(5, 8, 9)

    assert await consumer._follow_on(PARTITION, behind_markers) == behind_markers.records
    assert consumer.sought == []  # type: ignore[attr-defined]


async def test_records_that_were_handed_out_are_dropped(consumer: BatchConsumer):
    consumer._read_offset[PARTITION] = 5
    fresh = await consumer._follow_on(PARTITION, fetched(3, 3, 4, 5, 6))
    assert [one.offset for one in fresh or ()] == [5, 6]
    assert await consumer._follow_on(PARTITION, fetched(3, 3, 4)) is None


async def test_what_is_committed_lies_behind_the_markers_that_were_read(
    consumer: BatchConsumer, monkeypatch: pytest.MonkeyPatch
):
    handed_over: list[Message] = []

    async def hand_over(messages: list[Message]) -> None:
        handed_over.extend(messages)

    monkeypatch.setattr(consumer, "_hand_over", hand_over)
    monkeypatch.setattr(consumer, "highwater", lambda tp: 9)
    consumer._read_offset[PARTITION] = 5
    await consumer._hand_out({PARTITION: fetched(5, 5, 6, end=8)}, None)
    await consumer._hand_out({PARTITION: fetched(8, end=11)}, None)

    (batch,) = handed_over  # for markers alone there is nothing to do
    assert [one.offset for one in batch.value] == [5, 6]  # type: ignore[attr-defined, union-attr]
    assert consumer._new_offset(PARTITION) is None
    consumer.ack(batch)
    assert consumer._new_offset(PARTITION) == 11


async def test_it_has_caught_up_where_the_backlog_ended_when_it_was_assigned(
    consumer: BatchConsumer, monkeypatch: pytest.MonkeyPatch
):
    ends: list[int | None] = [None, 9, 20, 30]
    monkeypatch.setattr(consumer, "highwater", lambda tp: ends.pop(0))

    monkeypatch.setattr(Consumer, "on_partitions_assigned", nothing)
    await consumer.on_partitions_assigned({PARTITION, TP("changelog", 0)})

    assert not consumer.has_caught_up()  # nothing was fetched yet
    consumer._read_offset[PARTITION] = 8
    assert not consumer.has_caught_up()
    consumer._read_offset[PARTITION] = 9
    (batch,) = hand_out(consumer, 7)
    assert not consumer.has_caught_up()
    consumer.ack(batch)
    assert consumer.has_caught_up()  # whatever has come since


@pytest.mark.parametrize("without", [None, 0])
async def test_a_partition_without_a_commit_is_sought_to_its_beginning(
    consumer: BatchConsumer, monkeypatch: pytest.MonkeyPatch, without: int | None
):
    other = TP("source", 1)

    async def committed() -> dict[TP, int | None]:
        return {PARTITION: without, other: 7}

    async def earliest(*tps: TP) -> dict[TP, int]:
        return dict.fromkeys(tps, 3)

    monkeypatch.setattr(consumer, "seek_to_committed", committed)
    monkeypatch.setattr(consumer, "earliest_offsets", earliest)
    await consumer.perform_seek()

    assert consumer.sought == [(PARTITION, 3)]  # type: ignore[attr-defined]
    assert (consumer._read_offset[PARTITION], consumer._read_offset[other]) == (3, 7)


async def test_a_partition_whose_streams_queue_fills_is_fetched_all_the_same(consumer: BatchConsumer):
    consumer._set_active_tps({PARTITION})
    consumer.on_buffer_full(PARTITION)
    assert PARTITION in consumer._get_active_partitions()
    assert consumer._buffered_partitions == set()


async def test_a_recovery_that_gets_nothing_goes_back_to_where_it_is(
    consumer: BatchConsumer, monkeypatch: pytest.MonkeyPatch
):
    behind, done = TP("changelog", 0), TP("changelog", 1)

    async def fetch(_: float) -> Any:
        consumer._stopped.set()
        return {}, None

    monkeypatch.setattr(consumer, "_wait_next_records", fetch)
    recovery: Any = consumer.app.tables.recovery  # type: ignore[attr-defined]
    recovery.active_highwaters.update({behind: 9, done: 4})
    recovery.active_offsets.update({behind: 6, done: 4})
    consumer.app.in_recovery = True
    await consumer._drain_messages(consumer)

    assert consumer.sought == [(behind, 7)]  # type: ignore[attr-defined]


async def test_a_seek_that_fails_in_recovery_drops_no_changelog_record(
    consumer: BatchConsumer, monkeypatch: pytest.MonkeyPatch
):
    async def fetch(_: float) -> Any:
        consumer._stopped.set()
        return {PARTITION: fetched(5, 5)}, None

    async def taken_away() -> None:
        raise IllegalStateError("no current assignment")

    monkeypatch.setattr(consumer, "_wait_next_records", fetch)
    monkeypatch.setattr(consumer, "perform_seek", taken_away)
    consumer.stop_flow()
    consumer.app.in_recovery = True
    await consumer._drain_messages(consumer)

    assert not consumer._resumed


async def test_recovery_waits_for_a_kafka_that_is_away_but_no_request_does():
    settings = Settings(session_timeout_s=30)
    app = faust.App("test", **faust_settings(settings))
    transport = BatchTransport(app, ["source"], Membership(30.0))
    found = transport.create_consumer(callback=nothing, on_partitions_revoked=nothing, on_partitions_assigned=nothing)
    client: Any = BatchConsumerThread(found)._create_worker_consumer(transport)

    assert app.conf.broker_request_timeout >= 600  # Faust's recovery gives up for good after that
    assert client._client._request_timeout_ms == 90_000
    assert client._isolation_level == "read_committed"
    await client.stop()
