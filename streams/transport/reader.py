"""Topics as they are now, for the commands that a person gives: read once to the end, or one record by its place."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaTimeoutError

from streams.settings import Settings

_POLL_MS = 200
_PATIENCE_S = 30.0


class Reader:
    """Reads without a group and without committing; of transactions, what is committed.

    The ends of partitions are those that fetches tell: the embedded broker answers wrong ones when it is asked. Behind
    the beginning of an open transaction nothing is read.
    """

    def __init__(self, client: AIOKafkaConsumer) -> None:
        self._client = client
        self._known: dict[str, list[TopicPartition]] = {}

    async def scan(self, topic: str, beginnings: Mapping[int, int] | None = None) -> AsyncIterator[ConsumerRecord]:
        """Yield what a topic holds now, in order within each partition.

        Args:
            topic: its full name.
            beginnings: partition → the offset to begin at, other partitions are left out; all from their beginning if
                None.

        Raises:
            LookupError: there is no such topic.
            aiokafka.errors.KafkaTimeoutError: Kafka stopped answering on the way.
        """
        left = await self._begin(topic, beginnings)
        ends: dict[TopicPartition, int] = {}
        patience = _Patience(topic)
        while left:
            fetched = await self._client.getmany(timeout_ms=_POLL_MS)
            patience.check(progress=bool(fetched))
            for one in sorted(left):
                end = ends.get(one) or self._client.last_stable_offset(one)
                if end is None:
                    continue  # nothing was fetched from it yet
                ends[one] = end
                for record in fetched.get(one, ()):
                    if record.offset < end:
                        yield record
                if await self._client.position(one) >= end:
                    left.discard(one)

    async def read(self, topic: str, partition: int, offset: int) -> ConsumerRecord | None:
        """Return one record, None where it is not there any more, or not yet.

        Raises:
            LookupError: there is no such topic.
            aiokafka.errors.KafkaTimeoutError: Kafka does not answer.
        """
        place = TopicPartition(topic, partition)
        if place not in await self._partitions(topic):
            return None
        self._client.assign([place])
        self._client.seek(place, offset)
        patience = _Patience(topic)
        while True:
            fetched = await self._client.getmany(timeout_ms=_POLL_MS, max_records=1)
            patience.check(progress=False)
            for record in fetched.get(place, ()):
                return record if record.offset == offset else None
            if await self._client.position(place) > offset:
                return None  # a marker, or an aborted record, lies there
            end = self._client.last_stable_offset(place)
            if end is not None and offset >= end:
                return None

    async def _begin(self, topic: str, beginnings: Mapping[int, int] | None) -> set[TopicPartition]:
        partitions = await self._partitions(topic)
        wanted = [one for one in partitions if beginnings is None or one.partition in beginnings]
        self._client.assign(wanted)
        if beginnings is None:
            await self._client.seek_to_beginning()
        else:
            for one in wanted:
                self._client.seek(one, beginnings[one.partition])
        return set(wanted)

    async def _partitions(self, topic: str) -> list[TopicPartition]:
        if topic not in self._known:
            # Never ask for a missing topic's metadata: a broker with auto-creation would make it.
            if topic not in await self._client.topics():
                raise LookupError(f"there is no topic {topic}: a worker creates it when it starts")
            await self._client.beginning_offsets([TopicPartition(topic, 0)])  # makes the client know the topic
            partitions = self._client.partitions_for_topic(topic) or ()
            self._known[topic] = [TopicPartition(topic, one) for one in sorted(partitions)]
        return self._known[topic]


class _Patience:
    """Ends a reading that gets nowhere."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._since = asyncio.get_running_loop().time()

    def check(self, *, progress: bool) -> None:
        now = asyncio.get_running_loop().time()
        if progress:
            self._since = now
        elif now > self._since + _PATIENCE_S:
            raise KafkaTimeoutError(f"the topic {self._topic} could not be read to its end")


@asynccontextmanager
async def open_reader(settings: Settings) -> AsyncIterator[Reader]:
    """Open a reader of topics."""
    client = AIOKafkaConsumer(
        bootstrap_servers=settings.bootstrap_servers,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=100,
        isolation_level="read_committed",
    )
    try:
        await client.start()
        yield Reader(client)
    finally:
        await client.stop()
