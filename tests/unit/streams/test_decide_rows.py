"""What a case keeps and forgets, and that nothing counts twice. Times are milliseconds after the operation's start."""

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
    HOUR,
    MINUTE,
    ORDER_KEY,
    PAYPAL,
    POLICY,
    SECOND,
    T0,
    CaseWork,
    case,
    found,
    refunded,
    source,
    start,
    submission,
    verified,
)

from contracts.catalogue import Catalogue, UnknownContractError
from streams.cases import encode_row, registration_key
from streams.decide import WrongRow, decide
from streams.messages import ReadAnswered, Source, Tick
from streams.outputs import Forgotten

DEADLINE, PAYPAL_DEADLINE = 7 * DAY, 15 * MINUTE
VERIFIED, TIMEOUT = ["VERIFIED completion"], ["UNVERIFIABLE timeout"]
DUPLICATE = ["CONTRADICTED duplicate_refund_present"]


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
