"""All rules of a contract, applied to what was observed.

``facts`` maps a path's text to the value it holds; a path that is not in it is missing. So evaluation neither knows
nor cares where a value came from: an operation, an answer, or the ledger of events.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from contracts.model import Contract, Rule
from contracts.operators import Truth, comparison
from contracts.paths import MISSING

Facts = Mapping[str, Any]
Kind = Literal["condition", "contradiction", "verdict_map"]


class RuleResult(NamedTuple):
    """What one rule said, and over which values: enough to explain it without the code.

    ``channels`` are those that the result rests on, its ``unless`` included. ``unless`` is what the rule's exception
    said, where it has one; a rule that is excused by it does not hold.
    """

    id: str
    kind: Kind
    rule: Rule
    actual: Any
    expected: Any
    result: Truth
    channels: tuple[str, ...]
    unless: "RuleResult | None" = None

    @property
    def holds(self) -> bool:
        """Tell whether the rule is known to hold."""
        return self.result is Truth.TRUE


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The results of every rule, in the contract's order. ``unmet``: the conditions that are not known to hold."""

    conditions: tuple[RuleResult, ...]
    contradictions: tuple[RuleResult, ...]
    verdict_map: tuple[RuleResult, ...]
    unmet: tuple[RuleResult, ...]


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A rule with all that can be told of it before there are facts."""

    id: str
    kind: Kind
    rule: Rule
    path: str
    compare: Callable[[Any, Any], Truth]
    expected_path: str | None
    expected: Any
    channels: tuple[str, ...]
    unless: "_Prepared | None" = None

    def evaluate(self, facts: Facts) -> RuleResult:
        """Apply the rule."""
        actual = facts.get(self.path, MISSING)
        expected = self.expected if self.expected_path is None else facts.get(self.expected_path, MISSING)
        result = self.compare(actual, expected)
        if self.unless is None:
            return RuleResult(self.id, self.kind, self.rule, actual, expected, result, self.channels)
        unless = self.unless.evaluate(facts)
        # Only a known exception excuses. Were an unknown one enough, a refund of 0.00 without any transaction would
        # pass as the refund of 42.50 that was asked for.
        if unless.holds and result is Truth.TRUE:
            result = Truth.FALSE
        return RuleResult(self.id, self.kind, self.rule, actual, expected, result, self.channels, unless)


def _prepare(rule_id: str, kind: Kind, rule: Rule, *, decimal: bool, unless: _Prepared | None = None) -> _Prepared:
    expected = list(rule.expected) if isinstance(rule.expected, tuple) else rule.expected
    channels = tuple(dict.fromkeys((*rule.channels, *(unless.channels if unless is not None else ()))))
    compare = comparison(rule.operator, decimal=decimal)
    return _Prepared(rule_id, kind, rule, rule.path, compare, rule.expected_path, expected, channels, unless)


@lru_cache(maxsize=256)
def _prepared(contract: Contract) -> tuple[tuple[_Prepared, ...], tuple[_Prepared, ...], tuple[_Prepared, ...]]:
    def prepare(kind: Kind, rules: Iterable[tuple[str, Rule]]) -> tuple[_Prepared, ...]:
        prepared = []
        for rule_id, rule in rules:
            reading = contract.reading_of(rule_id)
            unless = _prepare(rule_id, kind, reading.unless, decimal=False) if reading.unless is not None else None
            prepared.append(_prepare(rule_id, kind, rule, decimal=reading.as_ == "decimal", unless=unless))
        return tuple(prepared)

    return (
        prepare("condition", contract.conditions.items()),
        prepare("contradiction", contract.contradictions.items()),
        prepare("verdict_map", contract.verdict_map.items()),
    )


def evaluate(contract: Contract, facts: Facts) -> Evaluation:
    """Apply every rule of a contract.

    Args:
        contract: the contract.
        facts: path text → value, for every path that resolves.

    Returns:
        The result of each rule, UNKNOWN where a value is missing or cannot be compared.
    """
    conditions, contradictions, verdict_map = (
        tuple([one.evaluate(facts) for one in rules]) for rules in _prepared(contract)
    )
    unmet = tuple([one for one in conditions if one.result is not Truth.TRUE])
    return Evaluation(conditions, contradictions, verdict_map, unmet)
