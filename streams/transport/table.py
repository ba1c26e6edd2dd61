"""The one table: rows of registrations and cases, kept in memory, recovered from their changelog by the batch.

Faust's own write path puts a change into the table at once and sends its changelog record at some later time, and a
failed send is only logged. Here a change is acknowledged by Kafka first and visible second, so that no crash can leave
the table ahead of its changelog.

A worker that was paused may write to a partition that it has lost meanwhile, although it makes sure just before. Kafka
does not keep it from that, so what it wrote is told by its place: every row carries the ``position`` of the record of
`cases` that it is the state after, and of two records of a key the one with the higher position stands, whatever their
order in the changelog. A worker that sees that another one has written to its partition, by the gap between the offsets
of its own writes, ends; the recovery that follows writes the right row again, behind the wrong one.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import faust
from aiokafka import ConsumerRecord
from faust.types import EventT

from streams.cases import position_of
from streams.settings import TABLE, Settings
from streams.transport.batch import BatchSchema
from streams.transport.lanes import Batch, Unit
from streams.transport.membership import Membership
from streams.transport.outbox import Outbox, Written
from streams.transport.producer import KeyValue

Changed = Mapping[bytes, bytes | None]
"""Row key → new value, None for a row that goes."""

_POSITION_HEADER = "position"
_log = logging.getLogger(__name__)


class ForeignWrite(RuntimeError):
    """Another worker has written to a changelog partition that is assigned to this one."""


class _RecoveredTable(faust.Table[bytes, bytes]):
    """Faust's table, for its changelog, assignment and recovery. The rows are kept by a :class:`CaseTable`."""

    apply_batch: Callable[[int, Iterable[ConsumerRecord]], None]

    def apply_changelog_batch(self, batch: Iterable[EventT[Any]]) -> None:
        """Take in what recovery has read: each event is a Kafka batch of one partition."""
        for event in batch:
            self.apply_batch(event.message.partition, event.value)


class CaseTable:
    """Row key → row value, both bytes, by partition."""

    def __init__(self, app: faust.App, settings: Settings, outbox: Outbox, membership: Membership) -> None:
        self._app = app
        self._membership = membership
        self._outbox = outbox
        self._topic = settings.changelog_topic
        self._alone = settings.broker == "embedded"  # it takes one worker only, and its retries may repeat a record
        self._rows: defaultdict[int, dict[bytes, bytes]] = defaultdict(dict)
        # In recovery: what was deleted at which position, and the keys whose last record in the changelog is stale.
        self._deleted: defaultdict[int, dict[bytes, int]] = defaultdict(dict)
        self._stale: defaultdict[int, set[bytes]] = defaultdict(set)
        self._next_offset: dict[int, int] = {}
        self.recovered = 0
        self.table = _RecoveredTable(
            app,
            name=TABLE,
            partitions=settings.partitions,
            key_type=bytes,
            value_type=bytes,
            schema=BatchSchema(key_type=bytes, value_type=bytes),
            recovery_buffer_size=2,  # batches; with 1 Faust would go on reading the changelog after recovery
        )
        self.table.apply_batch = self._apply
        app.tables.add(self.table)
        if self.table.changelog_topic.get_topic_name() != self._topic:
            raise RuntimeError(f"Faust names the changelog {self.table.changelog_topic.get_topic_name()}")

    def rows(self, partition: int) -> Mapping[bytes, bytes]:
        """Return the rows of a partition."""
        return self._rows[partition]

    async def write(self, unit: Unit, changes: Sequence[tuple[Batch, Changed]]) -> None:
        """Change rows: their changelog records first, acknowledged, then the table.

        Args:
            unit: what the batches were worked on in.
            changes: for each batch of `cases` the rows that it changes.

        Raises:
            aiokafka.errors.KafkaError: a changelog record was not acknowledged; no row is changed then.
            PartitionsLost: the partitions belong to somebody else by now; nothing was written.
            ForeignWrite: somebody else has written to one as well.
        """
        records = {batch.partition: _to_records(changed, batch.position) for batch, changed in changes}
        await unit.confirm()
        self._check_alone(await self._outbox.deliver_rows(self._topic, records, "decide"))
        for batch, changed in changes:
            rows = self._rows[batch.partition]
            for key, value in changed.items():
                if value is None:
                    rows.pop(key, None)
                else:
                    rows[key] = value

    def _check_alone(self, written: Iterable[Written]) -> None:
        for one in written:
            expected = self._next_offset.get(one.partition, one.offset)
            if one.offset != expected and not self._alone:
                raise ForeignWrite(
                    f"another worker has written to {self._topic}/{one.partition}: the next record was to have the"
                    f" offset {expected}, and has {one.offset}"
                )
            self._next_offset[one.partition] = one.offset + one.records

    def _apply(self, partition: int, records: Iterable[ConsumerRecord]) -> None:
        """Take in changelog records: of a key, the one with the highest position stands."""
        rows, deleted, stale = self._rows[partition], self._deleted[partition], self._stale[partition]
        for record in records:
            key, value = record.key, record.value
            self.recovered += 1
            known = rows.get(key)
            if value is not None and position_of(value) < 0:
                _log.error("the record %s/%s/%s is no row", self._topic, partition, record.offset)
            if value is None:
                position = _position_of_tombstone(record)
                if known is not None and position is not None and position < position_of(known):
                    stale.add(key)
                    continue
                rows.pop(key, None)
                if position is not None:
                    deleted[key] = max(position, deleted.get(key, -1))
            elif (known is not None and position_of(value) < position_of(known)) or (
                deleted and position_of(value) <= deleted.get(key, -1)
            ):
                stale.add(key)
                continue
            else:
                rows[key] = value
            stale.discard(key)

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Iterate over all rows."""
        return chain.from_iterable(rows.items() for rows in self._rows.values())

    async def finish_recovery(self) -> None:
        """Forget the rows of partitions that are no longer assigned, and write again what a stale write has hidden."""
        tables: Any = self._app.tables
        ends = tables.recovery.active_highwaters
        owned = {tp.partition: end + 1 for tp, end in ends.items()}
        for partition in self._rows.keys() - owned.keys():
            del self._rows[partition]
        self._next_offset = owned
        for partition, keys in self._stale.items():
            if keys and partition in owned:
                _log.warning(
                    "%s rows of %s/%s had been overwritten by another worker", len(keys), self._topic, partition
                )
                await self._write_again(partition, keys)
        self._stale.clear()
        self._deleted.clear()

    async def _write_again(self, partition: int, keys: Iterable[bytes]) -> None:
        rows, deleted = self._rows[partition], self._deleted[partition]
        records = [
            (key, rows.get(key), () if key in rows else ((_POSITION_HEADER, str(deleted[key]).encode()),))
            for key in keys
        ]
        await self._membership.confirm(self._app.consumer_generation_id)
        self._check_alone(await self._outbox.deliver_rows(self._topic, {partition: records}, "recovery"))


def _to_records(changed: Changed, position: int) -> list[KeyValue]:
    tombstone = ((_POSITION_HEADER, str(position).encode()),)
    return [(key, value, tombstone if value is None else ()) for key, value in changed.items()]


def _position_of_tombstone(record: ConsumerRecord) -> int | None:
    """Return the position that a row was deleted at, or None where somebody deleted it by hand."""
    text: Any = dict(record.headers).get(_POSITION_HEADER)
    return int(text) if text is not None and text.isdigit() else None
