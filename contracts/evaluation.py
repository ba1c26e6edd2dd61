"""All rules of a contract, applied to what was observed.

``facts`` maps a path's text to the value it holds; a path that is not in it is missing. So evaluation neither knows
nor cares where a value came from: an operation, an answer, or the ledger of events.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from contracts.model import Contract, Rule
from contracts.operators import Truth, apply
from contracts.paths import MISSING, is_path

Facts = Mapping[str, Any]
Kind = Literal["condition", "contradiction", "verdict_map"]


@dataclass(frozen=True, slots=True)
class RuleResult:
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
    """The results of every rule, in the contract's order."""

    conditions: tuple[RuleResult, ...]
    contradictions: tuple[RuleResult, ...]
    verdict_map: tuple[RuleResult, ...]

    @property
    def unmet(self) -> tuple[RuleResult, ...]:
        """The conditions that are not known to hold."""
        return tuple(one for one in self.conditions if not one.holds)


def _value(expected: Any, facts: Facts) -> Any:
    if is_path(expected):
        return facts.get(expected, MISSING)
    return list(expected) if isinstance(expected, tuple) else expected


def _apply(rule: Rule, facts: Facts, *, decimal: bool = False) -> tuple[Any, Any, Truth]:
    actual, expected = facts.get(rule.path, MISSING), _value(rule.expected, facts)
    return actual, expected, apply(rule.operator, actual, expected, decimal=decimal)


def _evaluate_rule(contract: Contract, rule_id: str, kind: Kind, rule: Rule, facts: Facts) -> RuleResult:
    reading = contract.reading_of(rule_id)
    actual, expected, result = _apply(rule, facts, decimal=reading.as_ == "decimal")
    if reading.unless is None:
        return RuleResult(rule_id, kind, rule, actual, expected, result, rule.channels)
    unless = RuleResult(rule_id, kind, reading.unless, *_apply(reading.unless, facts), reading.unless.channels)
    # Only a known exception excuses. Were an unknown one enough, a refund of 0.00 without any transaction would pass
    # as the refund of 42.50 that was asked for.
    if unless.holds and result is Truth.TRUE:
        result = Truth.FALSE
    channels = tuple(dict.fromkeys((*rule.channels, *unless.channels)))
    return RuleResult(rule_id, kind, rule, actual, expected, result, channels, unless)


def evaluate(contract: Contract, facts: Facts) -> Evaluation:
    """Apply every rule of a contract.

    Args:
        contract: the contract.
        facts: path text → value, for every path that resolves.

    Returns:
        The result of each rule, UNKNOWN where a value is missing or cannot be compared.
    """
    return Evaluation(
        conditions=tuple(
            _evaluate_rule(contract, rule_id, "condition", rule, facts) for rule_id, rule in contract.conditions.items()
        ),
        contradictions=tuple(
            _evaluate_rule(contract, rule_id, "contradiction", rule, facts)
            for rule_id, rule in contract.contradictions.items()
        ),
        verdict_map=tuple(
            _evaluate_rule(contract, rule_id, "verdict_map", rule, facts)
            for rule_id, rule in contract.verdict_map.items()
        ),
    )
