"""What aiokafka's fetches bring, told by the range of offsets that they cover.

The offset behind a fetch's last record is not where the next fetch begins: markers of transactions and what was aborted
lie in between, and are no records. Whoever has to know whether something was left out, or whether all of a partition
has been read, goes by what was covered.
"""

# ruff: noqa: SLF001 - aiokafka tells of its fetches nowhere else

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.consumer.fetcher import PartitionRecords
from aiokafka.protocol.fetch import FetchRequest

from streams.transport.header_names import AnyNames


@dataclass(frozen=True, slots=True)
class Fetched:
    """All the records that a partition holds from the offset ``begin`` on and before ``end``. There may be none."""

    records: list[ConsumerRecord]
    begin: int
    end: int


class Fetches:
    """Follows the fetches of a consumer that has been started."""

    def __init__(self, consumer: AIOKafkaConsumer) -> None:
        self._fetcher = consumer._fetcher
        self._answer: Any = None
        self._taken: dict[TopicPartition, tuple[int, _Followed]] = {}
        client: Any = consumer._client
        send, process = client.send, self._fetcher._proc_fetch_request

        async def send_and_keep(node: int, request: Any, **options: Any) -> Any:
            answer = await send(node, request, **options)
            if isinstance(request, FetchRequest):
                self._answer = answer
            return answer

        async def process_and_follow(*args: Any) -> bool:
            woken: bool = await process(*args)
            # aiokafka waits for nothing between an answer and here, so this is its answer and no other one's.
            answer, self._answer = self._answer, None
            if answer is not None:
                self._follow(answer)
            return woken

        client.send = send_and_keep
        self._fetcher._proc_fetch_request = process_and_follow

    def _follow(self, answer: Any) -> None:
        for topic, partitions in answer.topics:
            for number, *_, written in partitions:
                found = self._fetcher._records.get(TopicPartition(topic, number))
                plain = getattr(found, "_partition_records", None)
                if type(plain) is PartitionRecords:
                    found._partition_records = _Followed(plain, written, self)

    def take_from(self, partition: TopicPartition, records: "_Followed") -> None:
        """Note that records of a partition are taken now."""
        begin = records.next_fetch_offset
        if partition in self._taken and self._taken[partition][1].next_fetch_offset == begin:
            begin = self._taken[partition][0]
        self._taken[partition] = (begin, records)

    def forget(self) -> None:
        """Forget what was taken so far: it did not get to where it is worked on."""
        self._taken.clear()

    def cover(self, records: Mapping[TopicPartition, list[ConsumerRecord]]) -> dict[TopicPartition, Fetched]:
        """Tell what was covered since the last time.

        Args:
            records: the records that were taken, by partition; of one of which only markers were there are none.
        """
        taken, self._taken = self._taken, {}
        return {
            partition: Fetched(records.get(partition, []), begin, read.next_fetch_offset)
            for partition, (begin, read) in taken.items()
            if read.next_fetch_offset > begin
        }


class _Followed(PartitionRecords):  # type: ignore[misc]
    """What one fetch brought of a partition; tells when something is taken from it."""

    def __init__(self, plain: PartitionRecords, written: bytes, fetches: Fetches) -> None:
        # It holds what it iterates over, and is held by it: the fetch's bytes would be there until they are looked for.
        plain._records_iterator = None
        super().__init__(
            plain._tp,
            AnyNames(written),
            plain._aborted_transactions,
            plain.next_fetch_offset,
            plain._key_deserializer,
            plain._value_deserializer,
            plain._check_crcs,
            plain._isolation_level,
        )
        self._fetches = fetches

    def __iter__(self) -> "_Followed":
        self._fetches.take_from(self._tp, self)
        return self
