"""Everything that lies in a system's topics, and how far its group has come."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from tests.faults.expected import CONSUMED, Place

READ = (*CONSUMED, "verdicts", "reviews", "dead-letters")
CHANGELOG = "changelog"


@dataclass(frozen=True)
class Contents:
    """Records by topic and partition, in order; committed offsets and ends by topic and partition."""

    records: Mapping[str, Mapping[int, list[ConsumerRecord]]]
    committed: Mapping[tuple[str, int], int]
    ends: Mapping[tuple[str, int], int]

    def of(self, topic: str) -> list[ConsumerRecord]:
        """Return the records of all partitions of a topic."""
        return [record for records in self.records[topic].values() for record in records]

    @property
    def worked_off(self) -> bool:
        """Whether nothing waits in the topics that the worker consumes."""
        return all(self.committed.get(place, 0) >= self.ends[place] for place in self.ends if place[0] in CONSUMED)


async def read_all(bootstrap: str, prefix: str, partitions: int = 4, topics: tuple[str, ...] = READ) -> Contents:
    """Read every record up to the ends as they are now."""
    names = {prefix + topic: topic for topic in topics} | {f"{prefix}app-cases-changelog": CHANGELOG}
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, fetch_max_wait_ms=100)
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await consumer.start()
    await admin.start()
    try:
        places = [TopicPartition(name, partition) for name in names for partition in range(partitions)]
        committed = await admin.list_consumer_group_offsets(f"{prefix}app")
        ends = await consumer.end_offsets(places)
        consumer.assign(places)
        await consumer.seek_to_beginning()
        records: dict[str, dict[int, list[ConsumerRecord]]] = {
            topic: {partition: [] for partition in range(partitions)} for topic in names.values()
        }
        left = {place for place, end in ends.items() if end > 0}
        while left:
            for place, found in (await consumer.getmany(timeout_ms=500)).items():
                fresh = [one for one in found if one.offset < ends[place]]
                records[names[place.topic]][place.partition] += fresh
            left = {place for place in left if await consumer.position(place) < ends[place]}
    finally:
        await consumer.stop()
        await admin.close()
    return Contents(
        records,
        {(names[one.topic], one.partition): at.offset for one, at in committed.items() if one.topic in names},
        {(names[one.topic], one.partition): end for one, end in ends.items()},
    )


def letters_of(contents: Contents, prefix: str) -> Iterator[tuple[str, Place, ConsumerRecord]]:
    """Yield each dead letter: its id, as commands name it, the place that it says its record lay in, and itself."""
    for record in contents.of("dead-letters"):
        told = {name: value or b"" for name, value in record.headers}  # of several, the worker's own is the last
        if "dead_letter_stage" in told:
            topic = told["dead_letter_topic"].decode().removeprefix(prefix)
            place = topic, int(told["dead_letter_partition"]), int(told["dead_letter_offset"])
            yield f"{record.partition}/{record.offset}", place, record
