"""What the watchdog takes for standing still, and what it does not."""

from dataclasses import replace

from aiokafka import TopicPartition

from streams.transport.watchdog import Look, Offsets, Patience

CASES = TopicPartition("cases", 3)
QUIET = Look(generation=1, rebalancing=False, recovering=False, recovered=0, unfinished=[CASES], delivery=None)
WORKED_OFF = Offsets({CASES: 7}, {CASES: 7})
WAITING = Offsets({CASES: 7}, {CASES: 9})


class Watched:
    """A worker that is looked at every second."""

    def __init__(self) -> None:
        self.patience = Patience(timeout_s=10, longest_look_s=2)
        self.beats = 0

    def after(self, looks: int, look: Look, offsets: Offsets | None, passed_s: float = 1, beats: int = 1) -> str | None:
        said = None
        for _ in range(looks):
            self.beats += beats
            said = said or self.patience.judge(look, self.beats, offsets, passed_s)
        return said


def test_a_worker_without_work_is_left_alone() -> None:
    assert Watched().after(1000, QUIET, WORKED_OFF) is None


def test_no_commit_although_records_wait_is_a_stall() -> None:
    watched = Watched()

    assert watched.after(10, QUIET, WAITING) is None
    assert watched.after(1, QUIET, WAITING) == (
        "nothing was committed on cases/3, although records wait there, for 10 s"
    )


def test_a_commit_or_an_empty_backlog_starts_the_time_again() -> None:
    watched = Watched()

    assert watched.after(9, QUIET, WAITING) is None
    assert watched.after(9, QUIET, Offsets({CASES: 8}, {CASES: 9})) is None
    assert watched.after(1, QUIET, WORKED_OFF) is None
    assert watched.after(9, QUIET, WAITING) is None


def test_a_partition_of_somebody_else_is_not_watched() -> None:
    assert Watched().after(100, replace(QUIET, unfinished=[]), WAITING) is None


def test_while_kafka_does_not_answer_nothing_of_kafka_stands_still() -> None:
    watched = Watched()
    hung = replace(QUIET, delivery=5)

    assert watched.after(9, hung, WAITING) is None
    assert watched.after(100, hung, None) is None
    assert watched.after(10, hung, WAITING) is None
    assert watched.after(1, hung, WAITING) is not None


def test_a_delivery_that_is_not_acknowledged_is_a_stall_but_a_busy_producer_is_not() -> None:
    busy, hung = Watched(), Watched()

    assert not any(busy.after(1, replace(QUIET, delivery=number), WORKED_OFF) for number in range(100))
    assert hung.after(11, replace(QUIET, delivery=4), WORKED_OFF) == (
        "a delivery to Kafka has not been acknowledged for 10 s"
    )


def test_a_recovery_may_take_long_but_must_move() -> None:
    moving, still = Watched(), Watched()

    assert not any(moving.after(1, replace(QUIET, recovering=True, recovered=one), WAITING) for one in range(100))
    assert still.after(11, replace(QUIET, recovering=True, recovered=9), WAITING) == (
        "the recovery of the table has not moved for 10 s"
    )


def test_a_rebalance_must_end_but_the_next_one_is_another() -> None:
    several, endless = Watched(), Watched()

    assert not any(several.after(5, replace(QUIET, rebalancing=True, generation=one), WAITING) for one in range(20))
    assert endless.after(11, replace(QUIET, rebalancing=True), WAITING) == "a rebalance has not ended for 10 s"


def test_an_event_loop_that_does_not_come_round_is_a_stall_whether_kafka_answers_or_not() -> None:
    said = Watched().after(11, QUIET, None, beats=0)

    assert said == "the event loop has not come round for 10 s"


def test_a_process_that_was_paused_has_not_stood_still() -> None:
    watched = Watched()

    assert watched.after(1, QUIET, WAITING, passed_s=1) is None
    assert watched.after(1, QUIET, WAITING, passed_s=3600, beats=0) is None
