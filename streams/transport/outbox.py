"""The outbox: records go out, and are acknowledged by Kafka, or the process ends. Nothing is only logged.

Records go by the batch and not one by one, since a batch costs one future. The producer takes one batch of a partition
at a time, and has whoever comes meanwhile wait in each other's way; so there is one sender for each partition, and what
has come meanwhile goes together.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count

from streams.outputs import Output
from streams.publish import to_records
from streams.settings import Settings
from streams.transport.crash_points import crash_point
from streams.transport.membership import Membership
from streams.transport.partitioner import partition_of
from streams.transport.producer import KeyValue, Producer

_Place = tuple[str, int]  # topic, partition


@dataclass(frozen=True, slots=True)
class Written:
    """Where a batch of records went: the partition, the offset of the first one, and how many they are."""

    partition: int
    offset: int
    records: int


class Outbox:
    """Returns only when what it was given is acknowledged by all replicas in sync."""

    def __init__(self, settings: Settings, membership: Membership) -> None:
        self._settings = settings
        self._outputs = Producer(settings)
        # Rows wait for nothing else, and leave only while their partition is certain to be this worker's.
        self._rows = Producer(settings, membership.confirm_again)
        self._keyless = count()
        self._waiting: dict[_Place, list[tuple[list[KeyValue], asyncio.Future[None]]]] = {}
        self._senders: dict[_Place, asyncio.Task[None]] = {}
        self._numbers = count()
        self._under_way: dict[int, None] = {}

    async def deliver(self, outputs: Iterable[Output], stage: str) -> None:
        """Publish outputs, in order within each partition, and wait until each is acknowledged.

        Args:
            outputs: what to publish.
            stage: who publishes.

        Raises:
            aiokafka.errors.KafkaError: one was not; the caller must not go on as if it had been.
        """
        partitions = self._settings.partitions
        places: dict[_Place, list[KeyValue]] = {}
        for one in to_records(outputs):
            partition = partition_of(one.key, partitions) if one.key is not None else next(self._keyless) % partitions
            places.setdefault((self._settings.topic(one.topic), partition), []).append(
                (one.key, one.value, one.headers)
            )
        with self._delivery():
            acknowledged = [self._post(place, records) for place, records in places.items()]
            crash_point(stage, "outputs_sent")
            await asyncio.gather(*acknowledged)
            crash_point(stage, "outputs_acked")

    def _post(self, place: _Place, records: list[KeyValue]) -> asyncio.Future[None]:
        """Leave records with a partition's sender; return a future that is done when all are acknowledged."""
        acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(place, []).append((records, acknowledged))
        if place not in self._senders:
            self._senders[place] = asyncio.create_task(self._send(place))
        return acknowledged

    async def _send(self, place: _Place) -> None:
        while posted := self._waiting.pop(place, None):
            try:
                sent = await self._outputs.hand_over(*place, chain.from_iterable(records for records, _ in posted))
                for batch, _ in sent:
                    await batch
            except Exception as error:  # noqa: BLE001 - whoever has posted a record is told
                for _, acknowledged in posted:
                    if not acknowledged.done():
                        acknowledged.set_exception(error)
            else:
                for _, acknowledged in posted:
                    if not acknowledged.done():
                        acknowledged.set_result(None)
        del self._senders[place]

    async def deliver_rows(self, topic: str, rows: Mapping[int, Iterable[KeyValue]], stage: str) -> list[Written]:
        """Write rows to a changelog, and wait until each is acknowledged.

        Args:
            topic: the changelog.
            rows: by partition, key, value (None as a tombstone) and headers of each.
            stage: who writes.

        Returns:
            Where they went, in order within each partition.

        Raises:
            aiokafka.errors.KafkaError: one was not acknowledged.
        """
        with self._delivery():
            sent = [
                (partition, batch, records)
                for partition, its_rows in rows.items()
                for batch, records in await self._rows.hand_over(topic, partition, its_rows)
            ]
            crash_point(stage, "state_sent")
            written = [Written(partition, (await batch).offset, records) for partition, batch, records in sent]
            crash_point(stage, "state_acked")
        return written

    @contextmanager
    def _delivery(self) -> Iterator[None]:
        number = next(self._numbers)
        self._under_way[number] = None
        try:
            yield
        finally:
            del self._under_way[number]

    def oldest(self) -> int | None:
        """Return the number of the oldest delivery that waits to be acknowledged, None where none does."""
        return next(iter(self._under_way), None)

    async def stop(self) -> None:
        """Send what is left and close."""
        await self._outputs.stop()
        await self._rows.stop()
