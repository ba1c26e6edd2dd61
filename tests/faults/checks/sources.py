"""Every source record, once: forwarded, or refused by one dead letter, or without a trace; and none out of nowhere.

This is counted on the topics. The pure intake is asked afterwards, whether what was forwarded is what it would forward.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aiokafka import ConsumerRecord

from contracts.instants import parse_instant
from streams.intake import take_delivery, take_operation
from streams.publish import to_records
from tests.faults.checks.evidence import Evidence, Violation, Violations, message_of
from tests.faults.expected import LATER, Place

_TAKE = {"operations": take_operation, "webhooks": take_delivery}
Origin = tuple[Place, bool]
"""The place that a record lay in first, and whether it was put back."""


def check_sources(evidence: Evidence) -> Violations:
    """Check what became of each record of `operations` and `webhooks`."""
    for topic in _TAKE:
        for one in evidence.own[topic]:
            yield Violation("unaccounted", str(evidence.place_of(one)), "nobody says that he has published it")
    forwarded, sources = _forwarded(evidence), _sources(evidence)
    for origin in forwarded.keys() - sources.keys():
        yield Violation("invented", str(origin), f"there is no such record, but {forwarded[origin][0].value!r}")
    for (first, again), record in sources.items():
        messages = forwarded.get((first, again), [])
        fate, subject = evidence.fate(first, again=again), f"{first}{' put back' if again else ''}"
        if fate.forwarded and not messages:
            yield Violation("lost", subject, f"it was to be taken, and was not: {record.value!r:.300}")
        if not fate.forwarded and messages:
            yield Violation("forwarded", subject, f"it was not to be taken, but there is {messages[0].value!r:.300}")
        contents = {_content(one) for one in messages}
        if len(contents) > 1:
            yield Violation("forwarded", subject, f"in different ways: {contents}")
        for about in {_about(one) for one in messages} - {fate.about}:
            yield Violation("forwarded", subject, f"it is about {fate.about!r}, and was taken for {about!r}")
        yield from _as_intake_would(evidence, subject, record, messages)


def _sources(evidence: Evidence) -> Mapping[Origin, ConsumerRecord]:
    sources = {(place, False): one for place, one in evidence.originals.items()}
    # However often it was put back, it is taken once: the first of them stands for all.
    sources |= {(first, True): records[0] for first, records in evidence.put_back.items()}
    return {origin: one for origin, one in sources.items() if origin[0][0] in _TAKE}


def _forwarded(evidence: Evidence) -> Mapping[Origin, list[ConsumerRecord]]:
    """Return what intake has written to `cases`, copies and all, by what it was made of."""
    found: dict[Origin, list[ConsumerRecord]] = defaultdict(list)
    for record in evidence.own["cases"]:
        message = message_of(record)
        if message.get("kind") in ("submission", "events"):
            source = message["source"]
            place = source["topic"].removeprefix(evidence.prefix), source["partition"], source["offset"]
            found[place, source["requeued"]].append(record)
    return found


def _content(record: ConsumerRecord) -> str:
    """Return what copies of a message must share: all but the time at which it was made, and what is cut off there."""
    message = message_of(record) | {"at": None, "arrived_ms": None}
    return f"{record.key!r} {message}"


def _about(record: ConsumerRecord) -> Any:
    message = message_of(record)
    return message["operation_id"] if message["kind"] == "submission" else message["events"][0]["resource_id"]


def _as_intake_would(
    evidence: Evidence, subject: str, record: ConsumerRecord, messages: list[ConsumerRecord]
) -> Violations:
    for one in messages:
        outputs = _TAKE[evidence.place_of(record)[0]](record, evidence.context, message_of(one)["at"])
        wanted = [(out.key, out.value, out.headers) for out in to_records(outputs)]
        if (one.key, one.value, tuple(one.headers)) not in wanted:
            yield Violation("forwarded", subject, f"intake would forward {wanted}, but there is {one!r}")


def check_refusals(evidence: Evidence) -> Violations:
    """Check that what intake has refused reads as the pure intake would have it."""
    fates = evidence.expected.fates
    known = {name: one for name, one in evidence.context.connections.items() if name != LATER}
    unmended = replace(evidence.context, connections=known)
    records = {evidence.place_of(one): one for records in evidence.put_back.values() for one in records}
    records |= evidence.originals
    for letter in evidence.letters:
        record = records.get(letter.place)
        if letter.why[0] != "intake" or record is None:
            continue
        context = unmended if letter.place in fates else evidence.context
        at = parse_instant((dict(letter.record.headers)["dead_letter_at"] or b"").decode()).start_ms
        outputs = to_records(_TAKE[letter.place[0]](record, context, at))
        if [(one.key, one.value, one.headers) for one in outputs] != [
            (letter.record.key, letter.record.value, tuple(letter.record.headers))
        ]:
            yield Violation("refused", str(letter.place), f"intake would say {outputs}, but there is {letter.record!r}")
