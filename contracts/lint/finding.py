"""What lint finds, and the rules it looks at."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from contracts.model import Contract, Rule
from contracts.problems import Severity

Group = Literal["conditions", "contradictions", "verdict_map", "unless"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a contract.

    ``field`` is a dotted path such as ``conditions.refund_present.evidence``; ``message`` says what and why.
    """

    level: Severity
    field: str
    message: str


def error(field: str, message: str) -> Finding:
    """Make a finding that keeps the contract from being used."""
    return Finding("error", field, message)


def warning(field: str, message: str) -> Finding:
    """Make a finding that is for the author to weigh."""
    return Finding("warning", field, message)


@dataclass(frozen=True, slots=True)
class PlacedRule:
    """A rule and its place: the group it stands in, its id, and whether it compares as decimal numbers."""

    group: Group
    id: str
    rule: Rule
    decimal: bool

    @property
    def field(self) -> str:
        """The dotted path of the rule."""
        if self.group == "unless":
            return f"readings.rules.{self.id}.unless"
        return f"{self.group}.{self.id}"


def placed_rules(contract: Contract) -> Iterator[PlacedRule]:
    """Go through every rule: conditions, contradictions, the verdict map, and the exceptions of readings."""
    groups: dict[Group, Mapping[str, Rule]] = {
        "conditions": contract.conditions,
        "contradictions": contract.contradictions,
        "verdict_map": contract.verdict_map,
    }
    for group, rules in groups.items():
        for rule_id, rule in rules.items():
            yield PlacedRule(group, rule_id, rule, contract.reading_of(rule_id).as_ == "decimal")
    for rule_id, reading in contract.readings.rules.items():
        if reading.unless is not None:
            # `as` is said of the published rule; its exception compares values as they are.
            yield PlacedRule("unless", rule_id, reading.unless, decimal=False)


def listed(names: Iterable[str]) -> str:
    """Write names as ``a, b and c``; nothing at all as ``none``."""
    words = [f"`{name}`" for name in names]
    if not words:
        return "none"
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" and {words[-1]}"
