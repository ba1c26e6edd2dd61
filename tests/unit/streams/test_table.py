"""The table takes of each row the record with the highest position, and sees that it is alone."""

import logging
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import faust
import pytest
from faust.types import TP

from streams.settings import Settings
from streams.transport.lanes import Batch, Unit
from streams.transport.membership import Membership, PartitionsLost
from streams.transport.outbox import Written
from streams.transport.table import CaseTable, Changed, ForeignWrite

KEY = b"case/acme/order_id/1"
CHANGELOG = "proofstream-cases-changelog"


def row(position: int) -> bytes:
    return b'{"position":%d,"due_ms":null,"operations":{}}' % position


class Log:
    """The outbox and the changelog: what was written, and where the next record goes."""

    def __init__(self) -> None:
        self.end = 100
        self.written: list[tuple[int, bytes, bytes | None, dict[str, bytes]]] = []

    async def deliver_rows(self, topic: str, rows: Mapping[int, Iterable[Any]], stage: str) -> list[Written]:
        ((partition, its_rows),) = rows.items()
        records = list(its_rows)
        self.written += [(partition, key, value, dict(headers)) for key, value, headers in records]
        self.end += len(records)
        return [Written(partition, self.end - len(records), len(records))]


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def table(log: Log) -> CaseTable:
    app = faust.App("proofstream", broker="kafka://127.0.0.1:1", store="memory://", autodiscover=False)
    return CaseTable(app, Settings(), log, Membership(30.0))  # type: ignore[arg-type]


def changelog(*values: bytes | None, tombstone: int | None = None) -> list[Any]:
    headers = (("position", b"%d" % tombstone),) if tombstone is not None else ()
    return [
        SimpleNamespace(key=KEY, value=value, headers=headers, offset=offset) for offset, value in enumerate(values)
    ]


async def finish(table: CaseTable, end: int = 100) -> None:
    recovery: Any = table._app.tables.recovery  # type: ignore[attr-defined]
    recovery.active_highwaters.clear()
    recovery.active_highwaters[TP(CHANGELOG, 3)] = end - 1
    await table.finish_recovery()


async def write(table: CaseTable, changed: Changed, offset: int = 50, generation: int = 0) -> None:
    membership = Membership(30.0)
    membership._coordinator = SimpleNamespace(generation=0)
    batch = Batch(3, [SimpleNamespace(offset=offset)])  # type: ignore[list-item]
    await table.write(Unit([batch], generation, membership), [(batch, changed)])


async def test_the_last_record_of_a_row_stands(table: CaseTable, log: Log):
    table._apply(3, changelog(row(5), row(7), row(9)))
    await finish(table)

    assert dict(table.rows(3)) == {KEY: row(9)}
    assert log.written == []


async def test_a_stale_record_is_passed_over_and_written_over(table: CaseTable, log: Log):
    table._apply(3, changelog(row(5), row(9), row(7)))
    await finish(table)

    assert dict(table.rows(3)) == {KEY: row(9)}
    assert log.written == [(3, KEY, row(9), {})]


async def test_a_stale_record_with_the_right_one_behind_it_needs_nothing(table: CaseTable, log: Log):
    table._apply(3, changelog(row(9), row(7), row(11)))
    await finish(table)

    assert dict(table.rows(3)) == {KEY: row(11)}
    assert log.written == []


async def test_a_row_that_was_deleted_does_not_come_back_by_a_stale_record(table: CaseTable, log: Log):
    table._apply(3, changelog(row(5)))
    table._apply(3, changelog(None, tombstone=8))
    table._apply(3, changelog(row(7)))
    await finish(table)

    assert dict(table.rows(3)) == {}
    assert log.written == [(3, KEY, None, {"position": b"8"})]


async def test_a_stale_tombstone_deletes_nothing(table: CaseTable, log: Log):
    table._apply(3, changelog(row(9)))
    table._apply(3, changelog(None, tombstone=8))
    await finish(table)

    assert dict(table.rows(3)) == {KEY: row(9)}
    assert log.written == [(3, KEY, row(9), {})]


async def test_a_tombstone_that_somebody_wrote_by_hand_deletes(table: CaseTable):
    table._apply(3, changelog(row(9), None))
    await finish(table)

    assert dict(table.rows(3)) == {}


async def test_junk_is_named_and_does_not_hide_a_row(table: CaseTable, log: Log, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.ERROR):
        table._apply(3, changelog(row(9), b"junk"))
    await finish(table)

    assert f"the record {CHANGELOG}/3/1 is no row" in caplog.text
    assert log.written == [(3, KEY, row(9), {})]


async def test_rows_of_partitions_that_moved_away_are_forgotten(table: CaseTable):
    table._apply(2, changelog(row(5)))
    table._apply(3, changelog(row(5)))
    await finish(table)

    assert list(table.items()) == [(KEY, row(5))]


async def test_a_change_is_written_first_and_visible_second(table: CaseTable, log: Log):
    await finish(table)
    await write(table, {KEY: row(50), b"gone": None})

    assert log.written == [(3, KEY, row(50), {}), (3, b"gone", None, {"position": b"50"})]
    assert dict(table.rows(3)) == {KEY: row(50)}


async def test_a_lost_partition_is_not_written_to(table: CaseTable, log: Log):
    await finish(table)
    with pytest.raises(PartitionsLost):
        await write(table, {KEY: row(50)}, generation=-1)

    assert log.written == []


async def test_another_worker_in_the_same_partition_is_noticed(table: CaseTable, log: Log):
    await finish(table)
    await write(table, {KEY: row(50)})
    log.end += 1
    with pytest.raises(ForeignWrite, match="the next record was to have the offset 101, and has 102"):
        await write(table, {KEY: row(51)})


async def test_another_worker_that_wrote_since_the_recovery_is_noticed(table: CaseTable, log: Log):
    await finish(table, end=99)
    with pytest.raises(ForeignWrite):
        await write(table, {KEY: row(51)})
