"""``decide``: one message applied to one row. Pure: no clock, no I/O, no randomness; the time is in the message.

The same function runs in the worker, in `replay` and in tests. It never changes the row it is given in a way that
matters when it raises: the caller decodes a row afresh for each batch and drops it with the batch.
"""

from dataclasses import dataclass, field

from contracts.catalogue import Catalogue, UnknownContractError
from contracts.judgement import Decided, Undecided, timed_out
from contracts.model import Contract
from streams.cases import Case, Operation, Registration, Row, registration_key, seen_before
from streams.messages import CaseMessage, Events, Intent, ReadAnswered, Source, Start, Submission, Tick
from streams.observation import Observation, observe_operation
from streams.outputs import Forgotten, Output, ToReadback
from streams.policy import Policy
from streams.reads import ask_due_reads, next_reads_ms, note_answer, owe_reads
from streams.registration import ContractOf, register
from streams.verdicts import late_evidence, review_of, verdict_of
from verifiers.events import RecordedEvent

_LOOK_AGAIN_MS = 3_600_000
_MOST_EVENTS = 1000
_MOST_OPERATIONS = 500


class WrongRow(ValueError):
    """A message that does not belong to the row of its key."""


class CaseFull(ValueError):
    """A case that holds as much as its row may: with more, no changelog record could hold the row."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The row as it is now, None where it is to be deleted, and what to publish, in order."""

    row: Row | None
    outputs: list[Output] = field(default_factory=list)


def decide(
    key: str, row: Row | None, message: CaseMessage, origin: Source, catalogue: Catalogue, policy: Policy
) -> Decision:
    """Apply one message to its row.

    Args:
        key: the row's key.
        row: the row, None where there is none yet; it may be changed.
        message: what happened.
        origin: where in `cases` the message lies.
        catalogue: the contracts.
        policy: how long things are kept and waited for.

    Returns:
        The row after the message, and what to publish.

    Raises:
        WrongRow: the key is not that of such a message.
        UnknownContractError: an operation's contract is no longer in the catalogue.
    """

    def contract_of(intent: Intent) -> Contract:
        return catalogue.get(intent.contract, intent.version)

    if isinstance(message, Submission):
        if key != registration_key(message.operation_id) or isinstance(row, Case):
            raise WrongRow(f"the operation {message.operation_id} does not belong to the key {key!r}")
        return Decision(*register(row, message, origin, contract_of, policy))
    if isinstance(row, Registration) or key.startswith("operation/"):
        if not isinstance(message, Tick):
            raise WrongRow(f"a message of the kind {message.kind} does not belong to the key {key!r}")
        gone = isinstance(row, Registration) and message.at >= row.due_ms
        return Decision(None if gone else row)
    if not key.startswith("case/"):
        raise WrongRow(f"the key {key!r} is of no case and of no operation")
    return _Step(key, row or Case(), message.at, contract_of, policy).apply(message)


@dataclass(slots=True)
class _Step:
    """One message applied to one case: the values that every part of it needs."""

    key: str
    case: Case
    now: int
    contract_of: ContractOf
    policy: Policy
    outputs: list[Output] = field(default_factory=list)
    fresh: list[RecordedEvent] = field(default_factory=list)

    def apply(self, message: CaseMessage) -> Decision:
        touched: list[Operation] = []
        match message:
            case Start():
                touched = self._start(message)
            case Events():
                touched = self._record(message)
            case ReadAnswered():
                touched = self._answer(message)
            case Tick():
                touched = list(self.case.operations.values())
        for operation in touched:
            self._progress(operation)
        self._forget()
        self.case.due_ms = self._next_due()
        empty = not self.case.operations and not self.case.ledger
        return Decision(None if empty else self.case, self.outputs)

    def _start(self, message: Start) -> list[Operation]:
        if seen_before(self.case, message.source):
            return []
        operation = self.case.operations.get(message.operation_id)
        if operation is None:
            deadline = message.intent.created_ms + self.contract_of(message.intent).timing.timeout_ms
            if self.now >= self.policy.too_late_ms(deadline):
                return []  # it may have been judged and forgotten here; its registration is about to go, too
            if len(self.case.operations) >= _MOST_OPERATIONS:
                raise CaseFull(f"the case {self.key} holds {_MOST_OPERATIONS} operations already")
            operation = Operation(message.operation_id, message.intent, dict(message.action), message.at, deadline)
            self.case.operations[message.operation_id] = operation
        else:
            operation.action = {**operation.action, **message.action}
        return [operation]

    def _record(self, message: Events) -> list[Operation]:
        """Enter events into the ledger. A repeat is only counted, so it gives no operation anything to look at."""
        if seen_before(self.case, message.source):
            return []
        for event in message.events:
            one = RecordedEvent(event, message.arrived_ms, message.at)
            recorded = self.case.ledger.setdefault(one.name, one)
            if recorded is one:
                self.fresh.append(one)
                if len(self.case.ledger) > _MOST_EVENTS:
                    raise CaseFull(f"the case {self.key} holds {_MOST_EVENTS} events already")
                continue
            recorded.deliveries += 1
            if message.arrived_ms < recorded.arrived_ms:  # the repeat was taken in first
                recorded.arrived_ms = message.arrived_ms
                self.fresh.append(recorded)
        return list(self.case.operations.values()) if self.fresh else []

    def _answer(self, message: ReadAnswered) -> list[Operation]:
        operation = self.case.operations.get(message.operation_id)
        if operation is None or operation.phase == "closed":
            return []
        contract = self._contract(operation)
        if contract is None or message.channel not in contract.readings.requests:
            return []
        return [operation] if note_answer(contract.timing, operation, message) else []

    def _contract(self, operation: Operation) -> Contract | None:
        """Return an operation's contract; None where it is not in the catalogue: others of its case must go on."""
        try:
            return self.contract_of(operation.intent)
        except UnknownContractError:
            return None

    def _progress(self, operation: Operation) -> None:
        """Bring one operation up to the present: judge it, ask for the reads that are due, end it at its time."""
        contract = self._contract(operation)
        if contract is None:
            return
        observation = observe_operation(contract, self.case, operation)
        for seen in observation.events.values():
            for one in seen.events if seen is not None else ():
                one.wanted = True
        new_event = observation.counted > operation.counted
        operation.counted = observation.counted
        judgement = self._judgement(operation, observation)
        if isinstance(judgement, Decided):
            contradicts = judgement.verdict == "CONTRADICTED" and operation.verdict != "CONTRADICTED"
            if operation.phase == "observing" or contradicts:
                self._publish(contract, operation, observation, judgement)
        elif not self._is_closed(operation):
            owe_reads(contract, operation, observation, judgement.stale, new_event=new_event, now=self.now)
        if self._is_closed(operation):
            self._note_late(contract, operation)
            return
        requests = ask_due_reads(contract, operation, self.key, observation.facts, self.now, self.policy)
        self.outputs.extend(ToReadback(request) for request in requests)
        if self.now >= self._end_ms(operation):
            if operation.phase == "observing":
                self._publish(contract, operation, observation, timed_out(contract))
            operation.phase = "closed"

    def _judgement(self, operation: Operation, observation: Observation) -> Decided | Undecided:
        """Return what the contract makes of an operation, as far as the ledger can be trusted.

        Events wait for their operation for so long and are dropped then, so one that became known later may count one
        refund where there were two. And after a person was asked, nothing changes by itself.
        """
        judgement = observation.judgement
        if isinstance(judgement, Decided) and operation.verdict == "UNVERIFIABLE":
            return Undecided()
        if isinstance(judgement, Decided) and judgement.verdict == "VERIFIED" and self._known_late(operation):
            return Undecided()
        return judgement

    def _known_late(self, operation: Operation) -> bool:
        return operation.known_ms > operation.intent.created_ms + self.policy.keep_ms

    def _is_closed(self, operation: Operation) -> bool:
        return operation.phase == "closed"

    def _end_ms(self, operation: Operation) -> int:
        """Return when the observation ends: at its deadline, but a read under way is waited for until it is lost."""
        asked = [reads.asked_ms for reads in operation.reads.values() if reads.asked_ms is not None]
        return max([operation.deadline_ms, *(one + self.policy.lost_after_ms for one in asked)])

    def _publish(self, contract: Contract, operation: Operation, observation: Observation, decided: Decided) -> None:
        operation.sequence += 1
        verdict = verdict_of(
            contract, operation, observation, decided, self.now, known_late=self._known_late(operation)
        )
        operation.verdict, operation.verdict_id, operation.review = decided.verdict, verdict.verdict_id, decided.review
        operation.phase = "closed" if decided.verdict in ("CONTRADICTED", "UNVERIFIABLE") else "listening"
        for reads in operation.reads.values():
            reads.owed = None
        self.outputs.append(verdict)
        if decided.review:
            self.outputs.append(review_of(contract, operation, self.now))

    def _note_late(self, contract: Contract, operation: Operation) -> None:
        """Note on the review what came after it was asked for: nothing changes by itself, but a person sees it."""
        late = late_evidence(contract, operation, self.fresh) if operation.review else []
        if late:
            # A new list: the review of a moment ago holds the old one, and may not be written out yet.
            operation.late = [*operation.late, *late]
            self.outputs.append(review_of(contract, operation, self.now))

    def _forget(self) -> None:
        """Drop operations that are over for long, and events that no operation has wanted for long."""
        case, policy = self.case, self.policy
        for operation_id, operation in list(case.operations.items()):
            if operation.phase == "closed" and self.now >= policy.forget_ms(operation.deadline_ms):
                del case.operations[operation_id]
        old = {name for name, one in case.ledger.items() if self.now >= one.known_ms + policy.keep_ms}
        if old and case.operations:
            old -= {name for operation in case.operations.values() for name in self._counted(operation)}
        unwanted = sum(not case.ledger.pop(name).wanted for name in old)
        if unwanted:
            self.outputs.append(Forgotten(unwanted))

    def _counted(self, operation: Operation) -> set[str]:
        contract = self._contract(operation)
        if contract is None:
            return set(self.case.ledger)
        observation = observe_operation(contract, self.case, operation)
        if None in observation.events.values():  # a channel waits for the action's result to know its events
            return set(self.case.ledger)
        return {one.name for seen in observation.events.values() if seen is not None for one in seen.events}

    def _next_due(self) -> int | None:
        due = [
            forgotten if (forgotten := one.known_ms + self.policy.keep_ms) > self.now else self.now + _LOOK_AGAIN_MS
            for one in self.case.ledger.values()
            if not one.wanted or not self.case.operations
        ]
        for operation in self.case.operations.values():
            if operation.phase == "closed":
                due.append(self.policy.forget_ms(operation.deadline_ms))
                continue
            contract = self._contract(operation)
            if contract is None:  # it may come back with the next start
                due.append(max(operation.deadline_ms, self.now + _LOOK_AGAIN_MS))
                continue
            due.append(self._end_ms(operation))
            due.extend(next_reads_ms(contract, operation, self.policy))
        return min(due, default=None)
