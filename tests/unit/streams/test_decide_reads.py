"""When a case reads its provider. Times are milliseconds after the operation's start."""

import pytest
from casework import (
    ABSENT,
    CAPTURE_KEY,
    CHANNEL,
    DAY,
    DOWN,
    HOUR,
    MINUTE,
    ORDER_KEY,
    PAYPAL,
    SECOND,
    T0,
    WRONG,
    CaseWork,
    at,
    case,
    found,
    refunded,
    start,
)

from streams.messages import ReadAnswered
from verifiers.reads import Answer

SHOPIFY_READS = [1, 6, 16, 36, 76, *range(136, 2_177, 60)]
PAYPAL_READS = [2, 7, 17, 37, 77, 157, 317, 617]
DEADLINE, PAYPAL_DEADLINE = 7 * DAY, 15 * MINUTE
VERIFIED, TIMEOUT = ["VERIFIED completion"], ["UNVERIFIABLE timeout"]
WRONG_AMOUNT = ["CONTRADICTED refund_amount_mismatch"]


def seconds(work: CaseWork) -> list[float]:
    """When reads were asked for, in seconds after the start."""
    return [after / SECOND for after, _ in work.asked]


# -- the schedule


def test_a_shopify_refund_that_never_shows_is_read_forty_times_and_then_only_listened_for() -> None:
    work = case(start())
    told = work.run(DEADLINE)
    assert seconds(work) == SHOPIFY_READS
    assert [attempt for _, attempt in work.asked] == list(range(1, 41))
    assert told.verdicts == []
    assert work.due == DEADLINE


def test_a_paypal_refund_that_never_shows_is_read_eight_times() -> None:
    work = case(start(contract=PAYPAL), key=CAPTURE_KEY)
    work.run(PAYPAL_DEADLINE)
    assert seconds(work) == PAYPAL_READS
    assert work.due == PAYPAL_DEADLINE


def test_a_read_names_the_operation_the_channel_and_what_it_needs() -> None:
    (read,) = case(start()).tick(1 * SECOND).reads
    assert read.operation_id == "op-1"
    assert read.case_key == ORDER_KEY
    assert (read.contract, read.version, read.connection) == ("shopify.refund.created", "1.0.0", "acme")
    assert (read.channel, read.attempt, read.asked_ms) == (CHANNEL, 1, T0 + 1000)
    assert read.inputs == {"id": "gid://shopify/Refund/1"}


@pytest.mark.parametrize("early", [0, 1, 500, 999])
def test_a_timer_that_fires_early_means_nothing(early: int) -> None:
    work = case(start())
    assert work.tick(early).outputs == []
    assert work.due == 1 * SECOND


def test_a_timer_that_fires_again_means_nothing() -> None:
    work = case(start())
    assert len(work.tick(1000).reads) == 1
    assert work.tick(1000).outputs == []
    assert work.tick(1001).outputs == []


@pytest.mark.parametrize(
    ("known", "asked", "then"),
    [
        (0, None, 1),
        (999, None, 1),
        (1_000, 1.0, 6),
        (5_999, 5.999, 6),
        (6_000, 6.0, 16),
        (20_000, 20.0, 36),
        (35 * MINUTE, 2100.0, 2116),
        (2_176_000, 2176.0, None),
        (2 * HOUR, 7200.0, None),
        (2 * DAY, 172_800.0, None),
    ],
)
def test_reads_that_fell_due_before_the_operation_was_known_are_made_once_at_once(
    known: int, asked: float | None, then: float | None
) -> None:
    work = case(start(known))
    assert seconds(work) == ([] if asked is None else [asked])
    if asked is not None:
        work.answer(known, ABSENT)
    assert work.due == (DEADLINE if then is None else then * SECOND)


def test_reads_that_were_missed_in_an_outage_are_made_once() -> None:
    work = case(start())
    assert len(work.tick(90 * SECOND).reads) == 1
    work.answer(91 * SECOND, ABSENT)
    assert work.due == 136 * SECOND


def test_an_operation_of_the_future_is_read_when_its_time_has_come() -> None:
    work = case(start(-12 * HOUR))
    assert work.asked == []
    assert work.due == 1 * SECOND


def test_without_the_refunds_id_nothing_is_read_and_with_it_the_missed_reads_are_made_once() -> None:
    work = case(start(refund=None))
    assert work.due == DEADLINE
    assert work.tick(10 * SECOND).outputs == []
    assert [one.inputs for one in work.send(start(20 * SECOND)).reads] == [{"id": "gid://shopify/Refund/1"}]
    work.answer(21 * SECOND, ABSENT)
    assert work.due == 36 * SECOND


def test_no_read_is_made_while_one_is_under_way() -> None:
    work = case(start())
    work.tick(1 * SECOND)
    for after in (6, 16, 30):
        assert work.tick(after * SECOND).reads == []


# -- lost reads


def test_a_lost_read_is_asked_again_under_the_same_number() -> None:
    work = case(start())
    work.tick(1 * SECOND)
    assert work.due == 31 * SECOND
    assert work.tick(31 * SECOND - 1).reads == []
    (again,) = work.tick(31 * SECOND).reads
    assert (again.attempt, again.asked_ms) == (1, T0 + 31 * SECOND)
    # what fell due meanwhile, after 6 and 16 seconds, is made as one read
    assert [one.attempt for one in work.answer(32 * SECOND, ABSENT).reads] == [2]
    work.answer(33 * SECOND, ABSENT)
    assert work.due == 36 * SECOND


def test_reads_that_stay_lost_are_asked_again_ever_more_rarely() -> None:
    work = case(start())
    work.run(20 * MINUTE, answers=None)
    assert seconds(work) == [1, 31, 91, 211, 451, 931]
    assert {attempt for _, attempt in work.asked} == {1}


def test_one_answer_of_a_read_counts_and_a_second_one_does_not() -> None:
    work = case(start())
    work.tick(1 * SECOND)
    work.tick(31 * SECOND)
    work.answer(32 * SECOND, found(), attempt=1)
    assert work.operation().reads[CHANNEL].evidence is not None
    assert work.answer(33 * SECOND, WRONG, attempt=1).outputs == []
    evidence = work.operation().reads[CHANNEL].evidence
    assert evidence is not None
    assert evidence.values["$observed.refund_readback.data.refund.totalRefundedSet.shopMoney.amount"] == "42.5"


@pytest.mark.parametrize("attempt", [0, 2, 99])
def test_an_answer_of_another_attempt_is_ignored(attempt: int) -> None:
    work = case(start())
    work.tick(1 * SECOND)
    assert work.answer(2 * SECOND, WRONG, attempt=attempt).outputs == []
    assert work.operation().reads[CHANNEL].evidence is None


def test_an_answer_for_nobody_changes_nothing() -> None:
    work = case(start())
    before = work.value
    for message in (
        ReadAnswered(T0 + 5, "op-2", CHANNEL, 1, T0, found()),
        ReadAnswered(T0 + 5, "op-1", "refund_events", 1, T0, found()),
        ReadAnswered(T0 + 5, "op-1", "nothing", 1, T0, found()),
        ReadAnswered(T0 + 5, "op-1", CHANNEL, 0, T0, found()),
    ):
        assert work.send(message).outputs == []
    assert work.operation() == CaseWork(value=before).operation()
    assert CaseWork().send(ReadAnswered(T0, "op-1", CHANNEL, 1, T0, found())).outputs == []


@pytest.mark.parametrize("error", ["unauthorized", "not_found", "rate_limited", "server_error", "timeout", "not_json"])
def test_an_error_is_no_evidence_and_the_next_read_keeps_its_time(error: str) -> None:
    work = case(start())
    work.tick(1 * SECOND)
    assert work.answer(1500, Answer(None, error, "why")).outputs == []
    reads = work.operation().reads[CHANNEL]
    assert reads.evidence is None
    assert reads.last is not None
    assert (reads.last.error, reads.last.detail) == (error, "why")
    assert work.due == 6 * SECOND


def test_an_error_does_not_take_back_what_was_read_before() -> None:
    work = case(start())
    work.tick(1 * SECOND)
    work.answer(1500, found())
    work.tick(6 * SECOND)
    work.answer(6500, DOWN)
    assert work.send(refunded(7 * SECOND)).said == VERIFIED


# -- the read that an event makes due


def test_an_event_makes_one_read_due_at_once_while_a_condition_on_reads_does_not_hold() -> None:
    work = case(start())
    work.run(2 * SECOND)
    assert [one.attempt for one in work.send(refunded(3 * SECOND)).reads] == [2]


def test_a_repeat_makes_no_read_due() -> None:
    work = case(start())
    work.run(2 * SECOND)
    work.send(refunded(3 * SECOND))
    work.answer(3500, ABSENT)
    assert work.send(refunded(4 * SECOND)).reads == []


def test_an_event_that_does_not_count_makes_no_read_due() -> None:
    work = case(start())
    work.run(2 * SECOND)
    assert work.send(refunded(3 * SECOND, 9, born="2026-03-12T15:40:00Z")).reads == []


def test_an_event_after_the_reads_ran_out_makes_one_more_read_due_at_once() -> None:
    work = case(start())
    work.run(2 * HOUR)
    assert len(work.asked) == 40
    assert [one.attempt for one in work.send(refunded(3 * HOUR)).reads] == [41]
    assert work.answer(3 * HOUR + 500, found()).said == VERIFIED


def test_that_read_is_tried_again_after_an_error_ever_more_rarely() -> None:
    work = case(start())
    work.run(2 * HOUR)
    work.send(refunded(3 * HOUR))
    work.answer(3 * HOUR + 200, DOWN)
    told = work.run(3 * HOUR + 3 * MINUTE, DOWN)
    asked = [after - 3 * HOUR for after, _ in work.asked[40:]]
    # 5, 10, 20 and 40 seconds after the answer before, each of which takes 200 ms
    assert asked == [0, 5_200, 15_400, 35_600, 75_800, 156_000]
    assert told.verdicts == []


def test_scheduled_reads_that_fail_meanwhile_do_not_put_it_off_for_days() -> None:
    """A provider that comes back is read again after no longer than it was away."""
    work = case(start())
    work.run(10 * SECOND, DOWN)
    work.send(refunded(10 * SECOND))
    work.answer(10_200, DOWN)
    told = work.run(DEADLINE, lambda asked: DOWN if asked < 40 * MINUTE else found())
    assert told.said == VERIFIED
    assert told.verdicts[0]["decided_at"] <= at(2 * 40 * MINUTE + MINUTE)


def test_a_good_answer_ends_what_an_event_made_due() -> None:
    work = case(start())
    work.run(2 * HOUR)
    work.send(refunded(3 * HOUR))
    work.answer(3 * HOUR + 200, found(createdAt=None))
    assert work.due == DEADLINE


def test_a_read_that_was_asked_before_the_event_does_not_stand_for_the_one_it_makes_due() -> None:
    work = case(start())
    work.tick(1 * SECOND)
    assert work.send(refunded(1200)).reads == []
    assert [one.attempt for one in work.answer(1500, found(createdAt=None)).reads] == [2]


def test_neither_does_one_that_was_asked_before_the_event_and_fails() -> None:
    work = case(start())
    work.tick(1 * SECOND)
    work.send(refunded(1200))
    assert [one.attempt for one in work.answer(1500, ABSENT).reads] == [2]


def test_an_event_does_not_wait_for_reads_that_were_lost() -> None:
    work = case(start())
    work.run(20 * MINUTE, answers=None)
    assert work.due == (931 + 960) * SECOND
    assert len(work.send(refunded(20 * MINUTE)).reads) == 1


# -- the stale-read window


def test_a_contradiction_within_the_window_is_read_again_right_after_it() -> None:
    work = case(start())
    told = work.run(20 * SECOND, WRONG)
    assert told.verdicts == []
    assert seconds(work) == [1, 6, 16]
    assert work.due == 20 * SECOND
    work.tick(20 * SECOND)
    told = work.answer(20_300, WRONG)
    assert told.said == WRONG_AMOUNT
    assert told.verdicts[0]["decided_at"] == at(20_300)


def test_a_contradiction_that_heals_within_the_window_is_none() -> None:
    work = case(start(), refunded(300))
    work.answer(500, WRONG)
    told = work.run(2 * MINUTE, lambda asked: WRONG if asked < 6 * SECOND else found())
    assert told.said == VERIFIED
    assert told.verdicts[0]["decided_at"] == at(6 * SECOND + 200)


def test_a_re_read_that_heals_is_no_contradiction() -> None:
    work = case(start())
    told = work.run(HOUR, lambda asked: WRONG if asked < 20 * SECOND else found())
    assert told.verdicts == []
    assert work.send(refunded(HOUR)).said == VERIFIED


def test_a_read_of_the_last_moment_of_the_window_is_stale_and_one_at_its_end_is_not() -> None:
    for known, said in ((19_999, []), (20_000, WRONG_AMOUNT)):
        work = case(start(known))
        assert seconds(work) == [known / SECOND]
        assert work.answer(known + 100, WRONG).said == said


def test_a_read_that_was_asked_within_the_window_is_stale_whenever_it_answers() -> None:
    work = case(start())
    work.tick(16 * SECOND)
    told = work.answer(25 * SECOND, WRONG)
    assert told.said == []
    assert [one.attempt for one in told.reads] == [2]
    assert work.answer(26 * SECOND, WRONG).said == WRONG_AMOUNT


def test_a_failed_re_read_is_tried_again() -> None:
    work = case(start())
    told = work.run(30 * SECOND, lambda asked: WRONG if asked < 25 * SECOND and asked != 20 * SECOND else DOWN)
    assert seconds(work) == [1, 6, 16, 20, 25.2]
    assert told.verdicts == []


def test_the_re_read_counts_as_an_attempt() -> None:
    work = case(start())
    work.run(2 * DAY, lambda asked: WRONG if asked < 20 * SECOND else found())
    assert seconds(work) == sorted([*SHOPIFY_READS[:39], 20])


def test_re_reads_that_fail_do_not_use_more_attempts_than_there_are() -> None:
    work = case(start())
    told = work.run(DEADLINE, lambda asked: WRONG if asked < 20 * SECOND else DOWN)
    assert told.verdicts == []
    assert len(work.asked) <= 40


def test_a_contradiction_that_stays_provisional_is_no_contradiction_at_the_timeout() -> None:
    work = case(start())
    told = work.run(DEADLINE + MINUTE, lambda asked: WRONG if asked < 20 * SECOND else DOWN)
    assert told.said == TIMEOUT


def test_an_event_does_not_turn_a_provisional_contradiction_into_a_final_one() -> None:
    work = case(start())
    work.tick(1 * SECOND)
    work.answer(1500, WRONG)
    told = work.send(refunded(2 * SECOND))
    assert told.said == []
