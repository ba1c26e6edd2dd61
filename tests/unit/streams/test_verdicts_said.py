"""What verdicts and reviews say in words, and to whom."""

import json
from pathlib import Path
from typing import Any

from casework import (
    ABSENT,
    CAPTURE_KEY,
    CATALOGUE,
    DAY,
    HOUR,
    MINUTE,
    PAYPAL,
    SECOND,
    SHOPIFY,
    STARTED,
    CaseWork,
    at,
    case,
    found,
    refunded,
    start,
)
from endings import REFUND, contradicted, failed, last, rules, timed_out, verified, wrong_amount

from contracts.catalogue import BUILT_IN, Catalogue, Entry
from contracts.model import Contract
from contracts.yaml_source import read_yaml

# -- explanations


def test_a_verified_record_explains_every_condition() -> None:
    explanation = last(verified())["explanation"]
    assert explanation.startswith("Every condition holds, on evidence of the level required. ")
    for condition in CATALOGUE.get(SHOPIFY).conditions:
        assert f"{condition} is true: " in explanation
    assert f"{REFUND}.id holds 'gid://shopify/Refund/1', eq 'gid://shopify/Refund/1'" in explanation


def test_a_contradicted_record_explains_the_rule_that_decided() -> None:
    assert last(wrong_amount())["explanation"] == (
        "The provider recorded a different refund amount. refund_amount_mismatch is true: "
        f"{REFUND}.totalRefundedSet.shopMoney.amount holds '42.05', ne '42.50'."
    )


def test_a_failed_record_explains_the_rule_that_decided() -> None:
    assert last(failed())["explanation"].endswith(
        "The refund will not complete. transaction_failed is true: "
        f"{REFUND}.transactions[0].status holds 'FAILURE', in ['FAILURE', 'ERROR']."
    )


def test_an_unverifiable_record_explains_what_was_missing() -> None:
    explanation = last(timed_out())["explanation"]
    assert explanation.startswith("The time to observe ended before every condition held: ")
    assert "refund_present is unknown: $observed.refund_readback.id holds nothing, eq 'R1'" in explanation
    assert "refund_on_intended_capture is false: $observed.capture_refunded_events.count holds 0, gte 1" in explanation


def test_only_conditions_that_do_not_hold_are_missing() -> None:
    work = case(start(contract=PAYPAL), key=CAPTURE_KEY)
    work.run(15 * MINUTE + 1, found(PAYPAL))
    explanation = last(work)["explanation"]
    assert "refund_on_intended_capture is false" in explanation
    assert "refund_present" not in explanation


def test_an_operation_that_was_known_too_late_for_verified_says_so() -> None:
    work = case(refunded(4 * DAY), start(4 * DAY))
    work.answer(4 * DAY + 500, found())
    work.run(8 * DAY)
    record = last(work)
    assert record["verdict"] == "UNVERIFIABLE"
    assert "known so late that events may have been dropped" in record["explanation"]


# -- the verdict map's other verdicts


def mapped(verdict: str) -> Catalogue:
    """The PayPal contract with a rule that decides on the status CANCELLED."""
    document: Any = read_yaml(BUILT_IN / "paypal" / "refund.recorded.yaml").data
    rule = {
        "path": "$observed.refund_readback.status",
        "operator": "eq",
        "expected": "CANCELLED",
        "verdict": verdict,
        "reason": "The refund was cancelled.",
    }
    contract = Contract.model_validate({**document, "verdict_map": {"cancelled": rule}})
    return Catalogue((Entry(contract, Path("mapped.yaml")),))


def cancelled(verdict: str) -> CaseWork:
    work = case(start(contract=PAYPAL), key=CAPTURE_KEY, catalogue=mapped(verdict))
    work.tick(2 * SECOND)
    work.answer(2500, found(PAYPAL, status="CANCELLED"))
    return work


def test_a_map_rule_may_verify() -> None:
    record = last(cancelled("VERIFIED"))
    assert (record["verdict"], record["rule"]) == ("VERIFIED", "cancelled")
    assert record["explanation"].startswith("The refund was cancelled. cancelled is true: ")


def test_a_map_rule_that_says_unverifiable_is_not_explained_as_a_timeout() -> None:
    record = last(cancelled("UNVERIFIABLE"))
    assert (record["verdict"], record["rule"], record["reason"]) == (
        "UNVERIFIABLE",
        "cancelled",
        "The refund was cancelled.",
    )
    assert record["explanation"].startswith("The refund was cancelled. cancelled is true: ")


# -- reviews


def test_a_review_holds_the_core_of_its_verdict() -> None:
    work = timed_out()
    record = last(work)
    (review,) = [one.record for one in work.told if type(one).__name__ == "Review"]
    assert review == {
        "operation_id": "op-1",
        "verdict_id": record["verdict_id"],
        "connection": "pay",
        "contract": PAYPAL,
        "contract_version": "1.0.0",
        "verdict": "UNVERIFIABLE",
        "reason": "evidence_unavailable_before_timeout",
        "input": {"capture_id": "CAP1", "amount": "60.00", "currency_code": "USD"},
        "created_at": STARTED,
        "updated_at": at(15 * MINUTE),
        "late_evidence": [],
    }


def test_a_review_tells_what_came_late_and_when() -> None:
    work = timed_out()
    (review,) = work.send(refunded(HOUR, contract=PAYPAL, arrived=30 * MINUTE)).reviews
    assert review["late_evidence"] == [
        f"PAYMENT.CAPTURE.REFUNDED of R1, created at 2026-03-12T15:42:18Z, arrived at {at(30 * MINUTE)}"
    ]
    assert review["verdict_id"] == last(work)["verdict_id"]


def test_no_other_verdict_asks_for_a_person() -> None:
    for work in (verified(), contradicted(), failed(), wrong_amount()):
        assert not [one for one in work.told if type(one).__name__ == "Review"]


# -- what a hostile answer can do to a record


def test_values_of_any_size_that_is_kept_fit_into_a_record() -> None:
    work = case(start(MINUTE))
    work.answer(MINUTE + 500, found(order="x" * 1024, amount={"$number": "1" * 60}, status="\u2028\x00'\""))
    record = last(work)
    assert (record["verdict"], record["rule"]) == ("CONTRADICTED", "refund_on_wrong_order")
    assert len(json.dumps(record)) < 20_000
    amount = rules(record, "contradictions")["refund_amount_mismatch"]
    assert amount["actual"] == {"$number": "1" * 60}
    assert ABSENT.values == {}
