"""Evidence that can never be enough, and absence that would be taken for evidence."""

from collections.abc import Iterator
from typing import Any, Final

from contracts.lint.finding import Finding, PlacedRule, error, listed, placed_rules
from contracts.lint.kinds import EMPTY_WEBHOOK, is_webhook
from contracts.model import Contract, MapRule
from contracts.operators import Truth, apply
from contracts.paths import channel_of, is_path, parse_path, resolve


class _Anything:
    """The type of the value that a path holds which no webhook channel decides."""


_ANYTHING: Final = _Anything()


def check(contract: Contract) -> Iterator[Finding]:
    """Find what keeps VERIFIED out of reach, and rules that hold before anything was observed."""
    yield from _rule_ids(contract)
    yield from _conditions(contract)
    for placed in placed_rules(contract):
        if _proves(placed) and _holds_when_empty(contract, placed):
            yield error(
                placed.field,
                "the rule already holds on a webhook channel without any event, and absence of evidence is no evidence",
            )
    yield from _levels(contract)


def _rule_ids(contract: Contract) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for placed in placed_rules(contract):
        if placed.group != "unless" and seen.setdefault(placed.id, placed.field) != placed.field:
            yield error(
                placed.field,
                f"`{seen[placed.id]}` has the same id, but verdicts and readings name a rule by its id alone",
            )


def _conditions(contract: Contract) -> Iterator[Finding]:
    for name, condition in contract.conditions.items():
        read = channel_of(condition.path)
        if read is None:
            yield error(
                f"conditions.{name}.path",
                f"`{condition.path}` reads no channel, so nothing that is observed could satisfy it",
            )
        if condition.evidence not in contract.channels:
            yield error(
                f"conditions.{name}.evidence",
                f"there is no channel `{condition.evidence}`: the contract has {listed(contract.channels)}",
            )
        elif read is not None and read != condition.evidence:
            yield error(
                f"conditions.{name}.evidence",
                f"the evidence is `{condition.evidence}`, but the path reads the channel `{read}`",
            )


def _proves(placed: PlacedRule) -> bool:
    """Tell whether a rule speaks for or against the operation when it holds."""
    if isinstance(placed.rule, MapRule):
        return placed.rule.verdict != "UNVERIFIABLE"
    return placed.group != "unless"


def _holds_when_empty(contract: Contract, placed: PlacedRule) -> bool:
    """Tell whether a rule is true, or true for almost any operation, while no event has arrived."""
    rule = placed.rule
    actual, expected = _when_empty(contract, rule.path), _when_empty(contract, rule.expected)
    if not any(is_webhook(contract, channel) for channel in rule.channels):
        return False
    if actual is _ANYTHING or expected is _ANYTHING:
        # 0 against a value that is not known here: `ne` holds unless that is 0, `lt` once it is positive.
        smaller = ("lt", "lte") if expected is _ANYTHING else ("gt", "gte")
        known = actual if expected is _ANYTHING else expected
        return known == 0 and rule.operator in ("ne", *smaller)
    return apply(rule.operator, actual, expected, decimal=placed.decimal) is Truth.TRUE


def _when_empty(contract: Contract, value: Any) -> Any:
    if not is_path(value):
        return list(value) if isinstance(value, tuple) else value
    if not is_webhook(contract, channel_of(value)):
        return _ANYTHING
    return resolve(EMPTY_WEBHOOK, parse_path(value)[1][1:])


def _levels(contract: Contract) -> Iterator[Finding]:
    rule = contract.evidence
    sufficient = [
        name
        for name, channel in contract.channels.items()
        if channel.level >= rule.minimum_level and (channel.independent or not rule.independent_channel_required)
    ]
    kind = "independent channel" if rule.independent_channel_required else "channel"
    levels = ", ".join(f"`{name}` {channel.level}" for name, channel in contract.channels.items())
    if not sufficient:
        yield error(
            "evidence.minimum_level",
            f"there is no {kind} of {rule.minimum_level} or more ({levels}): nothing could ever be VERIFIED",
        )
    elif len(sufficient) < rule.minimum_channels:
        yield error(
            "evidence.minimum_channels",
            f"it takes {rule.minimum_channels} {kind}s of {rule.minimum_level} or more, and the contract has "
            f"only {listed(sufficient)}: nothing could ever be VERIFIED",
        )
