"""Verdicts: one sequence for each operation, of any number of copies, that ends with what is true."""

from collections import defaultdict
from typing import Any

import orjson

from tests.faults.checks.evidence import Evidence, Violation, Violations


def check_verdicts(evidence: Evidence) -> Violations:
    """Check every operation's verdicts against what the world has made of it."""
    copies: dict[str, set[bytes]] = defaultdict(set)
    for record in evidence.contents.of("verdicts"):
        verdict = orjson.loads(record.value)
        copies[verdict["verdict_id"]].add(record.value)
        if record.key != verdict["operation_id"].encode():
            yield Violation("conflict", verdict["verdict_id"], f"the key is {record.key!r}")
    said: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for verdict_id, different in copies.items():
        if len(different) > 1:
            yield Violation("conflict", verdict_id, " / ".join(repr(one) for one in sorted(different)))
        for value in different:
            verdict = orjson.loads(value)
            said[verdict["operation_id"]].append(verdict)
    started = evidence.expected.verdicts
    for operation_id in said.keys() - started.keys():
        yield Violation("invented", operation_id, "there is a verdict, but no operation")
    for operation_id, wanted in started.items():
        yield from _sequence(operation_id, sorted(said[operation_id], key=lambda one: one["sequence"]), wanted)


def _sequence(operation_id: str, sequence: list[dict[str, Any]], wanted: str) -> Violations:
    if not sequence:
        yield Violation("missing", operation_id, "there is no verdict")
        return
    before = None
    for number, verdict in enumerate(sequence, 1):
        if (verdict["sequence"], verdict["supersedes"]) != (number, before):
            found = f"{verdict['sequence']} supersedes {verdict['supersedes']}"
            yield Violation("sequence", operation_id, f"{number} was to supersede {before}, but {found}")
        if verdict["decided_at"] < verdict["created_at"]:
            yield Violation("early", operation_id, f"decided at {verdict['decided_at']}, before it started")
        before = verdict["verdict_id"]
    found = [one["verdict"] for one in sequence]
    if found[-1] != wanted or (len(found) > 1 and found != ["VERIFIED", "CONTRADICTED"]):
        yield Violation("verdict", operation_id, f"{wanted} was expected, there is {found}")
