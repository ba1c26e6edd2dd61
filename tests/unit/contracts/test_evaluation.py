"""Every rule of the two published contracts, over what was observed."""

from typing import Any

import pytest
from mutation import SHOPIFY as SHOPIFY_FILE
from mutation import mutated
from observed import GONE, PAYPAL, SHOPIFY, SHORT, paypal_facts, shopify_facts, truths

from contracts.evaluation import evaluate
from contracts.operators import Truth
from contracts.paths import MISSING

CONTRACTS = pytest.mark.parametrize("contract", [SHOPIFY, PAYPAL], ids=lambda one: one.id)


def test_a_shopify_refund_as_asked_for_meets_every_condition_and_no_contradiction() -> None:
    assert truths(SHOPIFY, shopify_facts()) == {
        "refund_created_in_window": "true",
        "refund_present": "true",
        "refund_webhook_present": "true",
        "refund_on_wrong_order": "false",
        "refund_amount_mismatch": "false",
        "refund_predates_operation": "false",
        "duplicate_refund_present": "false",
        "transaction_failed": "false",
    }


def test_a_paypal_refund_as_asked_for_meets_every_condition_and_no_contradiction() -> None:
    assert truths(PAYPAL, paypal_facts()) == {
        "refund_present": "true",
        "refund_amount_matches": "true",
        "refund_currency_matches": "true",
        "refund_created_in_window": "true",
        "refund_on_intended_capture": "true",
        "refund_amount_mismatch": "false",
        "refund_currency_mismatch": "false",
        "refund_predates_operation": "false",
        "duplicate_refund_present": "false",
    }


@CONTRACTS
def test_without_facts_every_rule_is_unknown(contract: Any) -> None:
    assert set(truths(contract, {}).values()) == {"unknown"}


@pytest.mark.parametrize(
    ("changes", "changed"),
    [
        ({"amount": "42.05"}, {"refund_amount_mismatch": "true"}),
        ({"amount": "42.500"}, {}),
        ({"amount": GONE}, {"refund_amount_mismatch": "unknown"}),
        ({"amount": "much"}, {"refund_amount_mismatch": "unknown"}),
        ({"order": "gid://shopify/Order/70"}, {"refund_on_wrong_order": "true"}),
        ({"order": GONE}, {"refund_on_wrong_order": "unknown"}),
        ({"order": 69}, {"refund_on_wrong_order": "unknown"}),
        ({"refund": "gid://shopify/Refund/2"}, {"refund_present": "false"}),
        ({"refund": GONE}, {"refund_present": "unknown"}),
        ({"action_refund": GONE}, {"refund_present": "unknown"}),
        (
            {"created": "2026-03-12T15:42:17Z"},
            {"refund_created_in_window": "false", "refund_predates_operation": "true"},
        ),
        ({"created": "2026-03-12T15:42:18Z"}, {}),
        ({"created": GONE}, {"refund_created_in_window": "unknown", "refund_predates_operation": "unknown"}),
        ({"created": "soon"}, {"refund_created_in_window": "unknown", "refund_predates_operation": "unknown"}),
        ({"own_events": 0}, {"refund_webhook_present": "false"}),
        ({"own_events": GONE}, {"refund_webhook_present": "unknown"}),
        ({"order_events": 0}, {}),
        ({"order_events": 2}, {"duplicate_refund_present": "true"}),
        ({"order_events": GONE}, {"duplicate_refund_present": "unknown"}),
        ({"status": "FAILURE"}, {"transaction_failed": "true"}),
        ({"status": "ERROR"}, {"transaction_failed": "true"}),
        ({"status": "failure"}, {}),
        ({"status": GONE}, {"transaction_failed": "unknown"}),
    ],
)
def test_each_shopify_rule_follows_its_own_fact(changes: dict[str, Any], changed: dict[str, str]) -> None:
    assert truths(SHOPIFY, shopify_facts(**changes)) == {**truths(SHOPIFY, shopify_facts()), **changed}


@pytest.mark.parametrize(
    ("changes", "changed"),
    [
        # the page: a string comparison that normalizes nothing
        ({"value": "60.0"}, {"refund_amount_matches": "false", "refund_amount_mismatch": "true"}),
        ({"value": "60"}, {"refund_amount_matches": "false", "refund_amount_mismatch": "true"}),
        ({"value": 60}, {"refund_amount_matches": "unknown", "refund_amount_mismatch": "unknown"}),
        ({"value": GONE}, {"refund_amount_matches": "unknown", "refund_amount_mismatch": "unknown"}),
        ({"asked": GONE}, {"refund_amount_matches": "unknown", "refund_amount_mismatch": "unknown"}),
        ({"currency": "EUR"}, {"refund_currency_matches": "false", "refund_currency_mismatch": "true"}),
        ({"currency": GONE}, {"refund_currency_matches": "unknown", "refund_currency_mismatch": "unknown"}),
        ({"paypal_id": "OTHER"}, {"refund_present": "false"}),
        (
            {"create_time": "2026-03-12T08:42:16-07:00"},
            {"refund_created_in_window": "false", "refund_predates_operation": "true"},
        ),
        # the operation started at 15:42:17.900: any moment of the second 15:42:17 may be after that
        ({"create_time": "2026-03-12T08:42:17-07:00"}, {}),
        ({"create_time": "2026-03-12T15:42:17z"}, {}),
        ({"create_time": GONE}, {"refund_created_in_window": "unknown", "refund_predates_operation": "unknown"}),
        ({"events": 0}, {"refund_on_intended_capture": "false"}),
        ({"events": 2}, {"duplicate_refund_present": "true"}),
        ({"events": GONE}, {"refund_on_intended_capture": "unknown", "duplicate_refund_present": "unknown"}),
    ],
)
def test_each_paypal_rule_follows_its_own_fact(changes: dict[str, Any], changed: dict[str, str]) -> None:
    assert truths(PAYPAL, paypal_facts(**changes)) == {**truths(PAYPAL, paypal_facts()), **changed}


@pytest.mark.parametrize("status", ["PENDING", "AWAITING_RESPONSE", "UNKNOWN", "FAILURE", "ERROR"])
def test_an_unsettled_total_is_no_wrong_amount(status: str) -> None:
    assert truths(SHOPIFY, shopify_facts(amount="0.0", status=status))["refund_amount_mismatch"] == "false"


@pytest.mark.parametrize("status", ["SUCCESS", "pending", "REVERSED", "", 0, True, GONE])
def test_only_a_known_exception_excuses_a_wrong_amount(status: Any) -> None:
    assert truths(SHOPIFY, shopify_facts(amount="0.0", status=status))["refund_amount_mismatch"] == "true"


@pytest.mark.parametrize("status", ["PENDING", "SUCCESS", GONE])
def test_an_exception_makes_nothing_known_of_an_amount_that_is_not(status: Any) -> None:
    assert truths(SHOPIFY, shopify_facts(amount=GONE, status=status))["refund_amount_mismatch"] == "unknown"


def test_a_result_says_what_it_compared_and_on_which_channels_it_rests() -> None:
    results = {one.id: one for one in evaluate(SHOPIFY, shopify_facts(status="PENDING", amount="0.0")).contradictions}
    mismatch = results["refund_amount_mismatch"]
    assert (mismatch.actual, mismatch.expected) == ("0.0", "42.50")
    assert mismatch.channels == ("refund_readback",)
    assert mismatch.kind == "contradiction"
    assert mismatch.unless is not None
    assert (mismatch.unless.actual, mismatch.unless.result) == ("PENDING", Truth.TRUE)
    duplicate = results["duplicate_refund_present"]
    assert (duplicate.actual, duplicate.expected, duplicate.channels) == (1, 1, ("order_refund_events",))
    assert duplicate.unless is None


def test_a_rule_rests_on_the_channel_of_its_exception_too() -> None:
    unless = {"path": "$observed.order_refund_events.count", "operator": "eq", "expected": 0}
    contract = mutated(SHOPIFY_FILE, {"readings.rules.refund_amount_mismatch.unless": unless})
    results = {one.id: one for one in evaluate(contract, shopify_facts(amount="1.0", order_events=0)).contradictions}
    assert results["refund_amount_mismatch"].channels == ("refund_readback", "order_refund_events")
    assert not results["refund_amount_mismatch"].holds


def test_a_missing_side_is_shown_as_missing() -> None:
    present = evaluate(SHOPIFY, shopify_facts(action_refund=GONE, refund=GONE)).conditions[1]
    assert present.id == "refund_present"
    assert present.actual is MISSING
    assert present.expected is MISSING


def test_unmet_names_what_is_false_and_what_is_unknown() -> None:
    evaluation = evaluate(SHOPIFY, shopify_facts(own_events=0, refund=GONE))
    assert [one.id for one in evaluation.unmet] == ["refund_present", "refund_webhook_present"]


@CONTRACTS
def test_results_stand_in_the_contracts_order(contract: Any) -> None:
    evaluation = evaluate(contract, {})
    assert [one.id for one in evaluation.conditions] == list(contract.conditions)
    assert [one.id for one in evaluation.contradictions] == list(contract.contradictions)
    assert [one.id for one in evaluation.verdict_map] == list(contract.verdict_map)


@pytest.mark.parametrize("value", [None, [], {}, [{"a": 1}], 1.5, float("nan"), object()])
def test_facts_of_any_type_raise_nothing(value: Any) -> None:
    facts = dict.fromkeys(SHORT.values(), value)
    assert set(truths(SHOPIFY, facts).values()) == {"unknown"}
    assert set(truths(PAYPAL, facts).values()) == {"unknown"}
