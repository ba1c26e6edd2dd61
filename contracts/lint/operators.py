"""Operators that can never be true of what they are given."""

from collections.abc import Iterator
from typing import Final

from contracts.lint.finding import Finding, PlacedRule, error, listed, placed_rules
from contracts.lint.kinds import TEXTS, Kind, is_list, kind_of
from contracts.model import Contract, Expected
from contracts.operators import QUANTIFIED
from contracts.paths import is_path, is_plural

_LISTS: Final = ("in", "not_in", "every_in", "any_in")
_ORDERED: Final = ("gt", "gte", "lt", "lte")
_TIMES: Final = ("time_before", "time_after")
_QUANTIFIED: Final = listed(QUANTIFIED)

_NUMBERS: Final[frozenset[Kind]] = frozenset({"number"})
_DECIMALS: Final[frozenset[Kind]] = frozenset({"number", "text", "amount"})
_INSTANTS: Final[frozenset[Kind]] = frozenset({"instant", "text"})
_COMPARED: Final[frozenset[Kind]] = TEXTS | {"number", "truth value"}


def check(contract: Contract) -> Iterator[Finding]:
    """Find rules whose operator cannot compare what the rule reads with what it expects."""
    for placed in placed_rules(contract):
        faults = [*_shape_faults(placed), *_list_faults(contract, placed)]
        yield from faults or _kind_faults(contract, placed)


def _shape_faults(placed: PlacedRule) -> Iterator[Finding]:
    operator, expected = placed.rule.operator, placed.rule.expected
    field = f"{placed.field}.expected"
    if placed.decimal and operator in (*_TIMES, "exists"):
        yield error(f"readings.rules.{placed.id}.as", f"`{operator}` compares no decimal numbers")
    if operator in _LISTS and not (isinstance(expected, tuple) and expected):
        yield error(field, f"`{operator}` needs a list of what the value may be, written here")
    elif operator not in _LISTS and isinstance(expected, tuple):
        yield error(field, f"`{operator}` compares with a single value: a list goes with `in` or `not_in`")
    elif any(is_path(one) for one in _elements(expected) if operator in _LISTS):
        yield error(field, f"`{operator}` takes its list as it stands: a path within it is not followed")
    elif operator == "exists" and expected is not True:
        yield error(field, "`exists` expects true: a missing value proves nothing, not even its absence")


def _list_faults(contract: Contract, placed: PlacedRule) -> Iterator[Finding]:
    rule = placed.rule
    if rule.operator in QUANTIFIED and not is_list(contract, rule.path):
        message = (
            f"`{rule.operator}` compares each value of a list, and `{rule.path}` holds one: write `list[*].member`"
        )
        yield error(f"{placed.field}.path", message)
    elif rule.operator not in QUANTIFIED and is_plural(rule.path):
        message = f"`{rule.path}` holds a list of values, which `{rule.operator}` cannot compare: {_QUANTIFIED} can"
        yield error(f"{placed.field}.path", message)
    if any(is_path(one) and is_plural(str(one)) for one in _elements(rule.expected)):
        yield error(f"{placed.field}.expected", f"`{rule.expected}` holds a list of values: expected is a single one")


def _kind_faults(contract: Contract, placed: PlacedRule) -> Iterator[Finding]:
    rule = placed.rule
    if rule.operator == "exists":
        return
    allowed, compared = _allowed(placed)
    # What the elements of a webhook channel's list are called is text; of another list only the provider knows.
    actual = kind_of(contract, rule.path)
    actual = "name" if actual == "list" and rule.operator in QUANTIFIED else actual
    if actual is not None and actual not in allowed:
        message = f"`{rule.operator}` compares {compared}, but `{rule.path}` is {_a(actual)}"
        yield error(f"{placed.field}.path", message)
        return
    against, other = rule.path, actual
    for one in _elements(rule.expected):
        kind, shown = kind_of(contract, one), f"`{one}`"
        if kind is None and allowed == _NUMBERS:
            message = f"`{rule.operator}` needs a number, and {shown} need not be one: declare `as: decimal`"
        elif kind is not None and kind not in allowed:
            message = f"`{rule.operator}` compares {compared}, but {shown} is {_a(kind)}"
        elif kind and other and not placed.decimal and not _comparable(kind, other):
            message = f"`{against}` is {_a(other)} and {shown} is {_a(kind)}: the two are never compared"
        else:
            # Where only the provider knows what the path holds, a list must at least agree with itself.
            against, other = (against, other) if other else (str(one), kind)
            continue
        yield error(f"{placed.field}.expected", message)


def _elements(expected: Expected) -> tuple[str | bool | int, ...]:
    return expected if isinstance(expected, tuple) else (expected,)


def _allowed(placed: PlacedRule) -> tuple[frozenset[Kind], str]:
    if placed.decimal:
        return _DECIMALS, "decimal numbers"
    if placed.rule.operator in _ORDERED:
        return _NUMBERS, "numbers"
    if placed.rule.operator in _TIMES:
        return _INSTANTS, "instants (RFC 3339)"
    return _COMPARED, "single values"


def _comparable(one: Kind, other: Kind) -> bool:
    return one == other or (one in TEXTS and other in TEXTS)


def _a(kind: Kind) -> str:
    if kind == "name":
        return "text that is neither a number nor an instant"
    if kind == "text":
        return "text"
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
