"""The operators of rules, three-valued.

Each operator takes the actual and the expected value and answers TRUE, FALSE or UNKNOWN. A value that is missing,
or of a type that the operator cannot compare, gives UNKNOWN and never TRUE, ``ne`` and ``not_in`` included:
absence of evidence is no evidence.

``every_…`` and ``any_…`` take a list of values, from a path through a list, and compare each of them. They combine the
answers as Kleene does, but ``every`` is FALSE of an empty list: where nothing is, nothing was seen to succeed.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from contracts.instants import Instant, parse_instant
from contracts.paths import MISSING
from contracts.values import as_decimal


class Truth(StrEnum):
    """What a rule says: Kleene's three values."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, answer: bool | None) -> "Truth":
        """Turn True, False or None (cannot be told) into a truth value."""
        return _TRUTHS[answer]


_TRUTHS: Final = {True: Truth.TRUE, False: Truth.FALSE, None: Truth.UNKNOWN}
Compare = Callable[[Any, Any], bool | None]


def _same_kind(actual: Any, expected: Any) -> bool:
    """Tell whether two values may be compared at all: text with text, a bool with a bool, a number with a number."""
    if isinstance(actual, bool) or isinstance(expected, bool):
        return isinstance(actual, bool) and isinstance(expected, bool)
    if isinstance(actual, str) or isinstance(expected, str):
        return isinstance(actual, str) and isinstance(expected, str)
    return isinstance(actual, int | Decimal) and isinstance(expected, int | Decimal)


def _eq(actual: Any, expected: Any) -> bool | None:
    if type(actual) is str and type(expected) is str:  # the common case, first
        return actual == expected
    return bool(actual == expected) if _same_kind(actual, expected) else None


def _not(compare: Compare) -> Compare:
    def negated(actual: Any, expected: Any) -> bool | None:
        answer = compare(actual, expected)
        return None if answer is None else not answer

    return negated


def _ordered(holds: Callable[[Any, Any], bool]) -> Compare:
    """Compare numbers only: the order of two texts, or of a text and a number, means nothing to a contract."""

    def compare(actual: Any, expected: Any) -> bool | None:
        if isinstance(actual, str | bool) or not _same_kind(actual, expected):
            return None
        return holds(actual, expected)

    return compare


def _in(actual: Any, expected: Any) -> bool | None:
    if not isinstance(expected, list | tuple):
        return None
    answers = [_eq(actual, one) for one in expected]
    return None if None in answers else True in answers


def _exists(actual: Any, expected: Any) -> bool | None:
    # The caller answers UNKNOWN for a missing value, so what arrives here exists.
    return expected if isinstance(expected, bool) else None


def _time(value: Any) -> Instant | None:
    try:
        return parse_instant(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _time_before(actual: Any, expected: Any) -> bool | None:
    left, right = _time(actual), _time(expected)
    return None if left is None or right is None else left.wholly_before(right)


OPERATORS: Final[Mapping[str, Compare]] = {
    "eq": _eq,
    "ne": _not(_eq),
    "gt": _ordered(lambda actual, expected: actual > expected),
    "gte": _ordered(lambda actual, expected: actual >= expected),
    "lt": _ordered(lambda actual, expected: actual < expected),
    "lte": _ordered(lambda actual, expected: actual <= expected),
    "in": _in,
    "not_in": _not(_in),
    "exists": _exists,
    "time_before": _time_before,
    "time_after": _not(_time_before),
}


def _every(answers: Iterable[Truth]) -> Truth:
    found = set(answers)
    if not found or Truth.FALSE in found:
        return Truth.FALSE
    return Truth.UNKNOWN if Truth.UNKNOWN in found else Truth.TRUE


def _any(answers: Iterable[Truth]) -> Truth:
    found = set(answers)
    if Truth.TRUE in found:
        return Truth.TRUE
    return Truth.UNKNOWN if Truth.UNKNOWN in found else Truth.FALSE


# The operators over the values of a list: how the answers combine, and what compares each value.
QUANTIFIED: Final[Mapping[str, tuple[Callable[[Iterable[Truth]], Truth], str]]] = {
    f"{quantifier}_{operator}": (combine, operator)
    for quantifier, combine in (("every", _every), ("any", _any))
    for operator in ("eq", "in")
}
NAMES: Final = (*OPERATORS, *QUANTIFIED)


def comparison(operator: str, *, decimal: bool = False) -> Callable[[Any, Any], Truth]:
    """Return what an operator does.

    Args:
        operator: one of :data:`NAMES`.
        decimal: compare both sides as decimal numbers (``as: decimal`` in a contract), so "42.5" equals "42.50".

    Returns:
        A function of the value that the rule's path holds, or MISSING, and of the value to compare with, or MISSING; a
        list for ``in`` and ``not_in``. It answers TRUE or FALSE where both values are there and can be compared,
        UNKNOWN otherwise.
    """
    if operator in QUANTIFIED:
        return _quantified(*QUANTIFIED[operator], decimal=decimal)
    compare = OPERATORS[operator]

    def compared(actual: Any, expected: Any) -> Truth:
        if actual is MISSING or expected is MISSING:
            return Truth.UNKNOWN
        return _TRUTHS[compare(actual, expected)]

    def compared_as_decimals(actual: Any, expected: Any) -> Truth:
        if actual is MISSING or expected is MISSING:
            return Truth.UNKNOWN
        actual = as_decimal(actual)
        expected = [as_decimal(one) for one in expected] if isinstance(expected, list) else as_decimal(expected)
        if actual is None or expected is None or (isinstance(expected, list) and None in expected):
            return Truth.UNKNOWN
        return _TRUTHS[compare(actual, expected)]

    return compared_as_decimals if decimal else compared


def _quantified(
    combine: Callable[[Iterable[Truth]], Truth], operator: str, *, decimal: bool
) -> Callable[[Any, Any], Truth]:
    compare = comparison(operator, decimal=decimal)

    def compared(actual: Any, expected: Any) -> Truth:
        if not isinstance(actual, list) or expected is MISSING:
            return Truth.UNKNOWN
        return combine([compare(one, expected) for one in actual])

    return compared


def apply(operator: str, actual: Any, expected: Any, *, decimal: bool = False) -> Truth:
    """Apply an operator once, see :func:`comparison`."""
    return comparison(operator, decimal=decimal)(actual, expected)
