"""Evidence that is never enough, and absence that is taken for it."""

from typing import Any

import pytest
from mutation import SHOPIFY, contradiction, errors, expect_error, rule

COUNT = "$observed.order_refund_events.count"
TYPES = "$observed.order_refund_events.types"
READ = "$observed.refund_readback.data.refund"
WEBHOOK = "conditions.refund_webhook_present"
DUPLICATE = "contradictions.duplicate_refund_present"
MISMATCH = "contradictions.refund_amount_mismatch"
READINGS = "readings.rules.refund_amount_mismatch"
FAILED = "verdict_map.transaction_failed"


EMPTY = [
    rule(COUNT, "gte", 0),
    rule(COUNT, "lt", 2),
    rule(COUNT, "lte", 1),
    rule(COUNT, "ne", 1),
    rule(COUNT, "eq", 0),
    rule(COUNT, "in", (0, 1)),
    rule(COUNT, "not_in", (2,)),
    rule(COUNT, "exists", True),
    rule(TYPES, "exists", True),
    rule("$observed.order_refund_events.duplicates_dropped", "eq", 0),
    rule(COUNT, "eq", "$observed.refund_events.count"),
]


@pytest.mark.parametrize("changed", EMPTY)
def test_a_condition_that_holds_without_any_event(changed: dict[str, Any]) -> None:
    condition = {**changed, "meaning": "x", "evidence": "order_refund_events"}
    expect_error(SHOPIFY, {WEBHOOK: condition}, WEBHOOK, "absence of evidence is no evidence")


@pytest.mark.parametrize(
    ("changed", "holds"),
    [
        (rule(COUNT, "ne", "$input.amount"), True),
        (rule(COUNT, "lt", "$input.amount"), True),
        (rule(COUNT, "gt", "$input.amount"), False),
        (rule("$input.amount", "gt", COUNT), True),
        (rule("$input.amount", "lt", COUNT), False),
        (rule(COUNT, "lte", "$input.amount"), True),
        (rule(COUNT, "gte", "$input.amount"), False),
        (rule("$input.amount", "gte", COUNT), True),
        (rule(COUNT, "in", (0, 1)), True),
        (rule(f"{READ}.count", "ne", COUNT), True),
    ],
)
def test_no_event_against_a_value_that_only_the_operation_knows(changed: dict[str, Any], holds: bool) -> None:
    found = errors(SHOPIFY, {MISMATCH: contradiction(changed)})
    assert [one.field for one in found] == ([MISMATCH] if holds else [])


def test_a_contradiction_that_holds_without_any_event() -> None:
    expect_error(SHOPIFY, {f"{DUPLICATE}.operator": "lte"}, DUPLICATE, "absence of evidence")


@pytest.mark.parametrize(("verdict", "wrong"), [("VERIFIED", True), ("FAILED", True), ("UNVERIFIABLE", False)])
def test_a_verdict_map_that_decides_without_any_event(verdict: str, wrong: bool) -> None:
    found = errors(SHOPIFY, {FAILED: {**rule(COUNT, "lt", 1), "verdict": verdict, "reason": "x"}})
    assert [one.field for one in found] == ([FAILED] if wrong else [])


def test_an_exception_may_rest_on_absence() -> None:
    assert errors(SHOPIFY, {f"{READINGS}.unless": rule(COUNT, "lt", 1)}) == []


EVIDENCE = [
    ({f"{WEBHOOK}.path": "$action.result.count"}, f"{WEBHOOK}.path", "reads no channel"),
    ({f"{WEBHOOK}.evidence": "webhooks"}, f"{WEBHOOK}.evidence", "there is no channel `webhooks`"),
    (
        {f"{WEBHOOK}.evidence": "refund_readback"},
        f"{WEBHOOK}.evidence",
        "the evidence is `refund_readback`, but the path reads the channel `refund_events`",
    ),
    (
        {"contradictions.refund_present": {**rule(f"{READ}.id", "eq", "x"), "class": "x", "reason": "x"}},
        "contradictions.refund_present",
        "`conditions.refund_present` has the same id",
    ),
    (
        {"evidence.minimum_level": "E4"},
        "evidence.minimum_level",
        "there is no independent channel of E4 or more (`refund_readback` E2, ",
    ),
    (
        {"evidence.minimum_channels": 4},
        "evidence.minimum_channels",
        "it takes 4 independent channels of E2 or more",
    ),
]


@pytest.mark.parametrize(("changes", "field", "said"), EVIDENCE)
def test_evidence_that_is_never_enough(changes: dict[str, Any], field: str, said: str) -> None:
    expect_error(SHOPIFY, changes, field, said)


def test_as_many_channels_as_it_takes_are_enough() -> None:
    assert errors(SHOPIFY, {"evidence.minimum_channels": 3}) == []


def test_no_event_has_no_latest_one() -> None:
    changed = rule("$observed.order_refund_events.latest", "ne", "$operation.created_at")
    assert errors(SHOPIFY, {"contradictions.duplicate_refund_present": contradiction(changed)}) == []


def test_where_no_independent_channel_is_required_none_is_asked_for() -> None:
    changes = {"evidence.minimum_level": "E4", "evidence.independent_channel_required": False}
    expect_error(SHOPIFY, changes, "evidence.minimum_level", "there is no channel of E4 or more")


@pytest.mark.parametrize("required", [True, False])
def test_the_actions_own_response_is_no_independent_channel(required: bool) -> None:
    changes = {
        "evidence.minimum_level": "E3",
        "evidence.independent_channel_required": required,
        "channels.refund_events.independence": "action_response",
        "channels.order_refund_events.independence": "action_response",
    }
    found = errors(SHOPIFY, changes)
    assert [one.field for one in found] == (["evidence.minimum_level"] if required else [])
