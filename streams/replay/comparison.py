"""Where a replayed history differs from what it expected, in words."""

from collections.abc import Sequence
from typing import Any

from contracts.instants import parse_instant
from contracts.paths import MISSING
from contracts.values import pack
from streams.replay.history import Expectation, ExpectedVerdict, History
from streams.replay.runner import Outcome


def differences(history: History, outcome: Outcome) -> list[str]:
    """Compare, and return one sentence for each expectation that does not hold, with its file and line."""
    found = []
    for one in history.expected:
        where = f"{history.path}:{one.line}"
        found += [f"{where}: {sentence}" for sentence in _compare(one.expectation, outcome)]
    return found


def _compare(expectation: Expectation, outcome: Outcome) -> list[str]:
    found = []
    for name, expected, actual in (
        ("dead_letters", expectation.dead_letters, len(outcome.refused)),
        ("rejected_webhooks", expectation.rejected_webhooks, outcome.rejected_webhooks),
    ):
        if expected is not None and expected != actual:
            reasons = "".join(f"\n    {one.class_}: {one.reason}" for one in outcome.refused.values())
            found.append(f"{name}: expected {expected}, got {actual}{reasons}")
    operation_id = expectation.operation_id
    if operation_id is None:
        return found
    if expectation.verdicts is not None:
        found += _compare_verdicts(operation_id, expectation.verdicts, outcome.verdicts.get(operation_id, []))
    facts = outcome.observed.get(operation_id, {})
    for path, expected in expectation.observed.items():
        actual = pack(facts.get(path, MISSING))
        if actual is MISSING or actual != expected or isinstance(actual, bool) != isinstance(expected, bool):
            shown = "nothing" if actual is MISSING else repr(actual)
            found.append(f"{operation_id}: {path}: expected {expected!r}, got {shown}")
    return found


def _compare_verdicts(
    operation_id: str, expected: Sequence[ExpectedVerdict], actual: Sequence[dict[str, Any]]
) -> list[str]:
    wanted = [one.verdict for one in expected]
    got = [one["verdict"] for one in actual]
    if wanted != got:
        told = "".join(f"\n    {one['decided_at']} {one['verdict']}: {one['explanation']}" for one in actual)
        return [f"{operation_id}: verdicts: expected {_list(wanted)}, got {_list(got)}{told}"]
    found = []
    for number, (want, have) in enumerate(zip(expected, actual, strict=True), start=1):
        about = f"{operation_id}: verdict {number} ({want.verdict})"
        for name in ("rule", "reason"):
            value = getattr(want, name)
            if value is not None and value != have[name]:
                found.append(f"{about}: {name}: expected {value!r}, got {have[name]!r}")
        decided = parse_instant(have["decided_at"]).start_ns
        if want.not_before is not None and decided < parse_instant(want.not_before).start_ns:
            found.append(f"{about}: decided at {have['decided_at']}, not before {want.not_before} expected")
        if want.not_after is not None and decided > parse_instant(want.not_after).start_ns:
            found.append(f"{about}: decided at {have['decided_at']}, not after {want.not_after} expected")
    return found


def _list(verdicts: Sequence[str]) -> str:
    return ", ".join(verdicts) or "none"
