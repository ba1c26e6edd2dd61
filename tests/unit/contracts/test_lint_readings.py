"""Readings and timing that do not fit the rest of a contract."""

from typing import Any

import pytest
from mutation import CARRIED, DROP, PAYPAL, SHOPIFY, errors, expect_error, mutated, rule

from contracts.lint import Finding, lint

READ = "$observed.refund_readback.data.refund"
PRESENT = "conditions.refund_present"
CREATED = "conditions.refund_created_in_window"
MISMATCH = "contradictions.refund_amount_mismatch"
READINGS = "readings.rules.refund_amount_mismatch"
REQUEST = "readings.requests.refund_readback"
EVENTS = "readings.events.order_refund_events"


READING = [
    (
        {REQUEST: DROP},
        REQUEST,
        "does not say how to read it back, and these rules rest on it: `refund_created_in_window`",
    ),
    (
        {EVENTS: DROP},
        EVENTS,
        "which events it counts, and these rules rest on it: `duplicate_refund_present`",
    ),
    (
        {
            "readings.events.refund_readback": {
                "types": ("REFUNDS_CREATE",),
                "where": {"order_id": "$input.order_id"},
            }
        },
        "readings.events.refund_readback",
        "there is no webhook channel `refund_readback`",
    ),
    (
        {"readings.requests.refund_events": {"method": "GET", "path": "/x", "evidence": "id"}},
        "readings.requests.refund_events",
        "there is no http channel `refund_events`",
    ),
    ({f"{REQUEST}.graphql": DROP}, f"{REQUEST}.graphql", "POST is for a GraphQL query"),
    ({f"{REQUEST}.method": "GET"}, f"{REQUEST}.graphql", "GET carries no GraphQL query"),
    ({f"{REQUEST}.evidence": "data..refund"}, f"{REQUEST}.evidence", "no path within a body"),
    ({f"{REQUEST}.graphql.variables": {}}, f"{REQUEST}.graphql.document", "the variable $id has no value"),
    (
        {f"{REQUEST}.graphql.variables.order": "$input.order_id"},
        f"{REQUEST}.graphql.variables.order",
        "declares no variable $order",
    ),
    ({f"{REQUEST}.shown": ("$observed.refund_events.count",)}, f"{REQUEST}.shown.0", "is not in the answer"),
    ({f"{REQUEST}.shown": ("$observed.refund_readback.x", "$input.amount")}, f"{REQUEST}.shown.1", "not in the answer"),
    ({f"{EVENTS}.since": "$action.result.at"}, f"{EVENTS}.since", "not sure to be an instant"),
    ({"readings.rules.refund_gone": {}}, "readings.rules.refund_gone", "there is no rule `refund_gone`"),
    (
        {"readings.rules.refund_present": {"do_not_retry": True}},
        "readings.rules.refund_present.do_not_retry",
        "no contradiction",
    ),
    (
        {"readings.rules.transaction_failed": {"unless": rule(f"{READ}.id", "eq", "x")}},
        "readings.rules.transaction_failed.unless",
        "no contradiction",
    ),
    (
        {"readings.case_key.operation": "$operation.id"},
        "readings.case_key.operation",
        "is no input",
    ),
    (
        {"readings.case_key.operation": "$action.result.order_id"},
        "readings.case_key.operation",
        "known only after the action",
    ),
    ({f"{EVENTS}.types": ("REFUND_MADE",)}, f"{EVENTS}.types.0", "no event REFUND_MADE of shopify is known"),
    (
        {f"{EVENTS}.where.customer_id": "$input.order_id"},
        f"{EVENTS}.where.customer_id",
        "filtering on `customer_id` would count none",
    ),
]


@pytest.mark.parametrize(("changes", "field", "said"), READING)
def test_a_reading_that_does_not_fit(changes: dict[str, Any], field: str, said: str) -> None:
    expect_error(SHOPIFY, changes, field, said)


def test_a_channel_that_no_rule_reads_needs_its_reading_all_the_same() -> None:
    changes = {EVENTS: DROP, "contradictions.duplicate_refund_present": DROP, "readings.rules": {}}
    (found,) = errors(SHOPIFY, changes)
    assert (found.field, found.message) == (
        EVENTS,
        "the webhook channel `order_refund_events` does not say which events it counts",
    )


REST = [
    ({f"{REQUEST}.path": "/v2/refunds/{refund}"}, [f"{REQUEST}.path", f"{REQUEST}.parameters.refund_id"]),
    ({f"{REQUEST}.parameters": {}}, [f"{REQUEST}.path"]),
    ({f"{REQUEST}.path": "/v2/refunds/{refund_id}/{}"}, [f"{REQUEST}.path"]),
    ({f"{REQUEST}.path": "/v2/refunds/{refund_id}/x}"}, [f"{REQUEST}.path"]),
    ({f"{REQUEST}.parameters.capture_id": "$input.capture_id"}, [f"{REQUEST}.parameters.capture_id"]),
    ({f"{REQUEST}.method": "POST"}, [f"{REQUEST}.graphql"]),
    ({"readings.case_key.name": "payment_id"}, ["readings.case_key.name"]),
]


@pytest.mark.parametrize(("changes", "fields"), REST)
def test_a_request_and_its_parameters_match_exactly(changes: dict[str, Any], fields: list[str]) -> None:
    assert [one.field for one in errors(PAYPAL, changes)] == fields


def test_every_type_of_a_filter_must_carry_what_the_filter_reads() -> None:
    field = "readings.events.capture_refunded_events"
    types = ("PAYMENT.CAPTURE.REFUNDED", "PAYMENT.CAPTURE.REVERSED")
    assert errors(PAYPAL, {f"{field}.types": types}) == []
    changes = {f"{field}.types": types, f"{field}.where.refund_id": "$action.result.id"}
    expect_error(PAYPAL, changes, f"{field}.where.refund_id", "PAYMENT.CAPTURE.REVERSED carry `capture_id`")


def test_a_provider_without_any_event() -> None:
    found = lint(mutated(PAYPAL, {}), {})
    assert found[0].message.endswith("no event PAYMENT.CAPTURE.REFUNDED of paypal is known: there are none")


def test_without_a_provider_nothing_is_said_of_its_events() -> None:
    contract = mutated(SHOPIFY, {f"{EVENTS}.types": ("REFUND_MADE",)})
    assert [one for one in lint(contract) if one.level == "error"] == []


def test_reads_that_are_never_used_up() -> None:
    (warning,) = lint(mutated(PAYPAL, {}))
    assert warning == Finding(
        "warning",
        "timing.max_attempts",
        "60 attempts are declared, but only 8 fall due before the timeout: the 9th would come 917 s after the "
        "start, the timeout is 900 s",
    )


def test_reads_that_end_long_before_the_timeout() -> None:
    (warning,) = lint(mutated(SHOPIFY, {}))
    assert warning == Finding(
        "warning",
        "timing.max_attempts",
        "the 40th and last read falls due 2176 s after the start (36 min), the timeout is 604800 s (7 days): "
        "for 6 days 23 h only events can decide",
    )


@pytest.mark.parametrize(
    ("timing", "said"),
    [
        # Reads at 1, 6, 16 s.
        ({"max_attempts": 3, "timeout_ms": 32_000}, None),
        (
            {"max_attempts": 3, "timeout_ms": 32_001},
            "the 3rd and last read falls due 16 s after the start (16 s)",
        ),
        ({"max_attempts": 3, "timeout_ms": 16_001}, None),
        (
            {"max_attempts": 3, "timeout_ms": 16_000},
            "only 2 fall due before the timeout: the 3rd would come 16 s",
        ),
        ({"max_attempts": 2, "timeout_ms": 3_600_000}, "the timeout is 3600 s (1 h): for 59 min only"),
        ({"max_attempts": 2, "timeout_ms": 4_500_500}, "the timeout is 4500.5 s (1 h 15 min)"),
        ({"max_attempts": 2, "timeout_ms": 86_400_000}, "(1 day): for 23 h 59 min"),
        ({"max_attempts": 2, "timeout_ms": 172_800_000}, "(2 days): for 1 day 23 h"),
        ({"max_attempts": 2, "timeout_ms": 3_000_000_500}, "the timeout is 3000000.5 s"),
        ({"max_attempts": 10_000, "timeout_ms": 100_000}, "10000 attempts are declared"),
        ({"max_attempts": 1, "timeout_ms": 60_000}, "the 1st and last read"),
        ({"max_attempts": 2, "timeout_ms": 60_000}, "the 2nd and last read"),
        ({"max_attempts": 12}, "the 12th and last read"),
        ({"max_attempts": 13}, "the 13th and last read"),
        ({"max_attempts": 22}, "the 22nd and last read"),
        ({"max_attempts": 112, "timeout_ms": 6_376_001}, "the 111th would come 6436 s"),
    ],
)
def test_the_arithmetic_of_reads(timing: dict[str, int], said: str | None) -> None:
    changes = {"timing.stale_read_window_ms": 0} | {f"timing.{name}": value for name, value in timing.items()}
    found = lint(mutated(SHOPIFY, changes))
    assert [one.level for one in found] == ([] if said is None else ["warning"])
    assert said is None or said in found[0].message


TIMING = [
    (
        {"timing.stale_read_window_ms": 604_800_000},
        "timing.stale_read_window_ms",
        "stale for 604800 s, but the timeout is 604800 s",
    ),
    ({"timing.initial_delay_ms": 604_800_000}, "timing.initial_delay_ms", "no read would ever be made"),
    ({"timing.max_attempts": 10_001}, "timing.max_attempts", "at most 10000"),
]


@pytest.mark.parametrize(("changes", "field", "said"), TIMING)
def test_timing_that_does_not_add_up(changes: dict[str, Any], field: str, said: str) -> None:
    expect_error(SHOPIFY, changes, field, said)


def test_the_reads_of_a_contract_without_any_are_not_judged() -> None:
    changes = {
        "channels.refund_readback": DROP,
        REQUEST: DROP,
        READINGS: DROP,
        PRESENT: DROP,
        CREATED: DROP,
        "contradictions.refund_on_wrong_order": DROP,
        "contradictions.refund_predates_operation": DROP,
        MISMATCH: DROP,
        "verdict_map": {},
        "timing.max_attempts": 10_001,
    }
    assert lint(mutated(SHOPIFY, changes), CARRIED) == []
