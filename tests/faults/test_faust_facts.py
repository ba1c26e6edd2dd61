"""What Faust 0.15 does on the paths that concern us, shown on Faust itself; and that the transport does not do it.

When one of these fails after an upgrade, Faust has changed: look whether the transport's own way is still needed.
"""

import asyncio
import contextlib
from typing import Any

import faust
import pytest
from faust.transport.consumer import Consumer
from faust.transport.drivers.aiokafka import Consumer as StockConsumer
from faust.types import TP, Message

from streams.transport.batch import BatchConsumer, BatchTransport
from streams.transport.fatal import EXIT_CODE, fatal
from streams.transport.membership import Membership

PARTITION = TP("source", 0)


async def nothing(*_: Any) -> None: ...


def consumer_of(transport: Any) -> Any:
    return transport.create_consumer(callback=nothing, on_partitions_revoked=nothing, on_partitions_assigned=nothing)


@pytest.fixture
def app() -> faust.App:
    return faust.App("test", broker="kafka://127.0.0.1:1", store="memory://", autodiscover=False)


@pytest.fixture
def stock(app: faust.App) -> Any:
    return consumer_of(app.transport)


@pytest.fixture
def ours(app: faust.App) -> Any:
    return consumer_of(BatchTransport(app, ["source"], Membership(30.0)))


@pytest.mark.parametrize(("committed", "acked", "commits"), [(10, [11], 12), (0, [5, 6], 7), (None, [7], 8)])
def test_faust_commits_past_an_event_that_is_still_in_work(
    stock: Any, ours: Any, committed: int | None, acked: list[int], commits: int
):
    for one in (stock, ours):
        one._committed_offset[PARTITION] = committed
    stock._acked[PARTITION] = list(acked)
    assert stock._new_offset(PARTITION) == commits  # the event before was not acknowledged

    in_work, *done = (message(offset) for offset in (acked[0] - 1, *acked))
    ours._handed_out[PARTITION].extend([in_work, *done])
    for one in done:
        ours.ack(one)
    assert ours._new_offset(PARTITION) is None


def test_faust_takes_no_acknowledgement_below_what_is_committed(stock: Any, ours: Any, app: faust.App):
    app.topics._acking_topics.add("source")  # type: ignore[attr-defined]
    for one in (stock, ours):
        one._committed_offset[PARTITION] = 10
    again = message(9)
    assert stock.ack(again) is False
    assert 9 not in stock._acked_index[PARTITION]

    again = message(9)
    ours._handed_out[PARTITION].append(again)
    assert ours.ack(again) is True
    assert ours._new_offset(PARTITION) == 10


async def test_faust_leaves_a_partition_without_a_commit_where_it_is(
    stock: Any, ours: Any, monkeypatch: pytest.MonkeyPatch
):
    sought: list[Any] = []

    async def committed() -> dict[TP, int | None]:
        return {PARTITION: None}

    async def earliest(*tps: TP) -> dict[TP, int]:
        return dict.fromkeys(tps, 3)

    async def seek(tp: TP, offset: int) -> None:
        sought.append((tp, offset))

    for one in (stock, ours):
        monkeypatch.setattr(one, "seek_to_committed", committed)
        monkeypatch.setattr(one, "earliest_offsets", earliest)
        monkeypatch.setattr(one, "_seek", seek)
    await stock.perform_seek()
    assert sought == []
    await ours.perform_seek()
    assert sought == [(PARTITION, 3)]


async def test_faust_counts_a_commit_that_failed_as_committed(stock: Any, monkeypatch: pytest.MonkeyPatch):
    async def fails(_: Any) -> bool:
        return False

    class Flushed:
        async def flush(self) -> None: ...

    monkeypatch.setattr(stock, "_commit", fails)
    monkeypatch.setattr(stock, "assignment", lambda: {PARTITION})
    monkeypatch.setattr(type(stock.app), "producer", Flushed())
    assert await stock._commit_offsets({PARTITION: 7}) is False
    assert stock._committed_offset[PARTITION] == 7  # costs a repeat after a crash, and no record: the batch was done


async def test_faust_empties_the_streams_queues_when_it_resumes_them(app: faust.App):
    queue: Any = app.FlowControlQueue(maxsize=10, clear_on_resume=True)
    app.flow_control.resume()
    queue.put_nowait("a batch that was handed out just before")
    app.flow_control.suspend()
    app.flow_control.resume()
    assert queue.empty()


async def test_the_flush_before_faust_commits_is_no_barrier(app: faust.App, monkeypatch: pytest.MonkeyPatch):
    producer = app.producer
    monkeypatch.setattr(type(producer.buffer), "state", "running")
    stalled = asyncio.Event()

    async def send_pending(_: Any) -> None:
        await stalled.wait()

    producer.buffer.send_pending = send_pending  # type: ignore[assignment, method-assign]
    for number in range(3):
        producer.buffer.pending.put_nowait(number)  # type: ignore[arg-type]
    async with asyncio.timeout(5):
        await producer.buffer.flush_atmost(3)
    assert producer.buffer.size == 3, "nothing was sent, and the commit would go on"


def test_our_stages_end_the_process_where_faust_would_acknowledge_and_go_on(monkeypatch: pytest.MonkeyPatch):
    ended: list[int] = []

    def end(code: int) -> None:
        ended.append(code)
        raise SystemExit(code)

    monkeypatch.setattr("os._exit", end)
    with contextlib.suppress(SystemExit), fatal("decide"):
        raise ValueError("not acknowledged")
    assert ended == [EXIT_CODE]


def test_the_transport_overrides_what_is_shown_here():
    for name in ("_new_offset", "perform_seek", "ack", "_drain_messages", "resume_flow"):
        assert getattr(BatchConsumer, name) is not getattr(StockConsumer, name)
        assert hasattr(Consumer, name), f"Faust has no {name} any more"


def message(offset: int) -> Message:
    return Message("source", 0, offset, 0.0, 0, [], None, None, None, tp=PARTITION)
