"""The one table: rows of registrations and cases, kept in memory, recovered by Faust from its changelog.

Faust's own write path puts a change into the table at once and sends its changelog record at some later time, and a
failed send is only logged. Here a change is acknowledged by Kafka first and visible second, so that no crash can leave
the table ahead of its changelog.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import faust

from streams.settings import TABLE, Settings
from streams.transport.outbox import Outbox


class CaseTable:
    """Row key → row value, both bytes."""

    def __init__(self, app: faust.App, settings: Settings, outbox: Outbox) -> None:
        self._outbox = outbox
        self._topic = settings.changelog_topic
        self.table = app.Table(
            TABLE,
            partitions=settings.partitions,
            key_type=bytes,
            value_type=bytes,
        )
        if self.table.changelog_topic.get_topic_name() != self._topic:
            raise RuntimeError(f"Faust names the changelog {self.table.changelog_topic.get_topic_name()}")

    @property
    def _rows(self) -> dict[bytes, bytes]:
        store: Any = self.table.data
        return store.data  # type: ignore[no-any-return]

    def read(self, key: bytes) -> bytes | None:
        """Return the value of a row, None where there is none."""
        return self._rows.get(key)

    async def write(self, partition: int, rows: Mapping[bytes, bytes | None]) -> None:
        """Change rows: their changelog records first, acknowledged, then the table.

        Args:
            partition: the partition of `cases` that the rows belong to.
            rows: key → value, None for a row that goes.

        Raises:
            aiokafka.errors.KafkaError: a changelog record was not acknowledged; no row is changed then.
        """
        await self._outbox.deliver_rows(self._topic, partition, rows.items())
        store: Any = self.table.data
        for key, value in rows.items():
            if value is None:
                store.data.pop(key, None)
                store._key_partition.pop(key, None)  # noqa: SLF001 - see below
            else:
                store.data[key] = value
                # Faust's memory store notes a row's partition in recovery only, and so keeps the rows that were
                # written later when their partition moves away.
                store._key_partition[key] = partition  # noqa: SLF001

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Iterate over all rows of the partitions that this worker owns."""
        return iter(list(self._rows.items()))
