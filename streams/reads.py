"""When an operation's channels are read: by the schedule, for an event that arrived, for a stale contradiction.

Everything here is arithmetic on the state. A read is counted when it is asked for; one that never answers is asked
again under the same number.
"""

from collections.abc import Mapping
from typing import Any

from contracts.model import Contract, Timing
from contracts.paths import MISSING
from contracts.schedule import backoff_ms
from streams.cases import Evidence, LastAnswer, Operation, OwedRead, Reads
from streams.messages import ReadAnswered, ReadRequest
from streams.observation import Observation, own_facts, window_end_ms
from streams.policy import Policy

_MOST_DOUBLINGS = 12


def reads_of(operation: Operation, channel: str) -> Reads:
    """Return the state of a channel's reads, a new one where there is none."""
    return operation.reads.setdefault(channel, Reads())


def inputs_of(contract: Contract, channel: str, facts: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the values that a channel's request needs, by name, or None while one is not known."""
    inputs = {}
    for name, path in contract.readings.requests[channel].inputs.items():
        value = facts.get(path, MISSING)
        if isinstance(value, bool) or not isinstance(value, str | int):
            return None
        inputs[name] = str(value)
    return inputs


def next_read_ms(timing: Timing, operation: Operation, reads: Reads, policy: Policy) -> int | None:
    """Return when the channel is to be read next, None for never. It may lie in the past: then it is due at once."""
    if reads.asked_ms is not None:
        lost = lost_ms(reads, policy)
        return lost if lost < operation.deadline_ms else None
    due = []
    offsets = timing.schedule.offsets_ms
    attempts_left = reads.slot + reads.extra < timing.max_attempts
    if operation.phase == "observing" and reads.slot < len(offsets) and attempts_left:
        due.append(operation.intent.created_ms + offsets[reads.slot])
    if reads.owed is not None and (reads.owed.why == "event" or attempts_left):
        due.append(reads.owed.due_ms)
    return min(due, default=None)


def lost_ms(reads: Reads, policy: Policy) -> int:
    """Return when an unanswered read counts as lost: later each time, so that no outage floods the topic."""
    return (reads.asked_ms or 0) + (policy.lost_after_ms << min(reads.repeats, _MOST_DOUBLINGS))


def next_reads_ms(contract: Contract, operation: Operation, policy: Policy) -> list[int]:
    """Return when each channel that can be read by what the operation itself says is to be read next."""
    due = {
        channel: one
        for channel in contract.readings.requests
        if (one := next_read_ms(contract.timing, operation, operation.reads.get(channel, Reads()), policy)) is not None
    }
    facts = own_facts(operation) if due else {}
    return [one for channel, one in due.items() if inputs_of(contract, channel, facts) is not None]


def ask_due_reads(
    contract: Contract,
    operation: Operation,
    case_key: str,
    facts: Mapping[str, Any],
    now: int,
    policy: Policy,
) -> list[ReadRequest]:
    """Ask for every read that is due, and count it. Several that fell due meanwhile are made as one."""
    requests = []
    for channel in contract.readings.requests:
        inputs = inputs_of(contract, channel, facts)
        if inputs is None:
            continue
        reads = reads_of(operation, channel)
        due = next_read_ms(contract.timing, operation, reads, policy)
        if due is None or due > now:
            continue
        if reads.asked_ms is None:
            _count(contract.timing, operation, reads, now)
        else:
            reads.repeats += 1
        reads.asked_ms = now
        requests.append(
            ReadRequest(
                operation.operation_id,
                case_key,
                operation.intent.contract,
                operation.intent.version,
                operation.intent.connection,
                channel,
                reads.made,
                now,
                inputs,
            )
        )
    return requests


def _count(timing: Timing, operation: Operation, reads: Reads, now: int) -> None:
    reads.made += 1
    if operation.phase == "observing":
        passed = timing.schedule.next_slot_after(now - operation.intent.created_ms)
        if passed > reads.slot:
            reads.slot = passed
            return
    if reads.owed is not None and reads.owed.why == "stale":
        reads.extra += 1


def note_answer(timing: Timing, operation: Operation, message: ReadAnswered) -> bool:
    """Apply an answer to the state.

    Returns:
        True where it changed something: the answer belongs to the newest read, and is its first.
    """
    reads = reads_of(operation, message.channel)
    if reads.asked_ms is None or message.attempt != reads.made:
        return False
    reads.asked_ms, reads.repeats = None, 0
    answer = message.answer
    reads.last = LastAnswer(message.attempt, message.at, answer.status, answer.error, answer.detail)
    if answer.error is None:
        reads.evidence = Evidence(
            message.attempt,
            message.asked_ms,
            message.at,
            answer.status or 0,
            answer.digest or "",
            answer.served_version,
            answer.values,
        )
    if reads.owed is not None:
        if answer.error is None and message.asked_ms >= reads.owed.since_ms:
            reads.owed = None
        elif answer.error is not None and message.asked_ms >= reads.owed.due_ms:
            # A failure of a scheduled read, or of one from before the event, does not put this one off.
            reads.owed.failures += 1
            reads.owed.due_ms = message.at + backoff_ms(timing.poll_interval_ms, reads.owed.failures)
    return True


def owe_reads(
    contract: Contract,
    operation: Operation,
    observation: Observation,
    stale: frozenset[str],
    *,
    new_event: bool,
    now: int,
) -> None:
    """Note the reads that are owed beside the schedule.

    A contradiction that rests on stale reads is read again right after the window, as one of the attempts. An event
    that arrives makes one read due at once while a condition on that channel does not hold, attempts left or not.
    """
    for channel in stale:
        reads = reads_of(operation, channel)
        if reads.slot + reads.extra < contract.timing.max_attempts and reads.owed is None:
            end = window_end_ms(contract, operation)
            reads.owed = OwedRead(end, max(end, now), "stale")
    if not new_event or operation.phase != "observing":
        return
    wanting = {name for one in observation.evaluation.unmet for name in one.channels}
    for channel in contract.readings.requests:
        if channel in wanting:
            reads = reads_of(operation, channel)
            reads.owed, reads.repeats = OwedRead(now, now, "event"), 0
