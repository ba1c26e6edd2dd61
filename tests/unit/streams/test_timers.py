"""Timers: which row is due when, and the ticks that come of it."""

import asyncio
import random

import pytest
from casework import ORDER_KEY, T0, CaseWork, case, start, submission

from streams.cases import registration_key
from streams.messages import Tick
from streams.outputs import ToCase
from streams.timers import Alarm, Timers, fire

A, B, C = b"a", b"b", b"c"


def timers(**dues: int | None) -> Timers:
    made = Timers()
    for key, due in dues.items():
        made.arm(key.encode(), due)
    return made


def test_without_rows_nothing_is_due() -> None:
    empty = Timers()
    assert empty.next_ms() is None
    assert empty.take_due(10**15, 10) == []
    assert len(empty) == 0


def test_rows_are_due_in_the_order_of_their_times() -> None:
    made = timers(a=30, b=10, c=20)
    assert made.next_ms() == 10
    assert made.take_due(30, 10) == [B, C, A]
    assert made.next_ms() is None


@pytest.mark.parametrize(("now", "due"), [(9, []), (10, [B]), (19, [B]), (20, [B, C]), (30, [B, C, A])])
def test_a_row_is_due_from_its_time_on(now: int, due: list[bytes]) -> None:
    assert timers(a=30, b=10, c=20).take_due(now, 10) == due


def test_a_row_is_due_once() -> None:
    made = timers(a=10)
    assert made.take_due(10, 10) == [A]
    assert made.take_due(10, 10) == []
    assert len(made) == 0


def test_no_more_rows_are_taken_than_asked_for_the_oldest_first() -> None:
    made = timers(a=30, b=10, c=20)
    assert made.take_due(30, 2) == [B, C]
    assert made.take_due(30, 2) == [A]


@pytest.mark.parametrize("again", [5, 10, 50])
def test_a_row_that_is_armed_again_has_its_new_time_only(again: int) -> None:
    made = timers(a=10)
    made.arm(A, again)
    assert len(made) == 1
    assert made.next_ms() == again
    assert made.take_due(100, 10) == [A]
    assert made.take_due(100, 10) == []


def test_a_row_may_be_armed_back_to_a_time_that_it_had_before() -> None:
    made = timers(a=10)
    for due in (50, 10, 50, 10):
        made.arm(A, due)
    assert made.take_due(100, 10) == [A]
    assert made.take_due(100, 10) == []


def test_a_row_may_lose_its_timer() -> None:
    made = timers(a=10, b=20)
    assert made.arm(A, None) is False
    assert made.next_ms() == 20
    assert made.take_due(100, 10) == [B]
    made.arm(A, 10)
    assert made.take_due(100, 10) == [A]


def test_a_row_without_a_timer_may_lose_it_again() -> None:
    made = Timers()
    assert made.arm(A, None) is False
    assert made.next_ms() is None


def test_arming_tells_whether_the_row_is_now_the_first() -> None:
    made = Timers()
    assert made.arm(A, 20) is True
    assert made.arm(B, 30) is False
    assert made.arm(C, 10) is True
    assert made.arm(B, 5) is True


def test_rebuilding_forgets_everything_else() -> None:
    made = timers(a=10, b=20)
    made.rebuild([(C, 7), (A, 30), (B, None)])
    assert len(made) == 2
    assert made.take_due(100, 10) == [C, A]


def test_a_row_that_is_armed_a_million_times_costs_no_memory() -> None:
    made = timers(b=2_000_000)
    for due in range(20_000):
        made.arm(A, due)
    assert len(made._heap) < 5000
    assert made.take_due(3_000_000, 10) == [A, B]


def test_timers_do_what_a_plain_dictionary_would() -> None:
    random_ = random.Random(7)
    made, plain, now = Timers(), dict[bytes, int](), 0
    for _ in range(5000):
        key = str(random_.randrange(30)).encode()
        match random_.randrange(4):
            case 0 | 1:
                plain[key] = now + random_.randrange(-5, 50)
                made.arm(key, plain[key])
            case 2:
                plain.pop(key, None)
                made.arm(key, None)
            case _:
                now += random_.randrange(20)
                due = sorted((due, key) for key, due in plain.items() if due <= now)
                assert made.take_due(now, 1000) == [key for _, key in due]
                for _, key in due:
                    del plain[key]
        assert len(made) == len(plain)
        assert made.next_ms() == min(plain.values(), default=None)


# -- the alarm


class Clock:
    def __init__(self, now: int = T0) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def ready() -> bool:
    return True


async def still_waiting(task: asyncio.Task[list[ToCase]]) -> bool:
    for _ in range(5):
        await asyncio.sleep(0)
    return not task.done()


async def test_what_is_due_already_ticks_at_once() -> None:
    alarm = Alarm(Clock())
    alarm.arm({A: T0 - 5, B: T0, C: T0 + 60_000})
    assert await alarm.due(ready) == [ToCase("a", Tick(T0)), ToCase("b", Tick(T0))]


async def test_what_is_due_later_is_waited_for() -> None:
    clock = Clock()
    alarm = Alarm(clock)
    alarm.arm({A: T0 + 30})
    task = asyncio.create_task(alarm.due(ready))
    assert await still_waiting(task)
    clock.now = T0 + 30
    assert await asyncio.wait_for(task, 5) == [ToCase("a", Tick(T0 + 30))]


async def test_a_timer_that_is_armed_meanwhile_and_is_the_first_wakes_it() -> None:
    clock = Clock()
    alarm = Alarm(clock)
    alarm.arm({A: T0 + 3_600_000})
    task = asyncio.create_task(alarm.due(ready))
    assert await still_waiting(task)
    alarm.arm({B: T0})
    assert await asyncio.wait_for(task, 5) == [ToCase("b", Tick(T0))]


async def test_the_first_timer_of_all_wakes_it() -> None:
    alarm = Alarm(Clock())
    task = asyncio.create_task(alarm.due(ready))
    assert await still_waiting(task)
    alarm.arm({A: T0})
    assert await asyncio.wait_for(task, 5) == [ToCase("a", Tick(T0))]


async def test_a_timer_behind_an_entry_that_no_longer_counts_is_not_slept_over() -> None:
    clock = Clock()
    alarm = Alarm(clock)
    alarm.arm({A: T0 + 20})
    task = asyncio.create_task(alarm.due(ready))
    assert await still_waiting(task)
    alarm.arm({A: T0 + 3_600_000})  # the entry at 20 stays in the heap
    alarm.arm({B: T0 + 40})
    clock.now = T0 + 40
    assert await asyncio.wait_for(task, 5) == [ToCase("b", Tick(T0 + 40))]


async def test_nothing_ticks_before_the_worker_is_ready() -> None:
    alarm = Alarm(Clock())
    alarm.arm({A: T0 - 1})
    is_ready = False
    task = asyncio.create_task(alarm.due(lambda: is_ready))
    await asyncio.sleep(0.25)
    assert not task.done()
    is_ready = True
    assert await asyncio.wait_for(task, 5) == [ToCase("a", Tick(T0))]


async def test_a_thousand_ticks_at_once_are_enough() -> None:
    alarm = Alarm(Clock())
    alarm.arm({str(number).encode(): T0 - number for number in range(1500)})
    first, second = await alarm.due(ready), await alarm.due(ready)
    assert (len(first), len(second)) == (1000, 500)
    assert len({one.key for one in first + second}) == 1500


async def test_a_recovered_table_gives_each_row_its_timer() -> None:
    registered = CaseWork(registration_key("op-1"))
    registered.send(submission())
    watched = case(start())
    assert registered.value is not None
    assert watched.value is not None
    clock = Clock(T0 + 1000)
    alarm = Alarm(clock)
    alarm.arm({b"case/of/yesterday": T0})
    alarm.rebuild(
        [
            (ORDER_KEY.encode(), watched.value),
            (b"operation/op-1", registered.value),
            (b"case/broken", b"{"),
        ]
    )
    assert await alarm.due(ready) == [ToCase(ORDER_KEY, Tick(T0 + 1000))]
    clock.now = registered.registration.due_ms
    assert await alarm.due(ready) == [ToCase("operation/op-1", Tick(clock.now))]


async def test_ticks_that_kafka_does_not_take_end_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no longer in the heap, so they would be lost until the next start."""

    class Outbox:
        async def deliver(self, outputs: list[ToCase], stage: str) -> None:
            raise ConnectionError(f"no broker for {len(outputs)}")

    class Ended(Exception):
        pass

    def end(stage: str, error: BaseException) -> None:
        raise Ended(f"{stage}: {error}")

    monkeypatch.setattr("streams.timers.end_process", end)
    alarm = Alarm(Clock())
    alarm.arm({A: T0, B: T0})
    with pytest.raises(Ended, match="timers: no broker for 2"):
        await fire(alarm, Outbox(), ready)  # type: ignore[arg-type]
