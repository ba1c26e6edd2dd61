"""What an operation's case shows to its contract: the facts that rules read, and the state of each channel."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contracts.evaluation import Evaluation, evaluate
from contracts.judgement import ChannelState, Decided, Undecided, judge
from contracts.model import Contract
from contracts.values import unpack
from streams.cases import Case, Operation
from verifiers.webhook import EventsObserved, observe


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything that is known of an operation at one moment, and what its contract makes of it."""

    facts: Mapping[str, Any]
    events: Mapping[str, EventsObserved | None]
    channels: Mapping[str, ChannelState]
    evaluation: Evaluation
    judgement: Decided | Undecided

    @property
    def counted(self) -> int:
        """How many events count for the operation, over all its channels."""
        return sum([seen.count for seen in self.events.values() if seen is not None])


def window_end_ms(contract: Contract, operation: Operation) -> int:
    """Return when the stale-read window of an operation ends."""
    return operation.intent.created_ms + contract.timing.stale_read_window_ms


def own_facts(operation: Operation) -> dict[str, Any]:
    """Return what the operation itself says, by path."""
    intent = operation.intent
    facts: dict[str, Any] = {f"$input.{name}": value for name, value in intent.input.items()}
    facts |= {path: unpack(value) for path, value in operation.action.items()}
    facts["$operation.id"] = operation.operation_id
    facts["$operation.contract"] = intent.contract
    facts["$operation.connection"] = intent.connection
    facts["$operation.created_at"] = intent.created_at
    return facts


def observe_operation(contract: Contract, case: Case, operation: Operation) -> Observation:
    """Put together what a case shows of an operation, and judge it."""
    facts = own_facts(operation)
    events: dict[str, EventsObserved | None] = {}
    channels: dict[str, ChannelState] = {}
    window_end = window_end_ms(contract, operation)
    for name, wanted in contract.readings.events.items():
        seen = observe(case.ledger.values(), wanted, facts, operation.deadline_ms)
        events[name] = seen
        channels[name] = ChannelState(observed=seen is not None and seen.count > 0, settled=True)
    for name, seen in events.items():
        if seen is not None:
            facts |= {f"$observed.{name}.{member}": value for member, value in seen.members.items()}
    for name in contract.readings.requests:
        reads = operation.reads.get(name)
        evidence = reads.evidence if reads is not None else None
        if evidence is None:
            channels[name] = ChannelState(observed=False, settled=False)
            continue
        facts |= {path: unpack(value) for path, value in evidence.values.items()}
        channels[name] = ChannelState(observed=True, settled=evidence.asked_ms >= window_end)
    evaluation = evaluate(contract, facts)
    return Observation(facts, events, channels, evaluation, judge(contract, evaluation, channels))
