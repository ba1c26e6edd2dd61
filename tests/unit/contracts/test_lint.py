"""Paths that never resolve, and operators that can never be true."""

from typing import Any

import pytest
from mutation import CARRIED, PAYPAL, SHOPIFY, contradiction, errors, expect_error, mutated, rule

from contracts.lint import lint

COUNT = "$observed.order_refund_events.count"
TYPES = "$observed.order_refund_events.types"
READ = "$observed.refund_readback.data.refund"
PRESENT = "conditions.refund_present"
CREATED = "conditions.refund_created_in_window"
DUPLICATE = "contradictions.duplicate_refund_present"
MISMATCH = "contradictions.refund_amount_mismatch"
READINGS = "readings.rules.refund_amount_mismatch"
REQUEST = "readings.requests.refund_readback"
EVENTS = "readings.events.order_refund_events"


@pytest.mark.parametrize("contract_file", [SHOPIFY, PAYPAL])
def test_built_in_contracts_have_no_error_and_one_warning(contract_file: str) -> None:
    found = lint(mutated(contract_file, {}), CARRIED)
    assert [(one.level, one.field) for one in found] == [("warning", "timing.max_attempts")]


PATHS = [
    (
        {DUPLICATE: contradiction(rule("$observed.order_refund_events.latest[0]", "eq", "X"))},
        f"{DUPLICATE}.path",
        "reads what `latest` of a webhook channel does not hold",
    ),
    (
        {DUPLICATE: contradiction(rule(f"{TYPES}.first", "eq", "X"))},
        f"{DUPLICATE}.path",
        "reads what `types` of a webhook channel does not hold",
    ),
    ({f"{DUPLICATE}.path": "$observed.orders.count"}, f"{DUPLICATE}.path", "reads the channel `orders`"),
    (
        {f"{MISMATCH}.expected": "$observed.orders.count"},
        f"{MISMATCH}.expected",
        "reads the channel `orders`",
    ),
    (
        {f"{READINGS}.unless.path": "$observed.orders.x"},
        f"{READINGS}.unless.path",
        "reads the channel `orders`",
    ),
    ({f"{DUPLICATE}.path": "$observed[0]"}, f"{DUPLICATE}.path", "reads the channel `0`"),
    ({f"{MISMATCH}.expected": "$input.sum"}, f"{MISMATCH}.expected", "declares `order_id` and `amount`"),
    (
        {f"{MISMATCH}.expected": "$input.amount.value"},
        f"{MISMATCH}.expected",
        "the path ends at `$input.amount`",
    ),
    ({"correlation.1.keys.amount": "$input.sum"}, "correlation.1.keys.amount", "reads `sum`"),
    ({"subject.identity.refund_id": "$input.sum"}, "subject.identity.refund_id", "reads `sum`"),
    ({"readings.case_key.operation": "$input.sum"}, "readings.case_key.operation", "reads `sum`"),
    ({f"{REQUEST}.graphql.variables.id": "$input.sum"}, f"{REQUEST}.graphql.variables.id", "reads `sum`"),
    ({f"{EVENTS}.where.order_id": "$input.sum"}, f"{EVENTS}.where.order_id", "reads `sum`"),
    (
        {f"{CREATED}.expected": "$operation.started"},
        f"{CREATED}.expected",
        "an operation has `id`, `created_at`, `contract` and `connection`",
    ),
    ({f"{PRESENT}.expected": "$action.refund.id"}, f"{PRESENT}.expected", "a `result` or an `error`"),
    (
        {f"{EVENTS}.where.order_id": f"{READ}.order.id"},
        f"{EVENTS}.where.order_id",
        "needed before anything is observed",
    ),
    (
        {"readings.case_key.operation": f"{READ}.order.id"},
        "readings.case_key.operation",
        "needed before anything is observed",
    ),
    ({f"{DUPLICATE}.path": "$observed.order_refund_events"}, f"{DUPLICATE}.path", "a webhook channel holds"),
    (
        {f"{DUPLICATE}.path": "$observed.order_refund_events.total"},
        f"{DUPLICATE}.path",
        "`events`, `count`, `latest`, `earliest`, `types` and `duplicates_dropped`",
    ),
    ({f"{DUPLICATE}.path": f"{COUNT}.x"}, f"{DUPLICATE}.path", "reads what `count` of a webhook channel does not hold"),
    (
        {DUPLICATE: {**rule(f"{TYPES}[*]", "any_eq", "X"), "class": "x", "reason": "x"}},
        f"{DUPLICATE}.path",
        "read as a whole",
    ),
    (
        {DUPLICATE: {**rule(f"{TYPES}[0].name", "eq", "X"), "class": "x", "reason": "x"}},
        f"{DUPLICATE}.path",
        "reads what `types` of a webhook channel does not hold",
    ),
]


@pytest.mark.parametrize(("changes", "field", "said"), PATHS)
def test_a_path_that_never_resolves(changes: dict[str, Any], field: str, said: str) -> None:
    expect_error(SHOPIFY, changes, field, said)


def test_a_parameter_that_reads_an_undeclared_input() -> None:
    changes = {f"{REQUEST}.parameters.refund_id": "$input.refund"}
    expect_error(PAYPAL, changes, f"{REQUEST}.parameters.refund_id", "reads `refund`")


@pytest.mark.parametrize("path", [f"{TYPES}[0]", "$observed.order_refund_events.latest"])
def test_what_a_webhook_channel_holds_may_be_read(path: str) -> None:
    assert errors(SHOPIFY, {DUPLICATE: contradiction(rule(path, "eq", "X"))}) == []


@pytest.mark.parametrize(
    ("path", "operator", "expected"),
    [
        (f"{READ}.transactions[*].status", "every_eq", "SUCCESS"),
        (f"{READ}.transactions[kind=REFUND].status", "any_in", ("FAILURE", "ERROR")),
        (TYPES, "any_eq", "REFUNDS_CREATE"),
    ],
)
def test_each_value_of_a_list_may_be_compared(path: str, operator: str, expected: Any) -> None:
    assert errors(SHOPIFY, {DUPLICATE: contradiction(rule(path, operator, expected))}) == []


def test_a_query_that_does_not_ask_whether_there_is_more() -> None:
    query = "query Q($id: ID!) { refund(id: $id) { transactions(first: 50) { nodes { status } } } }"
    changed = contradiction(rule(f"{READ}.transactions[*].status", "every_eq", "SUCCESS"))
    changes = {DUPLICATE: changed, f"{REQUEST}.graphql.document": query}
    expect_error(SHOPIFY, changes, f"{DUPLICATE}.path", "does not ask for `pageInfo { hasNextPage }`")


OPERATORS = [
    (rule(f"{READ}.status", "in", "FAILURE"), "expected", "`in` needs a list"),
    (rule(f"{READ}.status", "not_in", "$input.amount"), "expected", "`not_in` needs a list"),
    (rule(f"{READ}.status", "in", ()), "expected", "`in` needs a list"),
    (rule(f"{READ}.status", "in", ("A", "$input.amount")), "expected", "a path within it is not followed"),
    (rule(f"{READ}.status", "in", ("A", 1)), "expected", "the two are never compared"),
    (rule(f"{READ}.status", "eq", ("A",)), "expected", "a list goes with `in` or `not_in`"),
    (rule(f"{READ}.total", "gt", "1"), "expected", "compares numbers, but `1` is an amount"),
    (
        rule(f"{READ}.total", "lte", "$input.amount"),
        "expected",
        "compares numbers, but `$input.amount` is an amount",
    ),
    (rule(f"{READ}.total", "gte", "$action.result.n"), "expected", "need not be one: declare `as: decimal`"),
    (rule(f"{READ}.total", "lt", f"{READ}.limit"), "expected", "need not be one: declare `as: decimal`"),
    (rule(f"{READ}.total", "gt", True), "expected", "`True` is a truth value"),
    (rule(TYPES, "gt", 1), "path", f"compares numbers, but `{TYPES}` is a list"),
    (rule(f"{TYPES}[0]", "lt", 1), "path", "compares numbers"),
    (rule(TYPES, "eq", "REFUNDS_CREATE"), "path", "compares single values"),
    (rule(COUNT, "eq", "1"), "expected", f"`{COUNT}` is a number and `1` is an amount"),
    (rule(COUNT, "in", ("1", "2")), "expected", "`1` is an amount: the two are never compared"),
    (rule(COUNT, "eq", "$input.amount"), "expected", "the two are never compared"),
    (rule(f"{TYPES}[0]", "eq", 1), "expected", "the two are never compared"),
    (rule(COUNT, "time_after", "$operation.created_at"), "path", "compares instants"),
    (rule(f"{READ}.createdAt", "time_after", "yesterday"), "expected", "compares instants"),
    (rule(f"{READ}.createdAt", "time_before", "2026-13-01T00:00:00Z"), "expected", "compares instants"),
    (rule(f"{READ}.createdAt", "time_before", 5), "expected", "`5` is a number"),
    (rule(f"{READ}.createdAt", "time_before", "$input.amount"), "expected", "is an amount"),
    (
        rule(f"{READ}.createdAt", "time_before", "$operation.id"),
        "expected",
        "neither a number nor an instant",
    ),
    (rule(f"{READ}.lines[*].status", "eq", "A"), "path", "holds a list of values, which `eq` cannot compare"),
    (rule(f"{READ}.lines[kind=A].status", "exists", True), "path", "which `exists` cannot compare"),
    (rule(f"{READ}.lines[0].status", "every_eq", "A"), "path", "compares each value of a list"),
    (rule(COUNT, "any_eq", 1), "path", "compares each value of a list"),
    (rule(f"{READ}.lines[*].status", "every_in", "A"), "expected", "`every_in` needs a list"),
    (rule(f"{READ}.lines[*].status", "any_eq", ("A",)), "expected", "a list goes with `in` or `not_in`"),
    (rule(f"{READ}.id", "eq", f"{READ}.lines[*].id"), "expected", "expected is a single one"),
    (rule(TYPES, "any_eq", 1), "expected", "the two are never compared"),
    (rule(f"{READ}.id", "exists", "yes"), "expected", "`exists` expects true"),
    (rule(f"{READ}.id", "exists", False), "expected", "not even its absence"),
]


@pytest.mark.parametrize(("changed", "member", "said"), OPERATORS)
def test_an_operator_that_can_never_be_true(changed: dict[str, Any], member: str, said: str) -> None:
    found = errors(SHOPIFY, {DUPLICATE: contradiction(changed)})
    assert {one.field for one in found} == {f"{DUPLICATE}.{member}"}, found
    assert said in found[0].message


def test_an_exception_is_held_against_the_operators_too() -> None:
    changes = {f"{READINGS}.unless.operator": "eq"}
    expect_error(SHOPIFY, changes, f"{READINGS}.unless.expected", "a list goes with `in`")


APPLICABLE = [
    rule(f"{READ}.total", "gt", 0),
    rule(COUNT, "eq", "$action.result.count"),
    rule("$observed.refund_readback.count", "eq", "1"),
    rule(f"{READ}.id", "exists", True),
    rule(f"{READ}.createdAt", "time_before", "2026-01-01T00:00:00+02:00"),
    rule(f"{READ}.createdAt", "time_before", "$observed.refund_events.latest"),
    rule("$observed.order_refund_events.count", "gt", "$observed.refund_events.count"),
    rule("$observed.order_refund_events.latest", "time_before", "$operation.created_at"),
    rule(f"{READ}.status", "ne", "$input.order_id"),
    rule(f"{READ}.test", "eq", True),
    rule(f"{READ}.status", "not_in", ("A", "B")),
    rule(COUNT, "in", (2, 3)),
]


@pytest.mark.parametrize("changed", APPLICABLE)
def test_an_operator_that_applies(changed: dict[str, Any]) -> None:
    assert errors(SHOPIFY, {DUPLICATE: contradiction(changed)}) == []


def test_an_input_of_any_text_may_turn_out_to_be_an_instant_or_a_number() -> None:
    created, amount = "conditions.refund_created_in_window", "contradictions.refund_amount_mismatch"
    assert errors(PAYPAL, {f"{created}.expected": "$input.capture_id"}) == []
    changes = {f"{amount}.expected": "$input.capture_id", "readings.rules.refund_amount_mismatch.as": "decimal"}
    assert errors(PAYPAL, changes) == []
    expect_error(
        PAYPAL,
        {f"{amount}.operator": "gt", f"{amount}.expected": "$input.capture_id"},
        f"{amount}.expected",
        "compares numbers, but `$input.capture_id` is text",
    )


DECIMALS = [
    (
        rule(f"{READ}.createdAt", "time_before", "$operation.created_at"),
        f"{READINGS}.as",
        "no decimal numbers",
    ),
    (rule(f"{READ}.id", "exists", True), f"{READINGS}.as", "no decimal numbers"),
    (rule(f"{READ}.amount", "ne", "lots"), f"{MISMATCH}.expected", "compares decimal numbers, but `lots`"),
    (rule(f"{READ}.amount", "ne", "$input.order_id"), f"{MISMATCH}.expected", "compares decimal numbers"),
    (rule(f"{READ}.amount", "ne", True), f"{MISMATCH}.expected", "is a truth value"),
    (rule("$observed.order_refund_events.latest", "gt", 1), f"{MISMATCH}.path", "is an instant"),
]


@pytest.mark.parametrize(("changed", "field", "said"), DECIMALS)
def test_what_is_no_decimal_number(changed: dict[str, Any], field: str, said: str) -> None:
    expect_error(SHOPIFY, {MISMATCH: contradiction(changed)}, field, said)


@pytest.mark.parametrize(
    "changed",
    [
        rule(f"{READ}.amount", "gt", "$input.amount"),
        rule(f"{READ}.amount", "lt", "42.50"),
        rule(f"{READ}.amount", "in", ("42.50", 3)),
        rule(f"{READ}.amount", "gte", "$action.result.amount"),
    ],
)
def test_decimals_may_be_ordered(changed: dict[str, Any]) -> None:
    assert errors(SHOPIFY, {MISMATCH: contradiction(changed)}) == []
