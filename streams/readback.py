"""Readbacks: a read that is due, made, and answered. The only place where the worker talks to a provider."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable

from contracts.catalogue import UnknownContractError
from streams.intake import Context, refused
from streams.log import log_outputs
from streams.messages import MalformedMessage, ReadAnswered, ReadRequest, decode_read_request
from streams.outputs import Output, ToCase
from streams.records import Record
from streams.transport.fatal import end_process
from streams.transport.outbox import Outbox
from verifiers.http import HttpVerifier
from verifiers.reads import Answer

_STOP_AFTER_S = 3.0


async def read_back(
    record: Record, verifier: HttpVerifier, context: Context, clock_ms: Callable[[], int]
) -> list[Output]:
    """Make the read that a record of `readbacks` asks for.

    Args:
        record: the request.
        verifier: makes it.
        context: contracts, connections, policy.
        clock_ms: the time, in milliseconds.

    Returns:
        The answer for the case that asked, or the record's refusal; nothing where the request is so old that its case
        has asked again or given up.
    """
    try:
        request = decode_read_request(record.value)
        contract = context.catalogue.get(request.contract, request.version)
    except MalformedMessage as error:
        return [refused(record, "readback", "malformed_message", str(error), clock_ms())]
    except UnknownContractError as error:
        return [refused(record, "readback", "unknown_contract", str(error), clock_ms())]
    if request.channel not in contract.readings.requests:
        said = f"channel: {contract.id} has no http channel {request.channel!r}"
        return [refused(record, "readback", "malformed_message", said, clock_ms())]
    if clock_ms() >= request.asked_ms + context.policy.lost_after_ms:
        return []
    try:
        answer = await verifier.read(request.connection, contract, request.channel, request.inputs)
        return [_answered(request, answer, clock_ms())]
    except Exception as error:  # noqa: BLE001 - a request that cannot be made costs itself only, and its case goes on
        said = f"{type(error).__name__}: {error}"
        failure = Answer(None, "internal_error", "the read could not be made; a dead letter says why")
        return [
            refused(record, "readback", "internal_error", said, clock_ms()),
            _answered(request, failure, clock_ms()),
        ]


def _answered(request: ReadRequest, answer: Answer, now: int) -> ToCase:
    answered = ReadAnswered(now, request.operation_id, request.channel, request.attempt, request.asked_ms, answer)
    return ToCase(request.case_key, answered)


class Readbacks:
    """Reads under way: begun from the topic, bounded for each connection, answered in whatever order they end.

    A batch of requests counts as done once its reads have begun, so that a slow provider holds up nobody else. A read
    that a crash swallows is asked again by its case: reading twice does no harm.
    """

    def __init__(
        self, verifier: HttpVerifier, context: Context, outbox: Outbox, clock_ms: Callable[[], int], concurrency: int
    ) -> None:
        self._verifier = verifier
        self._context = context
        self._outbox = outbox
        self._clock_ms = clock_ms
        self._gates: defaultdict[bytes | None, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(concurrency))
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, batch: Iterable[Record]) -> None:
        """Begin the reads that a batch of `readbacks` asks for. The records' key is the connection's id."""
        for record in batch:
            task = asyncio.create_task(self._make(record, self._gates[record.key]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _make(self, record: Record, gate: asyncio.Semaphore) -> None:
        try:
            async with gate:
                outputs = await read_back(record, self._verifier, self._context, self._clock_ms)
            await self._outbox.deliver(log_outputs(outputs), "readback")
        except Exception as error:  # noqa: BLE001 - an answer that Kafka did not take must not be lost silently
            end_process("readback", error)

    async def stop(self) -> None:
        """Give the reads under way a moment to end, then give them up."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_STOP_AFTER_S)
        for task in list(self._tasks):
            task.cancel()
