"""A million open operations in one worker: what they take in memory, how long it recovers, how late its timers come."""

import asyncio
import math
from dataclasses import dataclass
from time import monotonic, time

from benchmarks.contender import PARTITIONS, Contender
from benchmarks.kafka import Reader
from benchmarks.latency import percentile
from benchmarks.rows import Rows, begun_rows, write_answered, write_rows
from streams.transport.topics import CASES
from streams.worker import load_context

DUE_PER_S = 2000
_MOST_DUE_S = 20
_SLOWEST_RECOVERY_PER_S = 25_000
_START_S = 12.0
_MINUTE_MS = 60_000
_GRACE_S = 120.0
_AFTER_READY_MS = 1000
_TICK = ("ce_type", b"proofstream.case.tick")


@dataclass(frozen=True, slots=True)
class OpenOperations:
    """What was measured. ``late_*``: from a row's due time to its tick appended on `cases`, in milliseconds.

    ``bytes_an_operation``: resident memory when recovered, less that before, by operation. ``row_bytes``: what the rows
    of an operation (its registration, its case) and their keys hold. ``rss_after_ticks``: in bytes, the whole process.
    """

    operations: int
    rows: int
    row_bytes: float
    bytes_an_operation: float
    rss_before: int
    rss_recovered: int
    rss_after_ticks: int
    recovery_s: float
    recovery_per_s: float
    ticks_per_s: int
    ticks: int
    missing_ticks: int
    late_p50: float
    late_p99: float
    late_max: float


async def measure_open_operations(contender: Contender, reader: Reader, operations: int) -> OpenOperations:
    """Write the rows of open operations, start the worker, and have a part of them fall due.

    Args:
        contender: our worker.
        reader: reads its topics.
        operations: how many are open.

    Raises:
        benchmarks.contender.Unfinished: the worker ended, or did not recover.
    """
    await contender.prepare()
    context = load_context(contender.settings)
    due = min(operations, DUE_PER_S * max(1, min(_MOST_DUE_S, operations // (2 * DUE_PER_S))))
    row_bytes = await write_answered(contender, range(due, operations), int(time() * 1000) - _MINUTE_MS, context)
    begin_ms = int(time() + _START_S + 2 * operations / _SLOWEST_RECOVERY_PER_S) * 1000
    dues: dict[bytes, int] = {}
    rows = Rows()
    for due_ms, row in begun_rows(due, begin_ms, DUE_PER_S, context):
        rows |= row
        dues |= {key: due_ms for key in row if key.startswith(b"case/")}
    await write_rows(contender, rows.items())
    # The refunds that their reads show were made after the operations began.
    contender.environment = {**contender.environment, "BENCH_CREATED_MS": str(max(dues.values()) + _MINUTE_MS)}

    await contender.start()
    beginning = await contender.says("recovering", _GRACE_S)
    ready = await contender.says("ready", _GRACE_S + 2 * operations / _SLOWEST_RECOVERY_PER_S)
    ticks = await _ticks(contender, reader, dues)
    rss_after = contender.resident_bytes()
    await contender.stop()

    counted = {key: one for key, one in dues.items() if one >= ready["at_ms"] + _AFTER_READY_MS}
    late = [float(ticks[key] - one) for key, one in counted.items() if key in ticks]
    recovery_s = (ready["at_ms"] - beginning["at_ms"]) / 1000
    return OpenOperations(
        operations=operations,
        rows=2 * operations,
        row_bytes=row_bytes,
        bytes_an_operation=(ready["rss"] - beginning["rss"]) / operations,
        rss_before=beginning["rss"],
        rss_recovered=ready["rss"],
        rss_after_ticks=rss_after,
        recovery_s=recovery_s,
        recovery_per_s=2 * operations / recovery_s,
        ticks_per_s=DUE_PER_S,
        ticks=len(late),
        missing_ticks=len(dues) - len(ticks),
        late_p50=percentile(late, 0.5),
        late_p99=percentile(late, 0.99),
        late_max=percentile(late, 1),
    )


async def _ticks(contender: Contender, reader: Reader, dues: dict[bytes, int]) -> dict[bytes, int]:
    """Wait until every row has had its tick, or should have; return when the first one of each was appended."""
    cases = contender.settings.topic(CASES)
    await asyncio.sleep(max(0.0, max(dues.values()) / 1000 - time()))
    deadline = monotonic() + _GRACE_S
    while True:
        ticks: dict[bytes, int] = {}
        async for record in reader.read(cases, PARTITIONS):
            if record.key in dues and _TICK in record.headers:
                ticks.setdefault(record.key, record.timestamp)
        if len(ticks) == len(dues) or monotonic() > deadline:
            return ticks
        contender.check(f"had sent {len(ticks)} of {len(dues)} ticks", math.inf)
        await asyncio.sleep(2)
