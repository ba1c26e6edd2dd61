"""Runs a history through the worker's own stages, on a virtual clock and topics in memory."""

import asyncio
import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from contracts.instants import to_rfc3339
from streams.cases import Case, Row, decode_row, due_ms_of
from streams.fold import fold
from streams.intake import ARRIVED_HEADER, CONNECTION_HEADER, Context, take_all, take_delivery, take_operation
from streams.messages import Tick, decode_read_request
from streams.observation import observe_operation
from streams.outputs import Output, Refused, ToCase, Verdict
from streams.publish import to_record
from streams.readback import read_back
from streams.replay.history import History, ProviderScript, Webhook
from streams.replay.world import ScriptedProvider
from streams.timers import Timers
from streams.transport.topics import CASES, OPERATIONS, READBACKS, WEBHOOKS
from verifiers.http import HttpVerifier


@dataclass(frozen=True, slots=True)
class _Record:
    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


@dataclass(slots=True)
class Outcome:
    """What came out of a history."""

    verdicts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    refused: dict[tuple[str, int], Refused] = field(default_factory=dict)
    observed: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def rejected_webhooks(self) -> int:
        """How many deliveries failed authentication."""
        return sum(one.class_ == "not_authentic" for one in self.refused.values())


def replay(history: History, context: Context) -> Outcome:
    """Run a history to its end: until every operation in it is closed.

    Args:
        history: the history; its connections are used, and not those of the context.
        context: contracts and policy.

    Returns:
        Verdicts by operation, refusals, and what each operation's channels held in the end.
    """
    return asyncio.run(_run(history, Context(context.catalogue, history.connections, context.policy)))


async def _run(history: History, context: Context) -> Outcome:
    provider = ScriptedProvider()
    async with HttpVerifier(history.connections, transport=lambda _: provider) as verifier:
        return await _Runner(context, provider, verifier).run(history)


class _Runner:
    def __init__(self, context: Context, provider: ScriptedProvider, verifier: HttpVerifier) -> None:
        self._context = context
        self._provider = provider
        self._verifier = verifier
        self._now = 0
        self._logs: dict[str, list[_Record]] = {}
        self._waiting: deque[_Record] = deque()
        self._rows: dict[bytes, bytes] = {}
        self._timers = Timers()
        self._outcome = Outcome()

    async def run(self, history: History) -> Outcome:
        for step in history.steps:
            await self._fire_until(step.at_ms)
            self._now = step.at_ms
            match step.act:
                case ProviderScript():
                    self._provider.follow(step.act)
                case Webhook():
                    self._append(WEBHOOKS, None, step.act.raw, self._webhook_headers(step.act))
                case "restart":
                    self._restart()
                case operation:
                    self._append(OPERATIONS, None, json.dumps(operation).encode(), ())
            await self._drain()
        while self._open_operations() and (due := self._timers.next_ms()) is not None:
            await self._fire_until(due + 1)
        return self._outcome

    def _webhook_headers(self, webhook: Webhook) -> list[tuple[str, bytes | None]]:
        sent = [(name, value.encode()) for name, value in webhook.headers.items() if not name.startswith("_")]
        return [
            *sent,
            (CONNECTION_HEADER, webhook.connection.encode()),
            (ARRIVED_HEADER, to_rfc3339(self._now).encode()),
        ]

    async def _fire_until(self, end_ms: int) -> None:
        """Let every timer fire that is due before an instant, each at its time."""
        while (due := self._timers.next_ms()) is not None and due < end_ms:
            self._now = max(self._now, due)
            for key in self._timers.take_due(self._now, limit=1):
                self._publish(ToCase(key.decode(), Tick(self._now)))
            await self._drain()

    def _append(
        self, topic: str, key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]]
    ) -> None:
        log = self._logs.setdefault(topic, [])
        record = _Record(topic, 0, len(log), self._now, key, value, headers)
        log.append(record)
        self._waiting.append(record)

    def _publish(self, output: Output) -> None:
        if isinstance(output, Verdict):
            records = self._outcome.verdicts.setdefault(output.operation_id, [])
            if all(one["verdict_id"] != output.verdict_id for one in records):
                records.append(output.record)
        elif isinstance(output, Refused):
            self._outcome.refused[output.topic, output.offset] = output
        record = to_record(output)
        if record is not None and record.topic in (CASES, READBACKS):
            self._append(record.topic, record.key, record.value, record.headers)

    async def _drain(self) -> None:
        while self._waiting:
            record = self._waiting.popleft()
            for output in await self._stage(record):
                self._publish(output)

    async def _stage(self, record: _Record) -> list[Output]:
        match record.topic:
            case "operations":
                return take_all(take_operation, [record], self._context, self._now)
            case "webhooks":
                return take_all(take_delivery, [record], self._context, self._now)
            case "readbacks":
                self._provider.request = decode_read_request(record.value)
                return await read_back(record, self._verifier, self._context, lambda: self._now)
        folded = fold([record], self._rows.get, self._context, self._now)
        for key, value in folded.rows.items():
            if value is None:
                self._rows.pop(key, None)
            else:
                self._rows[key] = value
                self._observe(decode_row(value))
            self._timers.arm(key, folded.dues[key])
        return folded.outputs

    def _restart(self) -> None:
        """Die and recover: memory is gone, the table is kept, and no offset had been committed yet."""
        self._timers = Timers()
        self._timers.rebuild((key, due_ms_of(value)) for key, value in self._rows.items())
        for topic in (OPERATIONS, WEBHOOKS, CASES):
            self._waiting.extend(self._logs.get(topic, ()))

    def _open_operations(self) -> bool:
        rows = [decode_row(value) for value in self._rows.values()]
        return any(
            operation.phase != "closed"
            for row in rows
            if isinstance(row, Case)
            for operation in row.operations.values()
        )

    def _observe(self, row: Row) -> None:
        """Note what a case's operations have observed: one may be forgotten before the last of a history is closed."""
        if not isinstance(row, Case):
            return
        for operation in row.operations.values():
            contract = self._context.catalogue.get(operation.intent.contract, operation.intent.version)
            self._outcome.observed[operation.operation_id] = dict(observe_operation(contract, row, operation).facts)
