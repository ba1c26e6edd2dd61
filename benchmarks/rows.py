"""Rows of open operations, as the worker's own functions leave them, in any number.

A few are folded from messages; the others are copies of these with other numbers in them, which is much faster.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from benchmarks.contender import PARTITIONS, Contender
from benchmarks.kafka import Message, publish
from benchmarks.workload import INITIAL_DELAY_MS, Workload, operation_id, refund_number
from streams.fold import fold
from streams.intake import Context, take_all, take_operation
from streams.messages import ReadAnswered, Tick
from streams.outputs import Output, ToCase, ToReadback
from streams.publish import to_records
from streams.transport.partitioner import partition_of
from streams.transport.topics import CASES, OPERATIONS

_BEHIND = 3
"""Records that mean nothing, at the beginning of `cases`: what lies at or below a row's position, at most 2, counts as
applied."""
_CHUNK = 50_000
_MODELS = (765_432_100, 765_432_101)
"""One of each provider; the numbers stand nowhere else in a row."""

Rows = dict[bytes, bytes]


async def write_answered(contender: Contender, indexes: range, created_ms: int, context: Context) -> float:
    """Give a contender the rows of operations that are known, whose read was answered, and that wait for their webhook.

    Args:
        contender: the contender; its topics are there.
        indexes: the operations.
        created_ms: when they started.
        context: contracts, connections, policy.

    Returns:
        The bytes of an operation's rows and their keys.
    """
    nothing = [(one.key, one.value, one.headers) for one in to_records([ToCase("case/none/none/none", Tick(0))])]
    fillers = dict.fromkeys(range(PARTITIONS), nothing * _BEHIND)
    await publish(contender.bootstrap, contender.settings.topic(CASES), fillers)
    models = [_answered(index, created_ms, context) for index in _MODELS]
    for first in range(indexes.start, indexes.stop, _CHUNK):
        chunk = range(first, min(first + _CHUNK, indexes.stop))
        await write_rows(contender, chain.from_iterable(_copy(models[one % 2], one).items() for one in chunk))
    return sum(len(key) + len(value) for model in models for key, value in model.items()) / len(models)


async def write_rows(contender: Contender, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Append rows to what a contender recovers from."""
    partitions: dict[int, list[Message]] = {partition: [] for partition in range(PARTITIONS)}
    for key, value in rows:
        partitions[partition_of(key, PARTITIONS)].append(contender.changelog_record(key, value))
    await publish(contender.bootstrap, contender.changelog, partitions)


def begun_rows(count: int, begin_ms: int, per_s: int, context: Context) -> Iterator[tuple[int, Rows]]:
    """Yield when the first read of an operation falls due, at an even rate, and the operation's rows."""
    slot_ms = 10
    per_slot = per_s * slot_ms // 1000
    for first in range(0, count, per_slot):
        due_ms = begin_ms + first // per_slot * slot_ms
        models = [_begun(index, due_ms - INITIAL_DELAY_MS, context)[0] for index in _MODELS]
        for index in range(first, min(first + per_slot, count)):
            yield due_ms, _copy(models[index % 2], index)


def _copy(model: Rows, index: int) -> Rows:
    """Return a model's rows as those of another operation of the same provider."""
    of = _MODELS[index % 2]
    names = (operation_id(of).encode(), operation_id(index).encode())
    numbers = (str(refund_number(of)).encode(), str(refund_number(index)).encode())
    return {
        key.replace(*names).replace(*numbers): value.replace(*names).replace(*numbers) for key, value in model.items()
    }


def _begun(index: int, created_ms: int, context: Context) -> tuple[Rows, list[Output]]:
    """Fold an operation up to its start. Returns its rows, and what its case wants."""
    key, value, headers = Workload(created_ms).operation(index)
    record = _Record(OPERATIONS, 0, key, value, list(headers), created_ms)
    outputs: list[Output] = list(take_all(take_operation, [record], context, created_ms))
    rows = Rows()
    for _ in ("submission", "start"):
        outputs = _apply(rows, outputs, 0, created_ms, context)
    return rows, outputs


def _answered(index: int, created_ms: int, context: Context) -> Rows:
    """Fold an operation up to the answer of its first read: it waits for its webhook."""
    workload = Workload(created_ms)
    rows, _ = _begun(index, created_ms, context)
    now = created_ms + INITIAL_DELAY_MS
    key = next(key for key in rows if key.startswith(b"case/")).decode()
    wanted = _apply(rows, [ToCase(key, Tick(now))], 1, now, context)
    asked = next(one.request for one in wanted if isinstance(one, ToReadback))
    answer = workload.answer(context.catalogue.get(asked.contract, asked.version), asked.channel, asked.inputs)
    answered = ReadAnswered(now, asked.operation_id, asked.channel, asked.attempt, asked.asked_ms, answer)
    _apply(rows, [ToCase(key, answered)], 2, now, context)
    return rows


def _apply(rows: Rows, outputs: Iterable[Output], offset: int, now: int, context: Context) -> list[Output]:
    """Fold outputs that go to `cases`, all at one offset."""
    wanted: list[Output] = []
    for one in to_records(outputs):
        record = _Record(CASES, offset, one.key, one.value, list(one.headers), now)
        folded = fold([record], rows.get, context, now)
        rows |= {key: value for key, value in folded.rows.items() if value is not None}
        wanted += folded.outputs
    return wanted


@dataclass(frozen=True, slots=True)
class _Record:
    """A record as the pure functions take it."""

    topic: str
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    timestamp: int
    partition: int = 0
