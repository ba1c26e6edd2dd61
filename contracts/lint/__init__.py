"""What the format allows and a contract still must not say.

A contract that passes the model may still be one that can never be VERIFIED, that takes absence for evidence,
or that waits for events that nobody will send. Each rule here finds one such kind before an operation depends
on it. The way to read it: ``paths`` → ``operators`` → ``evidence`` → ``readings`` → ``timing``.
"""

from collections.abc import Mapping

from contracts.lint import evidence, operators, paths, readings, timing
from contracts.lint.finding import Finding
from contracts.model import Contract

__all__ = ["Finding", "lint"]


def lint(contract: Contract, carried: Mapping[str, frozenset[str]] | None = None) -> list[Finding]:
    """Look for what is wrong with a contract beyond its form.

    Args:
        contract: the contract.
        carried: for each event type of the contract's provider, the identifiers that such an event carries;
            without it, nothing is said about them.

    Returns:
        What was found: with an error the contract must not be used, a warning is for its author to weigh.
    """
    return [
        *paths.check(contract),
        *operators.check(contract),
        *evidence.check(contract),
        *readings.check(contract, carried),
        *timing.check(contract),
    ]
