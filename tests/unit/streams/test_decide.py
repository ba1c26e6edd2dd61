"""Which verdict a case comes to, and when. Times are milliseconds after the operation's start."""

from typing import Any

import pytest
from casework import (
    ABSENT,
    CAPTURE_KEY,
    CHANNEL,
    DAY,
    DOWN,
    HOUR,
    MINUTE,
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
    start,
    verified,
)

from streams.messages import Tick

DEADLINE, PAYPAL_DEADLINE = 7 * DAY, 15 * MINUTE
VERIFIED, TIMEOUT = ["VERIFIED completion"], ["UNVERIFIABLE timeout"]
DUPLICATE = ["CONTRADICTED duplicate_refund_present"]
WRONG_AMOUNT = ["CONTRADICTED refund_amount_mismatch"]


def seconds(work: CaseWork) -> list[float]:
    """When reads were asked for, in seconds after the start."""
    return [after / SECOND for after, _ in work.asked]


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


# -- after a verdict


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


def test_after_the_timeout_even_what_arrived_in_time_is_only_noted() -> None:
    """A person has been asked: nothing changes by itself, but the duplicate is there to be seen."""
    work = case(start(contract=PAYPAL), key=CAPTURE_KEY)
    work.run(PAYPAL_DEADLINE + 1)
    for number in (1, 2):
        told = work.send(refunded(HOUR, number, contract=PAYPAL, arrived=MINUTE))
        assert told.verdicts == []
        assert len(told.reviews[0]["late_evidence"]) == number


def test_a_late_repeat_or_a_late_event_of_no_interest_is_not_noted() -> None:
    work = case(start(contract=PAYPAL), refunded(MINUTE, contract=PAYPAL), key=CAPTURE_KEY)
    work.run(PAYPAL_DEADLINE + MINUTE)
    assert work.operation().verdict == "UNVERIFIABLE"
    assert work.send(refunded(HOUR, contract=PAYPAL)).outputs == []
    assert work.send(refunded(HOUR, 3, contract=PAYPAL, born="2026-03-12T15:00:00Z")).outputs == []
