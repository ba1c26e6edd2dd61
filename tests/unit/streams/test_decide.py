"""One case through time: when it reads, when it decides, what it forgets. Times are milliseconds after the start."""

import itertools
from dataclasses import replace
from typing import Any

import pytest
from casework import (
    ABSENT,
    CAPTURE_KEY,
    CATALOGUE,
    CHANNEL,
    DAY,
    DOWN,
    HOUR,
    MINUTE,
    ORDER_KEY,
    PAYPAL,
    POLICY,
    SECOND,
    T0,
    WRONG,
    CaseWork,
    at,
    case,
    found,
    refunded,
    source,
    start,
    submission,
)

from contracts.catalogue import Catalogue, UnknownContractError
from streams.cases import encode_row, registration_key
from streams.decide import WrongRow, decide
from streams.messages import ReadAnswered, Source, Tick
from streams.outputs import Forgotten
from verifiers.reads import Answer

SHOPIFY_READS = [1, 6, 16, 36, 76, *range(136, 2_177, 60)]
PAYPAL_READS = [2, 7, 17, 37, 77, 157, 317, 617]
DEADLINE, PAYPAL_DEADLINE = 7 * DAY, 15 * MINUTE
VERIFIED, TIMEOUT = ["VERIFIED completion"], ["UNVERIFIABLE timeout"]
DUPLICATE = ["CONTRADICTED duplicate_refund_present"]
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


# -- verdicts


def test_the_event_after_the_read_verifies_at_once() -> None:
    work = case(start())
    work.tick(1 * SECOND)
    assert work.answer(1500, found()).outputs == []
    told = work.send(refunded(3 * SECOND))
    assert told.said == VERIFIED
    assert told.verdicts[0]["decided_at"] == at(3 * SECOND)
    assert told.reads == []


def test_the_read_after_the_event_verifies_at_once() -> None:
    work = case(start(), refunded(500))
    assert work.asked == [(500, 1)]
    assert work.answer(700, found()).said == VERIFIED


def test_an_event_that_came_before_its_operation_waited_for_it() -> None:
    work = case(refunded(-5 * SECOND, born="2026-03-12T15:42:18Z"))
    assert work.send(start()).said == []
    assert work.asked == [(0, 1)]
    assert work.answer(200, found()).said == VERIFIED


def test_paypal_needs_its_event_too() -> None:
    work = case(start(contract=PAYPAL), key=CAPTURE_KEY)
    work.tick(2 * SECOND)
    assert work.answer(2500, found(PAYPAL)).said == []
    assert work.send(refunded(30 * SECOND, contract=PAYPAL)).said == VERIFIED


@pytest.mark.parametrize("status", ["FAILURE", "ERROR"])
def test_a_failed_transaction_fails_at_once(status: str) -> None:
    work = case(start())
    work.tick(1 * SECOND)
    assert work.answer(1500, found(status=status, amount="0.0")).said == ["FAILED transaction_failed"]
    assert work.due == DEADLINE


def test_two_refunds_contradict_before_anything_was_read() -> None:
    work = case(start(), refunded(300, 1))
    assert work.send(refunded(400, 2)).said == DUPLICATE
    assert work.operation().phase == "closed"


def test_a_delivery_again_is_no_second_refund() -> None:
    work = case(start(), refunded(300, 1), refunded(400, 1), refunded(500, 1))
    assert [one.deliveries for one in work.case.ledger.values()] == [3]
    assert work.answer(600, found()).said == VERIFIED


@pytest.mark.parametrize(
    "other",
    [
        refunded(400, 2, born="2026-03-12T15:42:17Z"),
        refunded(400, 2, born="2026-03-12T11:40:00-04:00"),
        refunded(400, 2, order="gid://shopify/Order/70"),
    ],
    ids=["born before", "born long before", "another order"],
)
def test_a_refund_before_the_start_or_of_another_order_is_no_duplicate(other: Any) -> None:
    work = case(start(), refunded(300, 1), other)
    assert work.answer(600, found()).said == VERIFIED


def test_two_operations_on_one_order_see_each_others_refunds() -> None:
    work = case(start(), start(operation_id="op-2", refund=2), refunded(300, 1))
    told = work.send(refunded(400, 2))
    assert sorted(one["operation_id"] for one in told.verdicts) == ["op-1", "op-2"]
    assert told.said == DUPLICATE * 2


def test_a_later_operation_does_not_count_the_earlier_ones_refund() -> None:
    later = {"created_at": "2026-03-12T15:42:20.000Z", "created_ms": T0 + 1800}
    work = case(start(), start(2 * SECOND, "op-2", 2, **later), refunded(3 * SECOND, 2, born="2026-03-12T15:42:21Z"))
    read = work.operation("op-2").reads[CHANNEL].made
    values = found(id="gid://shopify/Refund/2", createdAt="2026-03-12T15:42:21Z")
    assert work.answer(4 * SECOND, values, read, "op-2").said == VERIFIED


def test_a_verdict_is_published_once() -> None:
    work = case(start(), refunded(300))
    assert work.answer(600, found()).said == VERIFIED
    for message in (refunded(700), Tick(T0 + 1000), start(2000), Tick(T0 + HOUR)):
        assert work.send(message).outputs == []


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


# -- after a verdict


def verified(**fields: Any) -> CaseWork:
    work = case(start(), refunded(300), **fields)
    assert work.answer(600, found()).said == VERIFIED
    return work


def test_after_a_verdict_the_reads_stop() -> None:
    work = verified()
    assert work.due == DEADLINE
    work.run(DEADLINE)
    assert len(work.asked) == 1


def test_a_contradiction_that_becomes_true_later_supersedes() -> None:
    work = verified()
    first = work.operation().verdict_id
    told = work.send(refunded(2 * DAY, 2))
    assert told.said == DUPLICATE
    (record,) = told.verdicts
    assert (record["sequence"], record["supersedes"]) == (2, first)
    assert record["verdict_id"] != first
    assert record["do_not_retry"] is True


def test_after_failed_a_duplicate_supersedes_too() -> None:
    work = case(start())
    work.tick(1000)
    work.answer(1500, found(status="FAILURE", amount="0.0"))
    work.send(refunded(3000, 1))
    assert work.send(refunded(4000, 2)).said == DUPLICATE


def test_an_answer_under_way_at_the_verdict_may_still_contradict() -> None:
    work = case(start())
    work.tick(1000)
    work.answer(1200, found())
    work.tick(36 * SECOND)
    assert work.send(refunded(36_100)).said == VERIFIED
    told = work.answer(36_500, WRONG)
    assert told.said == WRONG_AMOUNT
    assert told.verdicts[0]["sequence"] == 2


def test_such_a_contradiction_from_within_the_window_is_read_again_first() -> None:
    work = case(start())
    work.tick(1000)
    work.answer(1200, found())
    work.tick(16 * SECOND)
    assert work.send(refunded(16_100)).said == VERIFIED
    assert work.answer(16_500, WRONG).said == []
    assert work.due == 20 * SECOND
    assert len(work.tick(20 * SECOND).reads) == 1
    assert work.answer(20_500, WRONG).said == WRONG_AMOUNT


def test_after_contradicted_nothing_changes_by_itself() -> None:
    work = case(start(), refunded(300, 1), refunded(400, 2))
    assert work.operation().verdict == "CONTRADICTED"
    work.asked.clear()
    outputs = [
        output
        for message in (refunded(500, 3), start(600), Tick(T0 + DEADLINE))
        for output in work.send(message).outputs
    ]
    assert outputs == []
    assert work.operation().sequence == 1


def test_listening_ends_at_the_deadline() -> None:
    work = verified()
    assert work.tick(DEADLINE).outputs == []
    assert work.operation().phase == "closed"
    assert work.send(refunded(DEADLINE, 2)).said == []


@pytest.mark.parametrize(("arrived", "said"), [(DEADLINE - 1, DUPLICATE), (DEADLINE, []), (DEADLINE + 1, [])])
def test_a_duplicate_counts_by_its_arrival_even_when_it_is_taken_in_after_the_deadline(
    arrived: int, said: list[str]
) -> None:
    """A worker that was down at the deadline fires its timers before it has read what arrived meanwhile."""
    work = verified()
    work.tick(DEADLINE)
    told = work.send(refunded(DEADLINE + HOUR, 2, arrived=arrived))
    assert told.said == said
    assert [one["sequence"] for one in told.verdicts] == [2] * len(said)


# -- the timeout


def test_the_timeout_is_unverifiable_and_asks_for_a_person() -> None:
    work = case(start())
    work.run(DEADLINE)
    told = work.tick(DEADLINE)
    assert told.said == TIMEOUT
    assert told.verdicts[0]["decided_at"] == at(DEADLINE)
    assert told.verdicts[0]["reason"] == "evidence_unavailable_before_timeout"
    assert [one["operation_id"] for one in told.reviews] == ["op-1"]
    assert work.operation().phase == "closed"


def test_one_millisecond_before_the_timeout_nothing_is_decided() -> None:
    work = case(start(refund=None))
    assert work.tick(DEADLINE - 1).outputs == []
    assert work.tick(DEADLINE).said == TIMEOUT


def test_the_timeout_waits_for_a_read_under_way() -> None:
    work = case(start(contract=PAYPAL), refunded(100, contract=PAYPAL), key=CAPTURE_KEY)
    work.answer(200, ABSENT)
    work.run(PAYPAL_DEADLINE - 10 * SECOND, DOWN)
    reads = work.operation().reads[CHANNEL]
    assert reads.owed is not None
    work.tick(max(reads.owed.due_ms - T0, PAYPAL_DEADLINE - 5 * SECOND))
    assert work.operation().reads[CHANNEL].asked_ms is not None
    assert work.tick(PAYPAL_DEADLINE).said == []
    assert work.answer(PAYPAL_DEADLINE + 2 * SECOND, found(PAYPAL)).said == VERIFIED


def under_way_at_the_deadline() -> CaseWork:
    """A PayPal case whose last read was asked 10 seconds before the deadline and has not answered."""
    work = case(start(PAYPAL_DEADLINE - 10 * SECOND, contract=PAYPAL), key=CAPTURE_KEY)
    assert seconds(work) == [890]
    return work


def test_it_waits_until_that_read_is_lost_and_no_longer() -> None:
    work = under_way_at_the_deadline()
    assert work.due == 890 * SECOND + POLICY.lost_after_ms
    assert work.tick(PAYPAL_DEADLINE).outputs == []
    assert work.tick(920 * SECOND - 1).outputs == []
    told = work.tick(920 * SECOND)
    assert told.said == TIMEOUT
    assert told.reads == []


def test_a_read_that_fails_after_the_deadline_is_the_end() -> None:
    work = under_way_at_the_deadline()
    work.tick(PAYPAL_DEADLINE)
    told = work.answer(905 * SECOND, DOWN)
    assert told.said == TIMEOUT
    assert told.reads == []


def test_an_operation_that_is_known_after_its_deadline_gets_one_read_and_a_verdict() -> None:
    for answer, said in (
        (found(PAYPAL), VERIFIED),
        (ABSENT, TIMEOUT),
        (found(PAYPAL, amount="6.00"), ["CONTRADICTED refund_amount_mismatch"]),
    ):
        work = case(refunded(MINUTE, contract=PAYPAL), start(HOUR, contract=PAYPAL), key=CAPTURE_KEY)
        assert seconds(work) == [3600]
        assert work.answer(HOUR + 500, answer).said == said
        work.run(2 * HOUR)
        assert len(work.asked) == 1


def test_an_operation_without_a_refund_id_ends_at_the_timeout() -> None:
    work = case(start(refund=None, contract=PAYPAL), key=CAPTURE_KEY)
    assert work.run(DAY).said == TIMEOUT
    assert work.asked == []


def test_an_event_at_the_deadline_does_not_count() -> None:
    work = case(start(contract=PAYPAL), key=CAPTURE_KEY)
    work.run(PAYPAL_DEADLINE, found(PAYPAL))
    assert work.send(refunded(PAYPAL_DEADLINE, contract=PAYPAL)).said == TIMEOUT


def test_late_evidence_is_noted_on_the_review_and_changes_nothing() -> None:
    work = case(start(contract=PAYPAL), key=CAPTURE_KEY)
    work.run(PAYPAL_DEADLINE + 1)
    told = work.send(refunded(HOUR, contract=PAYPAL, arrived=30 * MINUTE))
    assert told.verdicts == []
    (review,) = told.reviews
    late = f"PAYMENT.CAPTURE.REFUNDED of R1, created at 2026-03-12T15:42:18Z, arrived at {at(30 * MINUTE)}"
    assert review["late_evidence"] == [late]
    assert review["updated_at"] == at(HOUR)
    told = work.send(refunded(2 * HOUR, 2, contract=PAYPAL, born="2026-03-12T15:43:00Z"))
    assert [one[:30] for one in told.reviews[0]["late_evidence"]] == [
        "PAYMENT.CAPTURE.REFUNDED of R1",
        "PAYMENT.CAPTURE.REFUNDED of R2",
    ]
    assert work.operation().sequence == 1


def test_a_late_repeat_or_a_late_event_of_no_interest_is_not_noted() -> None:
    work = case(start(contract=PAYPAL), refunded(MINUTE, contract=PAYPAL), key=CAPTURE_KEY)
    work.run(PAYPAL_DEADLINE + MINUTE)
    assert work.operation().verdict == "UNVERIFIABLE"
    assert work.send(refunded(HOUR, contract=PAYPAL)).outputs == []
    assert work.send(refunded(HOUR, 3, contract=PAYPAL, born="2026-03-12T15:00:00Z")).outputs == []


# -- forgetting


def test_a_case_is_forgotten_when_it_is_over_for_long() -> None:
    work = verified()
    work.tick(DEADLINE)
    forget = DEADLINE + POLICY.keep_ms + DAY
    assert work.due == forget
    assert work.tick(forget - 1).outputs == []
    assert work.value is not None
    assert work.tick(forget).outputs == []
    assert work.value is None


def test_an_operation_under_observation_is_never_forgotten() -> None:
    work = verified()
    for after in range(0, 7 * DAY, 12 * HOUR):
        work.tick(after)
    assert work.operation().phase == "listening"
    assert len(work.case.ledger) == 1


def test_an_event_that_nobody_wants_is_dropped_after_it_has_waited() -> None:
    work = case(refunded(0))
    assert work.due == POLICY.keep_ms
    assert work.tick(POLICY.keep_ms - 1).outputs == []
    assert work.tick(POLICY.keep_ms).outputs == [Forgotten(1)]
    assert work.value is None


def test_an_event_waits_from_when_it_was_taken_in_and_not_from_its_arrival() -> None:
    """After an outage of four days, webhooks may be read before the operations that they belong to."""
    work = case(refunded(4 * DAY, arrived=MINUTE))
    assert len(work.case.ledger) == 1
    work.send(start(4 * DAY + SECOND))
    assert len(work.case.ledger) == 1
    assert work.operation().counted > 0


def test_an_event_of_another_order_time_is_dropped_and_a_counted_one_stays() -> None:
    work = case(start(), refunded(100, 1), refunded(200, 9, born="2026-03-12T15:00:00Z"))
    told = work.tick(POLICY.keep_ms + 200)
    assert Forgotten(1) in told.outputs
    assert list(work.case.ledger) == ["REFUNDS_CREATE gid://shopify/Refund/1"]


def test_a_duplicate_is_seen_however_long_the_first_refund_has_been_there() -> None:
    work = verified()
    work.run(6 * DAY)
    assert work.send(refunded(6 * DAY, 2)).said == DUPLICATE


def test_an_operation_that_is_known_after_events_may_have_been_dropped_is_never_verified() -> None:
    """Refund 2 waited for three days and went; refund 1 alone would look like the only one."""
    work = case(refunded(12 * HOUR, 2), refunded(36 * HOUR, 1))
    assert Forgotten(1) in work.tick(12 * HOUR + POLICY.keep_ms).outputs
    told = work.send(start(4 * DAY))
    assert told.said == []
    told = work.answer(4 * DAY + 500, found())
    assert told.said == []
    assert work.run(DEADLINE + MINUTE).said == TIMEOUT


def test_an_operation_that_is_known_just_in_time_may_be_verified() -> None:
    work = case(refunded(12 * HOUR, 1), start(POLICY.keep_ms))
    assert work.answer(POLICY.keep_ms + 500, found()).said == VERIFIED


def test_an_operation_that_is_known_late_may_be_contradicted() -> None:
    work = case(refunded(3 * DAY, 1), refunded(3 * DAY, 2))
    assert work.send(start(4 * DAY)).said == DUPLICATE


def test_a_start_that_comes_when_its_operation_may_have_been_forgotten_starts_nothing() -> None:
    """Its verdict would bear the id of the one that the operation got before it was forgotten."""
    for after in (POLICY.keep_ms + 15 * MINUTE, 5 * DAY):
        work = CaseWork(CAPTURE_KEY)
        assert work.send(start(after, contract=PAYPAL)).outputs == []
        assert work.value is None


# -- repeats and crashes


def test_a_delivery_that_is_forwarded_again_is_not_even_a_repeat() -> None:
    first = refunded(300, at_source=Source("webhooks", 0, 10))
    work = case(start(), first)
    for again in (
        first,
        refunded(400, at_source=Source("webhooks", 0, 10)),
        refunded(400, 2, at_source=Source("webhooks", 0, 9)),
    ):
        assert work.send(again).outputs == []
    (recorded,) = work.case.ledger.values()
    assert recorded.deliveries == 1
    assert work.case.sources["webhooks/0"] == 10


def test_the_same_offset_of_another_partition_or_topic_is_another_delivery() -> None:
    work = case(start())
    for number, place in enumerate((Source("webhooks", 0, 10), Source("webhooks", 1, 10), Source("other", 0, 10)), 1):
        work.send(refunded(300, at_source=place))
        assert next(iter(work.case.ledger.values())).deliveries == number


def test_a_start_that_is_handed_over_again_changes_nothing() -> None:
    message = start()
    work = case(message)
    before = work.value
    assert work.send(message).outputs == []
    assert work.value == before


def test_a_start_merges_what_the_action_came_to() -> None:
    work = case(start(refund=None))
    work.send(start(500))
    assert work.operation().action == {"$action.result.refundCreate.refund.id": "gid://shopify/Refund/1"}
    work.send(start(600, refund=None))
    assert work.operation().action == {"$action.result.refundCreate.refund.id": "gid://shopify/Refund/1"}


def test_the_order_in_which_deliveries_of_one_refund_are_taken_in_does_not_matter() -> None:
    """One arrived in time, its repeat did not; they lie in two partitions."""
    known = PAYPAL_DEADLINE + HOUR
    deliveries = [
        refunded(known, contract=PAYPAL, arrived=PAYPAL_DEADLINE + apart, at_source=source(partition=partition))
        for partition, apart in enumerate((-MINUTE, MINUTE))
    ]
    said = []
    for order in itertools.permutations(deliveries):
        work = case(start(known, contract=PAYPAL), *order, key=CAPTURE_KEY)
        said.append(work.answer(known + 500, found(PAYPAL)).said)
    assert said == [VERIFIED, VERIFIED]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_order_of_operation_events_and_read_does_not_change_the_verdict(order: tuple[int, ...]) -> None:
    messages = [start(100), *(refunded(100, one, at_source=source(partition=one)) for one in (1, 2))]
    work = case(*(messages[one] for one in order))
    assert [
        f"{one.record['verdict']} {one.record['rule']}" for one in work.told if hasattr(one, "verdict_id")
    ] == DUPLICATE


def test_time_that_goes_backwards_between_messages_harms_nothing() -> None:
    work = case(start(60 * SECOND))
    work.answer(61 * SECOND, ABSENT)
    work.send(refunded(30 * SECOND))
    work.tick(10 * SECOND)
    work.answer(62 * SECOND, found())
    assert work.operation().verdict == "VERIFIED"


# -- rows and keys


def test_an_empty_case_is_no_row() -> None:
    work = CaseWork()
    assert work.tick(0).outputs == []
    assert work.value is None


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (ORDER_KEY, submission()),
        ("operation/op-2", submission()),
        (registration_key("op-1"), start()),
        (registration_key("op-1"), refunded(0)),
        (registration_key("op-1"), ReadAnswered(T0, "op-1", CHANNEL, 1, T0, ABSENT)),
        ("operation/", start()),
        ("other/op-1", start()),
        ("", start()),
        ("", Tick(T0)),
        ("case", Tick(T0)),
    ],
)
def test_a_message_that_does_not_belong_to_its_key_is_refused(key: str, message: Any) -> None:
    with pytest.raises(WrongRow):
        decide(key, None, message, source("cases"), CATALOGUE, POLICY)


def test_rows_are_not_mistaken_for_one_another() -> None:
    registered = CaseWork(registration_key("op-1"))
    registered.send(submission())
    watched = case(start())
    with pytest.raises(WrongRow):
        decide(ORDER_KEY, registered.row, start(), source("cases"), CATALOGUE, POLICY)
    with pytest.raises(WrongRow):
        decide(registration_key("op-1"), watched.row, submission(), source("cases"), CATALOGUE, POLICY)


def test_an_operation_of_an_unknown_contract_is_refused() -> None:
    with pytest.raises(UnknownContractError):
        CaseWork().send(start(version="9.9.9"))


def test_an_operation_whose_contract_is_gone_does_not_hold_up_the_others() -> None:
    work = case(start(), start(operation_id="op-2"))
    row = work.case
    row.operations["op-2"].intent = start(version="9.9.9").intent
    work.value = encode_row(row)
    work.send(refunded(300))
    assert work.answer(600, found()).said == VERIFIED
    assert work.operation("op-2").phase == "observing"


def test_an_operation_whose_contract_is_gone_still_has_a_timer_for_when_it_is_back() -> None:
    work = case(start(refund=None))
    work.catalogue = Catalogue()
    work.tick(1 * SECOND)
    assert work.due is not None
    work.catalogue = CATALOGUE
    assert work.run(DEADLINE + 2 * HOUR).said == TIMEOUT


# -- room


def test_a_case_holds_no_more_operations_than_its_row_has_room_for() -> None:
    """A producer that tries again for ever, each time as a new operation, must not end the worker."""
    work = case(start())
    work.tick(1 * SECOND)
    work.answer(1200, found())
    row = work.case
    one = row.operations["op-1"]
    row.operations = {f"op-{number}": replace(one, operation_id=f"op-{number}") for number in range(3000)}
    with pytest.raises(ValueError, match="case"):
        decide(ORDER_KEY, row, start(2 * SECOND, "op-new"), source("cases"), CATALOGUE, POLICY)


def test_a_case_holds_no_more_events_than_its_row_has_room_for() -> None:
    row = case(refunded(0)).case
    (one,) = row.ledger.values()
    row.ledger = {f"REFUNDS_CREATE {number}": one for number in range(3000)}
    with pytest.raises(ValueError, match="case"):
        decide(ORDER_KEY, row, refunded(1, 2), source("cases"), CATALOGUE, POLICY)
