"""What `decide` has published: everything that the pure fold of `cases` comes to, whole, and nothing else."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from aiokafka import ConsumerRecord
from aiokafka.partitioner import murmur2

from tests.faults.checks.evidence import Evidence, Violation, Violations, message_of, without_time

Whole = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
_KEYED = ("verdicts", "reviews", "cases", "readbacks")


def check_outputs(evidence: Evidence) -> Violations:
    """Check that each output of the fold is there, at least once, and that there is no other."""
    wanted = _wanted(evidence)
    published: dict[str, set[Whole]] = {
        "verdicts": {_whole(one) for one in evidence.contents.of("verdicts")},
        "reviews": {_whole(one) for one in evidence.contents.of("reviews")},
        "readbacks": {_whole(one) for one in evidence.own["readbacks"]},
        "cases": {_whole(one) for one in evidence.own["cases"] if message_of(one).get("kind") == "start"},
        "dead-letters": {_whole(one.record) for one in evidence.letters if one.why[0] == "decide"},
    }
    for topic, records in published.items():
        for one in wanted[topic] - records:
            yield Violation("missing", topic, f"the fold gives {one}")
        for one in records - wanted[topic]:
            yield Violation("invented", topic, f"the fold does not give {one}")


def _wanted(evidence: Evidence) -> Mapping[str, set[Whole]]:
    wanted: dict[str, set[Whole]] = defaultdict(set)
    for one in evidence.folded.published:
        wanted[one.topic].add((one.key, one.value, without_time(one.headers)))
    return wanted


def _whole(record: ConsumerRecord) -> Whole:
    return record.key, record.value, without_time(record.headers)


def check_answers(evidence: Evidence) -> Violations:
    """Check that no read was answered that nobody has asked for."""
    asked = {_read(message_of(one)) for one in evidence.own["readbacks"]}
    for record in evidence.own["cases"]:
        message = message_of(record)
        if message.get("kind") == "answer" and _read(message) not in asked:
            yield Violation("invented", "cases", f"nobody has asked for {message}")


def _read(message: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(message[name] for name in ("operation_id", "channel", "attempt", "asked_ms"))


def check_partitions(evidence: Evidence) -> Violations:
    """Check that what has a key lies where Kafka's default partitioner puts it: in one partition, so in order."""
    for topic in _KEYED:
        records = evidence.own.get(topic, evidence.contents.of(topic))
        count = len(evidence.contents.records[topic])
        for one in records:
            if one.key is None or (murmur2(one.key) & 0x7FFFFFFF) % count != one.partition:
                yield Violation("partition", f"{topic}/{one.partition}", f"the key {one.key!r} does not belong there")
