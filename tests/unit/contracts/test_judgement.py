"""Which verdict an evaluation makes, and when it makes none."""

from typing import Any

import pytest
from mutation import PAYPAL as PAYPAL_FILE
from mutation import SHOPIFY as SHOPIFY_FILE
from mutation import contradiction, mutated, rule
from observed import (
    EVENTS,
    GONE,
    NO_EVENTS,
    NO_READ,
    PAYPAL,
    READ,
    SHOPIFY,
    STALE_READ,
    paypal_facts,
    said,
    shopify_facts,
    verdict,
)

from contracts.judgement import Decided, timed_out

NOTHING: frozenset[str] = frozenset()
STALE = frozenset({"refund_readback"})
WRONG_AMOUNT = ("CONTRADICTED", "refund_amount_mismatch")
DUPLICATE = ("CONTRADICTED", "duplicate_refund_present")
VERIFIED = ("VERIFIED", "completion")


def test_verified_takes_every_condition() -> None:
    assert said(verdict(SHOPIFY, shopify_facts())) == VERIFIED
    assert said(verdict(PAYPAL, paypal_facts())) == VERIFIED


@pytest.mark.parametrize("missing", ["created", "refund", "own_events", "action_refund"])
def test_one_unknown_condition_is_enough_to_wait_at_shopify(missing: str) -> None:
    assert said(verdict(SHOPIFY, shopify_facts(**{missing: GONE}))) == NOTHING


@pytest.mark.parametrize("missing", ["paypal_id", "value", "currency", "create_time", "events", "action_id", "asked"])
def test_one_unknown_condition_is_enough_to_wait_at_paypal(missing: str) -> None:
    assert said(verdict(PAYPAL, paypal_facts(**{missing: GONE}))) == NOTHING


def test_nothing_observed_is_nothing_decided() -> None:
    channels = {"refund_readback": NO_READ, "refund_events": NO_EVENTS, "order_refund_events": NO_EVENTS}
    assert said(verdict(SHOPIFY, {}, **channels)) == NOTHING


@pytest.mark.parametrize(
    ("changes", "rule_id", "class_", "do_not_retry"),
    [
        ({"order": "gid://shopify/Order/70"}, "refund_on_wrong_order", "wrong_subject", False),
        ({"amount": "42.05"}, "refund_amount_mismatch", "wrong_amount", False),
        ({"created": "2026-03-12T15:42:00Z"}, "refund_predates_operation", "pre_existing_state", False),
        ({"order_events": 2}, "duplicate_refund_present", "duplicate_side_effect", True),
    ],
)
def test_a_contradiction_carries_its_class_its_reason_and_whether_to_retry(
    changes: dict[str, Any], rule_id: str, class_: str, do_not_retry: bool
) -> None:
    decided = verdict(SHOPIFY, shopify_facts(**changes))
    reason = SHOPIFY.contradictions[rule_id].reason
    assert decided == Decided("CONTRADICTED", rule_id, reason, class_, do_not_retry, review=False)


def test_a_duplicate_contradicts_although_every_condition_holds() -> None:
    assert said(verdict(SHOPIFY, shopify_facts(order_events=2))) == DUPLICATE
    assert said(verdict(PAYPAL, paypal_facts(events=2))) == DUPLICATE


def test_a_duplicate_contradicts_before_anything_was_read() -> None:
    facts = {"$observed.order_refund_events.count": 2}
    assert said(verdict(SHOPIFY, facts, refund_readback=NO_READ)) == DUPLICATE


def test_a_contradiction_goes_before_the_verdict_map() -> None:
    facts = shopify_facts(status="FAILURE", order="gid://shopify/Order/70")
    assert said(verdict(SHOPIFY, facts)) == ("CONTRADICTED", "refund_on_wrong_order")


def test_the_verdict_map_goes_before_completion() -> None:
    assert said(verdict(SHOPIFY, shopify_facts(status="FAILURE", amount="0.0"))) == ("FAILED", "transaction_failed")
    assert said(verdict(SHOPIFY, shopify_facts(status="ERROR"))) == ("FAILED", "transaction_failed")


def test_a_failed_transaction_needs_no_event() -> None:
    facts = shopify_facts(status="FAILURE", amount="0.0", own_events=0, order_events=0)
    found = verdict(SHOPIFY, facts, refund_events=NO_EVENTS, order_refund_events=NO_EVENTS)
    assert said(found) == ("FAILED", "transaction_failed")


def test_a_pending_refund_is_no_wrong_amount_and_the_record_is_enough() -> None:
    assert said(verdict(SHOPIFY, shopify_facts(status="PENDING", amount="0.0"))) == VERIFIED


def test_of_two_contradictions_the_contracts_first_is_named() -> None:
    facts = shopify_facts(order_events=2, amount="42.05")
    assert said(verdict(SHOPIFY, facts)) == WRONG_AMOUNT


# -- the stale-read window


def test_a_contradiction_on_stale_reads_only_is_provisional() -> None:
    assert said(verdict(SHOPIFY, shopify_facts(amount="42.05"), refund_readback=STALE_READ)) == STALE
    assert said(verdict(SHOPIFY, shopify_facts(amount="42.05"), refund_readback=READ)) == WRONG_AMOUNT


def test_a_provisional_contradiction_holds_back_every_other_verdict_but_a_final_contradiction() -> None:
    both_hold = shopify_facts(amount="42.05")
    assert said(verdict(SHOPIFY, both_hold, refund_readback=STALE_READ)) == STALE
    failed = shopify_facts(order="gid://shopify/Order/70", status="FAILURE")
    assert said(verdict(SHOPIFY, failed, refund_readback=STALE_READ)) == STALE
    duplicate = shopify_facts(amount="42.05", order_events=2)
    assert said(verdict(SHOPIFY, duplicate, refund_readback=STALE_READ)) == DUPLICATE


def test_a_contradiction_that_rests_on_events_is_final_at_once() -> None:
    found = verdict(SHOPIFY, shopify_facts(order_events=2), refund_readback=STALE_READ, order_refund_events=EVENTS)
    assert said(found) == DUPLICATE


def test_a_contradiction_that_rests_on_a_stale_read_and_on_events_is_final() -> None:
    unless = {"path": "$observed.order_refund_events.count", "operator": "eq", "expected": 0}
    contract = mutated(SHOPIFY_FILE, {"readings.rules.refund_amount_mismatch.unless": unless})
    facts = shopify_facts(amount="42.05")
    assert said(verdict(contract, facts, refund_readback=STALE_READ, order_refund_events=EVENTS)) == WRONG_AMOUNT


def test_stale_reads_may_verify() -> None:
    assert said(verdict(SHOPIFY, shopify_facts(), refund_readback=STALE_READ)) == VERIFIED


def test_stale_reads_may_fail() -> None:
    facts = shopify_facts(status="FAILURE", amount="0.0")
    assert said(verdict(SHOPIFY, facts, refund_readback=STALE_READ)) == ("FAILED", "transaction_failed")


def test_every_stale_channel_of_a_provisional_contradiction_is_named() -> None:
    changes = {
        "channels.other": {
            "level": "E2",
            "independence": "provider_readback",
            "verifier": "http",
            "description": "Another read.",
        },
        "contradictions.differ": contradiction(
            rule("$observed.other.amount", "ne", "$observed.refund_readback.amount.value")
        ),
    }
    contract = mutated(PAYPAL_FILE, changes)
    facts = {**paypal_facts(), "$observed.other.amount": "59.00"}
    stale = {"refund_readback": STALE_READ, "other": STALE_READ}
    assert said(verdict(contract, facts, **stale)) == frozenset({"refund_readback", "other"})
    assert said(verdict(contract, facts, **(stale | {"other": READ}))) == ("CONTRADICTED", "differ")


# -- the evidence rule


def evidence(**rule_: Any) -> dict[str, Any]:
    return {f"evidence.{name}": value for name, value in rule_.items()}


@pytest.mark.parametrize(
    ("changes", "channels", "enough"),
    [
        ({}, {}, True),
        (evidence(minimum_level="E3"), {}, True),
        (evidence(minimum_level="E3"), {"capture_refunded_events": NO_EVENTS}, False),
        (evidence(minimum_level="E4"), {}, False),
        (evidence(minimum_channels=2), {}, True),
        (evidence(minimum_channels=2), {"capture_refunded_events": NO_EVENTS}, False),
        (evidence(minimum_channels=2), {"refund_readback": NO_READ}, False),
        (evidence(minimum_channels=2, minimum_level="E3"), {}, False),
        (evidence(minimum_channels=3), {}, False),
        ({}, {"refund_readback": NO_READ, "capture_refunded_events": NO_EVENTS}, False),
        ({"channels.refund_readback.independence": "action_response"}, {"capture_refunded_events": NO_EVENTS}, False),
        ({"channels.refund_readback.independence": "action_response"}, {}, True),
        (
            {
                "channels.refund_readback.independence": "action_response",
                **evidence(independent_channel_required=False),
            },
            {"capture_refunded_events": NO_EVENTS},
            True,
        ),
        ({"channels.refund_readback.independence": "third_party"}, {"capture_refunded_events": NO_EVENTS}, True),
        ({"channels.refund_readback.level": "E1"}, {"capture_refunded_events": NO_EVENTS}, False),
    ],
)
def test_verified_takes_enough_channels_of_the_level_that_have_shown_something(
    changes: dict[str, Any], channels: dict[str, Any], enough: bool
) -> None:
    contract = mutated(PAYPAL_FILE, changes)
    assert said(verdict(contract, paypal_facts(), **channels)) == (VERIFIED if enough else NOTHING)


@pytest.mark.parametrize("verdict_", ["FAILED", "UNVERIFIABLE"])
def test_a_map_rule_needs_no_level_of_evidence_to_deny(verdict_: str) -> None:
    declared = {**rule("$observed.refund_readback.status", "eq", "FAILED"), "verdict": verdict_, "reason": "Said so."}
    contract = mutated(PAYPAL_FILE, {"verdict_map.said": declared, **evidence(minimum_level="E4")})
    facts = {**paypal_facts(), "$observed.refund_readback.status": "FAILED"}
    assert said(verdict(contract, facts)) == (verdict_, "said")


def test_a_map_rule_verifies_only_with_enough_evidence() -> None:
    completed = {**rule("$observed.refund_readback.status", "eq", "COMPLETED"), "verdict": "VERIFIED", "reason": "Yes."}
    failed = {**rule("$observed.refund_readback.id", "eq", "$action.result.id"), "verdict": "FAILED", "reason": "No."}
    facts = {**paypal_facts(events=0), "$observed.refund_readback.status": "COMPLETED"}
    contract = mutated(PAYPAL_FILE, {"verdict_map.completed": completed})
    assert said(verdict(contract, facts)) == ("VERIFIED", "completed")
    weak = mutated(PAYPAL_FILE, {"verdict_map.completed": completed, **evidence(minimum_level="E4")})
    assert said(verdict(weak, facts)) == NOTHING
    next_one = {"verdict_map.completed": completed, "verdict_map.failed": failed, **evidence(minimum_level="E4")}
    assert said(verdict(mutated(PAYPAL_FILE, next_one), facts)) == ("FAILED", "failed")


def test_of_two_map_rules_the_first_decides() -> None:
    def says(verdict_: str) -> dict[str, Any]:
        return {**rule("$observed.refund_readback.id", "eq", "$action.result.id"), "verdict": verdict_, "reason": "So."}

    contract = mutated(PAYPAL_FILE, {"verdict_map.one": says("FAILED"), "verdict_map.other": says("UNVERIFIABLE")})
    assert said(verdict(contract, paypal_facts())) == ("FAILED", "one")


# -- the timeout


@pytest.mark.parametrize("contract", [SHOPIFY, PAYPAL], ids=lambda one: one.id)
def test_the_timeout_is_unverifiable_and_wants_a_person(contract: Any) -> None:
    expected = Decided("UNVERIFIABLE", "timeout", "evidence_unavailable_before_timeout", None, False, review=True)
    assert timed_out(contract) == expected


def test_a_contract_may_not_escalate() -> None:
    assert not timed_out(mutated(PAYPAL_FILE, {"timing.on_timeout.escalate": False})).review
