"""The registration of an operation: one id means one thing."""

from dataclasses import replace
from typing import Any

import pytest
from casework import (
    CATALOGUE,
    DAY,
    MINUTE,
    ORDER_KEY,
    PAYPAL,
    POLICY,
    T0,
    CaseWork,
    Told,
    action,
    intent,
    source,
    start,
    submission,
)

from contracts.catalogue import UnknownContractError
from streams.cases import registration_key
from streams.decide import decide
from streams.messages import OriginalRecord, Source, Start, Tick
from streams.outputs import Refused, ToCase
from streams.registration import pack_bytes, pack_record, unpack_bytes

KEY = registration_key("op-1")
REFUND = {"$action.result.refundCreate.refund.id": "gid://shopify/Refund/1"}
PAYPAL_END = 15 * MINUTE


def registered(*messages: Any) -> CaseWork:
    work = CaseWork(KEY)
    for message in messages:
        work.send(message)
    return work


def handed_over(told: Told) -> Start:
    (output,) = told.outputs
    assert isinstance(output, ToCase), output
    assert output.key == ORDER_KEY
    assert isinstance(output.message, Start)
    return output.message


def refusal(told: Told) -> tuple[str, str]:
    (output,) = told.outputs
    assert isinstance(output, Refused), output
    assert output.stage == "decide"
    return output.class_, output.reason


def test_a_new_operation_is_registered_and_handed_over_to_its_case() -> None:
    work = CaseWork(KEY)
    message = handed_over(work.send(submission(500)))
    assert (message.at, message.operation_id, message.intent, message.action) == (T0 + 500, "op-1", intent(), REFUND)
    assert message.source.topic == "cases"
    row = work.registration
    assert (row.intent, row.action, row.case_key) == (intent(), REFUND, ORDER_KEY)
    assert row.due_ms == T0 + 7 * DAY + POLICY.keep_ms + DAY


def test_a_hand_over_that_is_repeated_after_a_crash_bears_the_same_source() -> None:
    origin = Source("cases", 4, 17)
    one, other = (decide(KEY, None, submission(), origin, CATALOGUE, POLICY).outputs[0] for _ in range(2))
    assert isinstance(one, ToCase)
    assert isinstance(other, ToCase)
    assert isinstance(one.message, Start)
    assert isinstance(other.message, Start)
    assert one.message.source == other.message.source == origin


def test_an_operation_that_is_forwarded_again_is_not_handed_over_again() -> None:
    place = Source("operations", 0, 10)
    work = registered(submission(at_source=place))
    assert work.send(submission(at_source=place)).outputs == []
    assert work.send(submission(at_source=Source("operations", 0, 9), refund="2")).outputs == []
    assert work.registration.action == REFUND


def test_an_action_that_comes_later_is_merged_and_handed_over() -> None:
    work = registered(submission(refund=None))
    assert work.registration.action == {}
    assert handed_over(work.send(submission())).action == REFUND
    assert work.registration.action == REFUND


def test_a_publication_with_less_takes_nothing_back() -> None:
    work = registered(submission())
    assert handed_over(work.send(submission(refund=None))).action == REFUND
    assert work.registration.action == REFUND


def test_an_operation_that_is_published_again_is_handed_over_again() -> None:
    """Its case may have refused it the first time, and does nothing with what it knows already."""
    work = registered(submission())
    again = handed_over(work.send(submission()))
    case = CaseWork()
    case.send(start())
    before = case.operation()
    assert case.send(again).outputs == []
    assert case.operation() == before


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"input": {"order_id": "gid://shopify/Order/69", "amount": "43.00"}},
            "input was {'order_id': 'gid://shopify/Order/69', 'amount': '42.50'} when the operation was first",
        ),
        (
            {"input": {"order_id": "gid://shopify/Order/70", "amount": "42.50"}},
            "input was {'order_id': 'gid://shopify/Order/69'",
        ),
        ({"contract": "shopify.refund.other"}, "contract was 'shopify.refund.created' when"),
        ({"connection": "acme-2"}, "connection was 'acme' when the operation was first published, and is 'acme-2' now"),
        ({"created_ms": T0 + 1}, f"created_at was {T0} when the operation was first published, and is {T0 + 1} now"),
    ],
)
def test_another_intent_is_refused_and_the_first_one_stands(changes: dict[str, Any], said: str) -> None:
    work = registered(submission())
    message = submission()
    changed = replace(message, intent=replace(message.intent, **changes))
    class_, sentence = refusal(work.send(changed))
    assert class_ == "intent_changed"
    assert sentence.startswith(f"operation op-1: {said}")
    assert work.registration.intent == intent()
    assert work.registration.case_key == ORDER_KEY


def test_the_same_start_in_another_offset_is_the_same_start() -> None:
    work = registered(submission())
    message = submission()
    written = replace(message.intent, created_at="2026-03-12T08:42:18.200-07:00")
    assert handed_over(work.send(replace(message, intent=written))).intent == intent()


def test_another_version_that_is_asked_for_is_another_intent() -> None:
    work = registered(submission())
    class_, sentence = refusal(work.send(submission(version="1.1.0", version_given=True)))
    assert class_ == "intent_changed"
    assert sentence == (
        "operation op-1: contract_version was '1.0.0' when the operation was first published, and is '1.1.0' now"
    )


def test_a_newer_version_that_was_not_asked_for_changes_nothing() -> None:
    """The catalogue may have grown between a start and its action's result."""
    work = registered(submission(refund=None))
    message = handed_over(work.send(submission(version="1.1.0", version_given=False)))
    assert message.intent.version == "1.0.0"
    assert message.action == REFUND


def test_another_result_is_refused_and_the_first_one_stands() -> None:
    work = registered(submission())
    class_, sentence = refusal(work.send(submission(refund="2")))
    assert class_ == "action_changed"
    assert sentence == (
        "operation op-1: $action.result.refundCreate.refund.id was 'gid://shopify/Refund/1' when the operation was"
        " first published, and is 'gid://shopify/Refund/2' now"
    )
    assert work.registration.action == REFUND


def test_a_refused_change_does_not_keep_a_good_one_out() -> None:
    work = registered(submission(refund=None), submission(connection="acme-2"))
    assert handed_over(work.send(submission())).action == REFUND


def test_a_refusal_is_of_the_operation_as_it_was_published() -> None:
    place = Source("operations", 5, 99)
    work = registered(submission())
    (output,) = work.send(submission(700, refund="2", at_source=place)).outputs
    assert isinstance(output, Refused)
    assert (output.topic, output.partition, output.offset, output.at) == ("operations", 5, 99, T0 + 700)
    assert (output.key, output.value, output.headers) == (b"key", b"value", (("h", b"1"), ("none", None)))


# -- too late, and forgotten


@pytest.mark.parametrize(
    ("after", "late"), [(PAYPAL_END + POLICY.keep_ms - 1, False), (PAYPAL_END + POLICY.keep_ms, True), (30 * DAY, True)]
)
def test_an_operation_is_refused_when_it_may_have_been_judged_and_forgotten(after: int, late: bool) -> None:
    work = CaseWork(KEY)
    told = work.send(submission(after, contract=PAYPAL))
    assert (work.value is None) is late
    if late:
        class_, sentence = refusal(told)
        assert class_ == "too_late"
        assert "judging it again could contradict the verdict it got" in sentence


def test_a_registration_outlives_the_time_at_which_its_operation_would_be_too_late() -> None:
    work = registered(submission(contract=PAYPAL))
    forget = PAYPAL_END + POLICY.keep_ms + DAY
    assert work.send(Tick(T0 + forget - 1)).outputs == []
    assert work.value is not None
    assert work.send(Tick(T0 + forget)).outputs == []
    assert work.value is None
    assert refusal(work.send(submission(forget, contract=PAYPAL)))[0] == "too_late"


def test_a_tick_for_nobody_is_nothing() -> None:
    work = CaseWork(KEY)
    assert work.send(Tick(T0)).outputs == []
    assert work.value is None


def test_an_operation_of_an_unknown_contract_is_not_registered() -> None:
    with pytest.raises(UnknownContractError):
        decide(KEY, None, submission(version="9.9.9"), source("cases"), CATALOGUE, POLICY)


# -- the original record


@pytest.mark.parametrize("value", [None, b"", b"text", bytes(range(256))])
def test_bytes_are_kept_exactly(value: bytes | None) -> None:
    assert unpack_bytes(pack_bytes(value)) == value


def test_a_record_is_kept_whole() -> None:
    packed = pack_record(None, b"\xff", (("h", b""), ("h", None), ("é", b"\x00")))
    assert packed == OriginalRecord(None, "/w==", [("h", ""), ("h", None), ("é", "AA==")])


def test_ids_of_operations_have_a_row_each() -> None:
    assert registration_key("a") != registration_key("b")
    assert registration_key("case/x") == "operation/case/x"
    assert action() == REFUND
