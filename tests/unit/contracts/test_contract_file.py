"""What is wrong with a contract file, in plain words and with its line."""

from pathlib import Path
from typing import Any

import pytest
from mutation import PAYPAL, SHOPIFY, Write, line_with, problems_of

from contracts.catalogue import BUILT_IN, load_contract
from contracts.contract_file import PATTERNS
from contracts.model import PATH_PATTERN, Contract


@pytest.mark.parametrize("name", [SHOPIFY, PAYPAL])
def test_built_in_contracts_load(name: str) -> None:
    contract = load_contract(BUILT_IN / name)
    assert contract.provider == name.split("/", maxsplit=1)[0]
    assert f"{contract.provider}.{Path(name).stem}" == contract.id


DUPLICATE = "readings.rules.duplicate_refund_present"
COUNTED = "conditions.refund_on_intended_capture"
EVENTS = "readings.events.capture_refunded_events"
RULES = "rules:\n    duplicate_refund_present: "
DECLARED = "{do_not_retry: true}"
# What is replaced by what; the field; a part of the sentence; what stands on the line that is named.
MALFORMED = [
    ("  minimum_level: E2", "  minimum_level: E7", "evidence.minimum_level", "not 'E7'", "E7"),
    ("timeout_ms: 900000", "timeout_ms: 0", "timing.timeout_ms", "greater than 0, not 0", "timeout_ms: 0"),
    ("timeout_ms: 900000", "timeout_ms: 9e5", "timing.timeout_ms", "a whole number, not 900000.0", "9e5"),
    ("  timeout_ms: 900000\n", "", "timing.timeout_ms", "this field is missing", "timing:"),
    ("completion_level: refund_recorded\n", "", "completion_level", "this field is missing", "id: paypal"),
    ('version: "1.0.0"', "version: 1.0", "version", "should be text (in quotes", "version: 1.0"),
    ('version: "1.0.0"', "version: 1.0.0-beta", "version", "three numbers", "beta"),
    ("last_reviewed: 2026-09-05", "last_reviewed: soon", "published.last_reviewed", "a date such as", "soon"),
    ("do_not_retry: true", "do_not_retry: yes", f"{DUPLICATE}.do_not_retry", "'yes'", "yes"),
    ("required: false", "requird: false", "correlation.0.requird", "did you mean `required`?", "requird"),
    ("escalate: true", "escalat: true", "timing.on_timeout.escalat", "did you mean `escalate`?", "escalat: "),
    (
        RULES + DECLARED,
        RULES + "{as: text}",
        f"{DUPLICATE}.as",
        "should be 'decimal', not 'text'",
        "as: text",
    ),
    (
        RULES + DECLARED,
        RULES + "{zz: 1}",
        f"{DUPLICATE}.zz",
        "the fields are as, unless, do_not_retry",
        "zz: 1",
    ),
    ("expected: 1\n", "expected: 1.5\n", f"{COUNTED}.expected", "write it as text", "1.5"),
    ("expected: 1\n", "expected: [1.5]\n", f"{COUNTED}.expected.0", "as text", "[1.5]"),
    ("expected: 1\n", "expected: {a: 1}\n", f"{COUNTED}.expected", "not a mapping", "{a: 1}"),
    ("expected: 1\n", "expected:\n", f"{COUNTED}.expected", "not nothing", "expected:\n"),
    (
        "expected: $input.amount",
        "expected: $inptu.amount",
        "conditions.refund_amount_matches.expected",
        "$inptu",
        "$inptu",
    ),
    ("operator: gte", "operator: ge", f"{COUNTED}.operator", "unknown operator 'ge'", ": ge"),
    ("refund_present:", "Refund-present:", "conditions.Refund-present", "lower-case letters", "Refund-present"),
    ("types: [PAYMENT.CAPTURE.REFUNDED]", "types: []", f"{EVENTS}.types", "not be empty", "types: []"),
    ("types: [PAYMENT.CAPTURE.REFUNDED]", "types: X", f"{EVENTS}.types", "a list, not 'X'", "types: X"),
    (
        "capture_id: {type: text}",
        "capture_id: {type: identifier}",
        "readings.input.capture_id",
        "which needs it",
        "identifier",
    ),
    (
        "case_key: {name: capture_id",
        "case_key: x\n  zz: {name: capture_id",
        "readings.case_key",
        "a mapping of fields",
        "case_key: x",
    ),
    (
        "  rules:\n    duplicate",
        "  rules: 2026-09-08\n  zz:\n    duplicate",
        "readings.rules",
        "not the date 2026-09-08",
        "rules: 2026",
    ),
    ("intent: Refund", "intent: [Refund]\nzz: Refund", "intent", "not a list", "intent:"),
    ("intent: Refund", "intent: ''\nzz: Refund", "intent", "should not be empty", "intent:"),
    ("intent: Refund", "intent: ~\nzz: Refund", "intent", "not nothing", "intent:"),
    ("intent: Refund", "intent: true\nzz: Refund", "intent", "not true", "intent:"),
]


@pytest.mark.parametrize(("old", "new", "field", "said", "marker"), MALFORMED)
def test_what_is_malformed_is_named_with_its_line(
    write: Write, old: str, new: str, field: str, said: str, marker: str
) -> None:
    path = write((old, new))
    # Where a field is misspelt, another one is missing; that is a problem of its own.
    (problem,) = [one for one in problems_of(path) if one.field == field]
    assert said in problem.message
    assert problem.file == path
    if marker.endswith("\n"):
        assert path.read_text().splitlines()[problem.line - 1].endswith(marker.strip())
    else:
        assert problem.line == line_with(path, marker)
    assert problem.level == "error"
    assert "pydantic" not in str(problem)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("minimum_level: E2", "minimum_level: E7", "should be 'E1', 'E2', 'E3' or 'E4', not 'E7'"),
        ("  timeout_ms: 900000\n", "", "this field is missing"),
        ("intent: Refund the captured payment to the payer.", "intent: ''", "should not be empty"),
        ("expected: 1\n", "expected: [1.5]\n", "1.5 is a floating-point number: write it as text, in quotes"),
    ],
)
def test_a_message_says_so_much_and_no_more(write: Write, old: str, new: str, message: str) -> None:
    assert [one.message for one in problems_of(write((old, new)))] == [message]


def test_a_value_that_is_none_of_several_kinds_is_named_beside_other_problems(write: Write) -> None:
    found = problems_of(write(("expected: 1\n", "expected: {a: 1}\n"), ("method: GET", "method: PUT")))
    assert [one.field for one in found] == [f"{COUNTED}.expected", "readings.requests.refund_readback.method"]


def test_a_bad_name_is_told_beside_what_is_bad_below_it(write: Write) -> None:
    found = problems_of(write(("refund_present:", "Refund-present:"), ("operator: eq", "operator: equals")))
    assert [one.field for one in found] == ["conditions.Refund-present", "conditions.Refund-present.operator"]


def test_a_long_value_is_not_shown_whole(write: Write) -> None:
    (problem,) = problems_of(write(('hash: "7d45cbc2d30f5005"', "hash: 1" + "0" * 200)))
    assert problem.message.endswith("…")
    assert len(problem.message) < 160


def test_every_problem_of_a_file_is_named_in_the_order_of_its_lines(write: Write) -> None:
    path = write(("minimum_level: E2", "minimum_level: E7"), ("timeout_ms: 900000", "timeout_ms: x"), ("id:", "idd:"))
    found = problems_of(path)
    assert [one.field for one in found] == ["id", "idd", "evidence.minimum_level", "timing.timeout_ms"]
    assert [one.line for one in found] == sorted(one.line for one in found)
    assert str(found[-1]).startswith(f"{path}:{found[-1].line}: error: timing.timeout_ms: should be a whole number")


def test_every_pattern_of_the_model_is_explained() -> None:
    def patterns(node: Any) -> set[str]:
        if isinstance(node, list):
            return set().union(*map(patterns, node))
        if not isinstance(node, dict):
            return set()
        own = {node["pattern"]} if isinstance(node.get("pattern"), str) else set()
        return own.union(node.get("patternProperties", ()), *map(patterns, node.values()))

    assert patterns(Contract.model_json_schema()) == {*PATTERNS, PATH_PATTERN}
