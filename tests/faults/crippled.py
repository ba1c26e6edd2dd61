"""A worker with one of its safeguards taken out: what the checker must notice, or it would not be worth much.

python -m tests.faults.crippled GUARD
"""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import streams.app
import streams.fold
import streams.intake
import streams.transport.table
from streams import cases, decide, registration
from streams.cli import main
from streams.messages import Source
from streams.transport import lanes
from streams.transport.membership import Membership
from streams.transport.outbox import Outbox
from streams.transport.table import CaseTable, Changed

LATER_S = 3.0
_background: set[asyncio.Task[Any]] = set()


def _later(work: Callable[[], Any]) -> None:
    async def wait_and_work() -> None:
        await asyncio.sleep(LATER_S)
        await work()

    task = asyncio.create_task(wait_and_work())
    _background.add(task)


def without_source_offsets() -> None:
    """A record that intake forwards twice is taken for one that was published twice."""
    registration.seen_before = decide.seen_before = lambda row, source: False  # type: ignore[attr-defined]


def without_first_places() -> None:
    """A record that was put back is taken for a new one, and so is the one that was put back at the same time."""
    streams.intake.source_of = lambda record: Source(  # type: ignore[attr-defined]
        record.topic, record.partition, record.offset
    )


def without_positions() -> None:
    """A batch that is redelivered is applied once more."""
    without_source_offsets()

    def decode_row(value: bytes) -> cases.Row:
        row = cases.decode_row(value)
        row.position = -1
        return row

    streams.fold.decode_row = decode_row  # type: ignore[attr-defined]


def without_awaiting_outputs() -> None:
    """Outputs are sent some time later, and the batch is done with now."""
    deliver = Outbox.deliver

    async def deliver_later(self: Outbox, outputs: Iterable[Any], stage: str) -> None:
        kept = list(outputs)
        _later(lambda: deliver(self, kept, stage))

    Outbox.deliver = deliver_later  # type: ignore[method-assign]


def without_awaiting_state() -> None:
    """The table changes at once, and its changelog some time later, as in Faust."""
    write = CaseTable.write

    async def write_later(self: CaseTable, unit: lanes.Unit, changes: Sequence[tuple[lanes.Batch, Changed]]) -> None:
        for batch, changed in changes:
            rows: Any = self.rows(batch.partition)
            rows.update({key: value for key, value in changed.items() if value is not None})
        _later(lambda: write(self, unit, changes))

    CaseTable.write = write_later  # type: ignore[method-assign]


def without_ending_on_errors() -> None:
    """An exception is logged and the batch is acknowledged, as in Faust."""
    take_all = streams.intake.take_all

    def take_all_or_none(take: Any, records: Any, *context: Any) -> Any:
        if any(record.value is None for record in records):
            raise ValueError("no value")
        return take_all(take, records, *context)

    @contextlib.contextmanager
    def log_and_go_on(stage: str) -> Iterator[None]:
        with contextlib.suppress(ValueError):
            yield

    streams.app.take_all = take_all_or_none  # type: ignore[attr-defined]
    lanes.fatal = log_and_go_on  # type: ignore[attr-defined]


def without_a_lease() -> None:
    """Whose the partition is makes no difference, and neither does the position of a row in the changelog."""

    async def confirm(self: Membership, generation: int) -> None: ...

    def check_alone(self: CaseTable, *where: Any) -> None: ...

    streams.transport.table.position_of = lambda value: 0  # type: ignore[attr-defined]
    Membership.confirm = confirm  # type: ignore[method-assign]
    CaseTable._check_alone = check_alone  # type: ignore[method-assign]


def without_moving() -> None:
    """A stage waits for something that never comes."""

    async def deliver(self: Outbox, outputs: Iterable[Any], stage: str) -> None:
        await asyncio.Event().wait()

    Outbox.deliver = deliver  # type: ignore[method-assign]


GUARDS = {
    guard.__name__: guard
    for guard in (
        without_source_offsets,
        without_first_places,
        without_positions,
        without_awaiting_outputs,
        without_awaiting_state,
        without_ending_on_errors,
        without_a_lease,
        without_moving,
    )
}

if __name__ == "__main__":
    GUARDS[sys.argv.pop(1)]()
    sys.argv.append("worker")
    main()
