"""Contracts that differ from a built-in one in a few fields or a few words, and what is wrong with them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from contracts.catalogue import BUILT_IN, ContractFileError, Problem, load_contract
from contracts.lint import Finding, lint
from contracts.model import Contract
from contracts.yaml_source import read_yaml

SHOPIFY = "shopify/refund.created.yaml"
PAYPAL = "paypal/refund.recorded.yaml"
TEXT = {name: (BUILT_IN / name).read_text(encoding="utf-8") for name in (SHOPIFY, PAYPAL)}
DROP = object()

# What the providers' events carry, as far as these tests are concerned.
CARRIED = {
    "REFUNDS_CREATE": frozenset({"order_id", "refund_id"}),
    "PAYMENT.CAPTURE.REFUNDED": frozenset({"capture_id", "refund_id"}),
    "PAYMENT.CAPTURE.REVERSED": frozenset({"capture_id"}),
}

Write = Callable[..., Path]


def mutated(name: str, changes: Mapping[str, Any]) -> Contract:
    """Read a built-in contract and set fields by their dotted path; DROP takes one away."""
    document: Any = read_yaml(BUILT_IN / name).data
    for field, value in changes.items():
        document = _with(document, field.split("."), value)
    return Contract.model_validate(document)


def _with(node: Any, steps: list[str], value: Any) -> Any:
    if not steps:
        return value
    step, *rest = steps
    if isinstance(node, tuple):
        index = int(step)
        return (*node[:index], _with(node[index], rest, value), *node[index + 1 :])
    if value is DROP and not rest:
        assert step in node, f"{step} is not there to be dropped"
        return {key: one for key, one in node.items() if key != step}
    return {**node, step: _with(node.get(step, {}), rest, value)}


def errors(name: str, changes: Mapping[str, Any]) -> list[Finding]:
    """Return lint's errors, and no warnings, of a mutated contract."""
    return [one for one in lint(mutated(name, changes), CARRIED) if one.level == "error"]


def expect_error(name: str, changes: Mapping[str, Any], field: str, said: str) -> None:
    """Check that lint finds exactly this error in a mutated contract."""
    found = errors(name, changes)
    assert [one.field for one in found] == [field], found
    assert said in found[0].message


def rule(path: str, operator: str, expected: Any, **more: Any) -> dict[str, Any]:
    """Write a rule."""
    return {"path": path, "operator": operator, "expected": expected, **more}


def contradiction(changed: Mapping[str, Any]) -> dict[str, Any]:
    """Make a contradiction of a rule."""
    return {**changed, "class": "wrong", "reason": "It is wrong."}


def problems_of(path: Path) -> tuple[Problem, ...]:
    """Return the problems of a file that is no contract."""
    with pytest.raises(ContractFileError) as caught:
        load_contract(path)
    return caught.value.problems


def line_with(path: Path, marker: str) -> int:
    """Return the first line that holds the marker."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if marker in line)
