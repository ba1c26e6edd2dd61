"""The records that leave the system: verdicts, and what waits for a person.

A person must be able to see from a record alone why it says what it says, so every rule is there with its path, its
operator and the values it compared, and every channel with what it showed.
"""

import hashlib
import uuid
from typing import Any

from contracts.evaluation import Evaluation, RuleResult
from contracts.instants import to_rfc3339
from contracts.judgement import TIMEOUT, Decided, rests_on_stale_reads_only
from contracts.model import Contract
from contracts.paths import MISSING
from contracts.values import pack
from streams.cases import Operation, Reads
from streams.observation import Observation, own_facts
from streams.outputs import Review, Verdict
from verifiers.events import RecordedEvent
from verifiers.webhook import EventsObserved, observe

_NAMESPACE = uuid.UUID("6f3c0a52-9d0b-5a0e-8a53-6a0d5b1f7c11")


def verdict_id(operation_id: str, content_hash: str, sequence: int) -> str:
    """Name a verdict: the same operation, contract and sequence always give the same id.

    It is ``uuid.uuid5``, written out: in a third of its time, and every verdict needs one (RFC 9562, section 5.5).
    """
    name = f"{operation_id}\n{content_hash}\n{sequence}"
    digest = bytearray(hashlib.sha1(_NAMESPACE.bytes + name.encode(), usedforsecurity=False).digest())
    digest[6], digest[8] = digest[6] & 0x0F | 0x50, digest[8] & 0x3F | 0x80
    text = digest.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"


def verdict_of(
    contract: Contract,
    operation: Operation,
    observation: Observation,
    decided: Decided,
    now: int,
    *,
    known_late: bool,
) -> Verdict:
    """Write the record of a verdict. ``operation.sequence`` is already that of this verdict.

    ``known_late``: the operation became known so long after its start that events may have been dropped before.
    """
    identity = verdict_id(operation.operation_id, contract.content_hash, operation.sequence)
    record = {
        "verdict_id": identity,
        "operation_id": operation.operation_id,
        "connection": operation.intent.connection,
        "contract": contract.id,
        "contract_version": contract.version,
        "published_hash": contract.published.hash,
        "content_hash": contract.content_hash,
        "sequence": operation.sequence,
        "supersedes": operation.verdict_id,
        "verdict": decided.verdict,
        "rule": decided.rule,
        "class": decided.class_,
        "reason": decided.reason,
        "explanation": explain(decided, observation, known_late=known_late),
        "do_not_retry": decided.do_not_retry,
        "review": decided.review,
        "decided_at": to_rfc3339(now),
        "input": operation.intent.input,
        "created_at": operation.intent.created_at,
        "evidence": evidence_of(contract, operation, observation),
    }
    return Verdict(operation.operation_id, identity, now, record)


def review_of(contract: Contract, operation: Operation, now: int) -> Review:
    """Write what waits for a person: the verdict's core, and the evidence that came too late for it."""
    record = {
        "operation_id": operation.operation_id,
        "verdict_id": operation.verdict_id,
        "connection": operation.intent.connection,
        "contract": contract.id,
        "contract_version": contract.version,
        "verdict": contract.timing.on_timeout.verdict,
        "reason": contract.timing.on_timeout.reason,
        "input": operation.intent.input,
        "created_at": operation.intent.created_at,
        "updated_at": to_rfc3339(now),
        "late_evidence": operation.late,
    }
    identity = f"{operation.verdict_id}/review/{len(operation.late)}"
    return Review(operation.operation_id, identity, now, record)


def late_evidence(contract: Contract, operation: Operation, fresh: list[RecordedEvent]) -> list[str]:
    """List, one sentence each, those of some events that a channel of the operation would have counted in time."""
    facts = own_facts(operation)
    late: dict[str, None] = {}
    for wanted in contract.readings.events.values():
        seen = observe(fresh, wanted, facts, before_ms=None)
        for one in seen.events if seen is not None else ():
            sentence = f"created at {one.event.created_at}, arrived at {to_rfc3339(one.arrived_ms)}"
            late[f"{one.event.type} of {one.event.resource_id}, {sentence}"] = None
    return list(late)


def explain(decided: Decided, observation: Observation, *, known_late: bool) -> str:
    """Say in words why: which rule decided over which values, or which conditions were not met."""
    evaluation = observation.evaluation
    if decided.rule == TIMEOUT:
        if known_late and not evaluation.unmet:
            return "Every condition holds, but the operation became known so late that events may have been dropped."
        unmet = "; ".join(f"{one.id} is {_says(one)}" for one in evaluation.unmet)
        return f"The time to observe ended before every condition held: {unmet or 'the evidence rule is not met'}."
    results = [*evaluation.contradictions, *evaluation.verdict_map]
    ruling = [one for one in results if one.id == decided.rule]
    if ruling:
        return f"{decided.reason} {ruling[0].id} is {_says(ruling[0])}."
    return f"{decided.reason} " + "; ".join(f"{one.id} is {_says(one)}" for one in evaluation.conditions) + "."


def _says(result: RuleResult) -> str:
    rule = result.rule
    return f"{result.result}: {rule.path} holds {_show(result.actual)}, {rule.operator} {_show(result.expected)}"


def _show(value: Any) -> str:
    return "nothing" if value is MISSING else repr(pack(value))


def evidence_of(contract: Contract, operation: Operation, observation: Observation) -> dict[str, Any]:
    """Write down every rule with its values, and every channel with what it showed."""
    evaluation: Evaluation = observation.evaluation
    return {
        "conditions": [_rule(one, observation) for one in evaluation.conditions],
        "contradictions": [_rule(one, observation) for one in evaluation.contradictions],
        "verdict_map": [_rule(one, observation) for one in evaluation.verdict_map],
        "channels": {
            name: {
                "level": channel.level,
                "independence": channel.independence,
                **(
                    _events(observation.events.get(name))
                    if channel.verifier == "webhook"
                    else _readback(operation.reads.get(name, Reads()))
                ),
            }
            for name, channel in contract.channels.items()
        },
    }


def _rule(result: RuleResult, observation: Observation) -> dict[str, Any]:
    written = _comparison(result)
    if result.unless is not None:
        written["unless"] = _comparison(result.unless)
    if result.kind == "contradiction" and result.holds:
        written["provisional"] = rests_on_stale_reads_only(result, observation.channels)
    return written


def _comparison(result: RuleResult) -> dict[str, Any]:
    return {
        "id": result.id,
        **result.rule.terms,
        "expected": None if result.expected is MISSING else pack(result.expected),
        "actual": None if result.actual is MISSING else pack(result.actual),
        "result": result.result,
    }


def _events(seen: EventsObserved | None) -> dict[str, Any]:
    if seen is None:
        return {"count": None}
    members = seen.members
    return {name: members.get(name) for name in ("count", "types", "earliest", "latest", "duplicates_dropped")} | {
        "events": members["events"]
    }


def _readback(reads: Reads) -> dict[str, Any]:
    last, evidence = reads.last, reads.evidence
    return {
        "reads": reads.made,
        "last_status": last.status if last else None,
        "last_error": last.error if last else None,
        "last_detail": last.detail if last else None,
        "answered_at": to_rfc3339(evidence.answered_ms) if evidence else None,
        "digest": evidence.digest if evidence else None,
        "served_version": evidence.served_version if evidence else None,
        "values": evidence.values if evidence else {},
    }
