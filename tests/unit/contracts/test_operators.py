"""The operators: each with values of every kind. UNKNOWN wherever a comparison would mean nothing."""

from decimal import Decimal
from typing import Any

import pytest

from contracts.operators import NAMES, QUANTIFIED, Truth, apply
from contracts.paths import MISSING

T, F, U = Truth.TRUE, Truth.FALSE, Truth.UNKNOWN
SECOND, MS_200 = "2026-03-12T15:42:18Z", "2026-03-12T15:42:18.200Z"
OPPOSITE = {T: F, F: T, U: U}


@pytest.mark.parametrize(
    ("actual", "expected", "truth"),
    [
        # text with text, to the letter
        ("42.50", "42.50", T),
        ("42.5", "42.50", F),
        ("USD", "usd", F),
        ("USD", "USD ", F),
        ("", "", T),
        ("", "USD", F),
        ("é", "e\u0301", F),
        # numbers with numbers, exactly
        (1, 1, T),
        (1, 2, F),
        (1, Decimal("1.0"), T),
        (Decimal("0.1"), Decimal("0.10"), T),
        (Decimal("0.1"), Decimal("0.1000000000000000055511151231257827"), F),
        (2**53, 2**53 + 1, F),
        (890088186047892319, 890088186047892400, F),
        # truth values with truth values
        (True, True, T),
        (True, False, F),
        # kinds that are never compared
        (True, 1, U),
        (0, False, U),
        (True, "true", U),
        ("1", 1, U),
        (42, "42", U),
        ("42.50", Decimal("42.50"), U),
        (Decimal("42.50"), "42.50", U),
        (1.0, 1, U),
        (1.0, 1.0, U),
        ([], [], U),
        ({}, {}, U),
        (["USD"], "USD", U),
        ({"amount": "42.50"}, "42.50", U),
        ("USD", ["USD"], U),
        (None, None, U),
    ],
)
def test_eq_compares_like_with_like_and_ne_is_its_complement(actual: Any, expected: Any, truth: Truth) -> None:
    assert apply("eq", actual, expected) is truth
    assert apply("ne", actual, expected) is OPPOSITE[truth]
    assert apply("eq", expected, actual) is truth


@pytest.mark.parametrize(
    ("actual", "expected", "order"),
    [(0, 1, -1), (1, 1, 0), (2, 1, 1), (Decimal("0.9"), 1, -1), (1, Decimal("1.00"), 0), (-1, -2, 1), (2**70, 1, 1)],
)
def test_numbers_are_ordered(actual: Any, expected: Any, order: int) -> None:
    assert apply("gt", actual, expected) is Truth.of(order > 0)
    assert apply("gte", actual, expected) is Truth.of(order >= 0)
    assert apply("lt", actual, expected) is Truth.of(order < 0)
    assert apply("lte", actual, expected) is Truth.of(order <= 0)


@pytest.mark.parametrize("operator", ["gt", "gte", "lt", "lte"])
@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        ("2", "1"),
        ("2", 1),
        (2, "1"),
        (True, 0),
        (1, False),
        (True, True),
        (2.0, 1),
        ([2], 1),
        ({}, 1),
        (SECOND, MS_200),
    ],
)
def test_nothing_but_numbers_has_an_order(operator: str, actual: Any, expected: Any) -> None:
    assert apply(operator, actual, expected) is U


@pytest.mark.parametrize(
    ("actual", "expected", "truth"),
    [
        ("FAILURE", ["FAILURE", "ERROR"], T),
        ("ERROR", ["FAILURE", "ERROR"], T),
        ("SUCCESS", ["FAILURE", "ERROR"], F),
        ("failure", ["FAILURE", "ERROR"], F),
        ("FAIL", ["FAILURE"], F),
        (1, [1, 2], T),
        (Decimal("2.0"), [1, 2], T),
        (3, [1, 2], F),
        (True, [True], T),
        (True, [1], U),
        (1, [True], U),
        (1, ["1"], U),
        ("1", [1, "1"], U),
        (["FAILURE"], ["FAILURE"], U),
        ({"status": "FAILURE"}, ["FAILURE"], U),
        ("FAILURE", "FAILURE", U),
        ("F", "FAILURE", U),
        ("FAILURE", {"FAILURE": 1}, U),
        (0.5, [0.5], U),
    ],
)
def test_in_wants_a_list_of_like_values_and_not_in_is_its_complement(actual: Any, expected: Any, truth: Truth) -> None:
    assert apply("in", actual, expected) is truth
    assert apply("not_in", actual, expected) is OPPOSITE[truth]


@pytest.mark.parametrize("actual", ["text", "", 0, False, [], {}, Decimal(0)])
def test_whatever_is_there_exists(actual: Any) -> None:
    assert apply("exists", actual, expected=True) is T
    assert apply("exists", actual, expected=False) is F
    assert apply("exists", actual, expected="true") is U
    assert apply("exists", actual, expected=1) is U


@pytest.mark.parametrize(
    ("actual", "expected", "before"),
    [
        ("2026-03-12T15:42:17Z", MS_200, T),
        (SECOND, MS_200, F),
        (SECOND, SECOND, F),
        ("2026-03-12T15:42:19Z", MS_200, F),
        ("2026-03-12T08:42:17-07:00", MS_200, T),
        ("2026-03-12T08:42:18-07:00", MS_200, F),
        # as text, "2026-03-12T16…" is after "2026-03-12T15…": it is an hour earlier with this offset
        ("2026-03-12T16:42:17+02:00", MS_200, T),
        ("2018-19-12T22:20:32.000Z", MS_200, U),
        ("2026-03-12", MS_200, U),
        ("", MS_200, U),
        (MS_200, "yesterday", U),
        (1773330138, MS_200, U),
        (MS_200, 1773330138, U),
        (True, MS_200, U),
        ([SECOND], MS_200, U),
        ({}, MS_200, U),
    ],
)
def test_time_before_takes_the_whole_interval_and_time_after_is_its_complement(
    actual: Any, expected: Any, before: Truth
) -> None:
    assert apply("time_before", actual, expected) is before
    assert apply("time_after", actual, expected) is OPPOSITE[before]


@pytest.mark.parametrize("operator", sorted(NAMES))
@pytest.mark.parametrize(
    ("actual", "expected"),
    [(MISSING, "42.50"), ("42.50", MISSING), (MISSING, MISSING), (MISSING, True), (MISSING, ["42.50"]), (MISSING, 0)],
)
@pytest.mark.parametrize("decimal", [False, True])
def test_no_operator_is_anything_but_unknown_on_a_missing_value(
    operator: str, actual: Any, expected: Any, decimal: bool
) -> None:
    assert apply(operator, actual, expected, decimal=decimal) is U


@pytest.mark.parametrize("operator", sorted(NAMES))
@pytest.mark.parametrize("actual", [{"deep": {"er": []}}, [{}], {}])
def test_values_that_cannot_be_hashed_or_ordered_raise_nothing(operator: str, actual: Any) -> None:
    for expected in ("x", 1, True, ["x"], {}, [], [[]]):
        apply(operator, actual, expected)
        apply(operator, expected, actual)


@pytest.mark.parametrize(
    ("operator", "actual", "expected", "truth"),
    [
        ("eq", "42.5", "42.50", T),
        ("ne", "42.5", "42.50", F),
        ("eq", Decimal("42.5"), "42.50", T),
        ("eq", 42, "42.0", T),
        ("ne", "42.05", "42.50", T),
        ("ne", "0.0", "42.50", T),
        ("gt", "9.0", "10.0", F),
        ("lt", "9.0", "10.0", T),
        ("in", "42.5", ["42.50", "1"], T),
        ("not_in", "42.5", ["42.50", "1"], F),
        ("in", "7", ["42.50", "1"], F),
        ("ne", "1e2", "100", U),
        ("ne", "NaN", "42.50", U),
        ("ne", "", "42.50", U),
        ("ne", True, "1", U),
        ("ne", 42.5, "42.50", U),
        ("ne", "42.50", "forty", U),
        ("in", "42.5", ["42.50", "all"], U),
        ("not_in", "42.5", ["all"], U),
        ("ne", {"amount": "42.50"}, "42.50", U),
        ("ne", "9" * 65, "42.50", U),
    ],
)
def test_as_decimal_compares_numbers_whatever_they_are_written_as(
    operator: str, actual: Any, expected: Any, truth: Truth
) -> None:
    assert apply(operator, actual, expected, decimal=True) is truth


def test_truth_is_made_of_what_is_known() -> None:
    assert [Truth.of(one) for one in (True, False, None)] == [T, F, U]


@pytest.mark.parametrize(
    ("actual", "every", "some"),
    [
        (["SUCCESS"], T, T),
        (["SUCCESS", "SUCCESS"], T, T),
        (["SUCCESS", "FAILURE"], F, T),
        (["FAILURE"], F, F),
        (["SUCCESS", MISSING], U, T),
        (["FAILURE", MISSING], F, U),
        (["FAILURE", MISSING, "SUCCESS"], F, T),
        ([MISSING], U, U),
        (["SUCCESS", 7], U, T),
        (["FAILURE", 7], F, U),
        # where nothing is, nothing was seen to succeed
        ([], F, F),
        # no list at all
        (MISSING, U, U),
        ("SUCCESS", U, U),
        ({"0": "SUCCESS"}, U, U),
        (None, U, U),
    ],
)
def test_of_a_list_every_value_is_judged_or_any(actual: Any, every: Truth, some: Truth) -> None:
    assert apply("every_eq", actual, "SUCCESS") is every
    assert apply("every_in", actual, ["SUCCESS", "DONE"]) is every
    assert apply("any_eq", actual, "SUCCESS") is some
    assert apply("any_in", actual, ["SUCCESS", "DONE"]) is some


def test_the_values_of_a_list_may_be_compared_as_decimals() -> None:
    assert apply("every_eq", ["42.5", "42.50", 42], "42.50", decimal=True) is F
    assert apply("every_eq", ["42.5", "42.50"], "42.50", decimal=True) is T
    assert apply("any_in", ["x", "7"], ["7.0"], decimal=True) is T
    assert apply("every_in", ["x", "7"], ["7.0"], decimal=True) is U


@pytest.mark.parametrize("operator", sorted(QUANTIFIED))
@pytest.mark.parametrize("actual", [[], ["SUCCESS"], ["FAILURE"]])
def test_of_a_list_nothing_is_known_where_the_expected_value_is_missing(operator: str, actual: Any) -> None:
    assert apply(operator, actual, MISSING) is U
