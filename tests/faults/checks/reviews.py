"""Reviews: one for each verdict that a person is to look at, and what came too late for it noted on the newest."""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import orjson
from aiokafka import ConsumerRecord

from tests.faults.checks.evidence import Evidence, Violation, Violations

_LATE = re.compile(r"\S+ of (.+), created at \S+, arrived at \S+")


def check_reviews(evidence: Evidence) -> Violations:
    """Check `reviews` against the verdicts, by what both say; against the deliveries; and against the fold."""
    by_key: dict[bytes, list[ConsumerRecord]] = defaultdict(list)
    for record in evidence.contents.of("reviews"):
        by_key[record.key].append(record)
    yield from _one_content_for_each_id(by_key)
    yield from _the_verdicts_that_ask_for_one(evidence, by_key)
    yield from _late_evidence(evidence, by_key)
    yield from _the_newest(evidence, by_key)


def _one_content_for_each_id(by_key: Mapping[bytes, list[ConsumerRecord]]) -> Violations:
    copies: dict[bytes | None, set[Any]] = defaultdict(set)
    for record in (one for records in by_key.values() for one in records):
        copies[dict(record.headers)["ce_id"]].add((record.key, record.value, tuple(record.headers)))
    for identity, different in copies.items():
        if len(different) > 1:
            yield Violation("review", str(identity), f"it is there in different ways: {different}")


def _the_verdicts_that_ask_for_one(evidence: Evidence, by_key: Mapping[bytes, list[ConsumerRecord]]) -> Violations:
    asking: dict[bytes, str] = {}
    for record in evidence.contents.of("verdicts"):
        verdict = orjson.loads(record.value)
        if verdict["review"] != (verdict["verdict"] == "UNVERIFIABLE"):  # the world's contracts escalate
            yield Violation("review", verdict["operation_id"], f"{verdict['verdict']} says {verdict['review']}")
        if verdict["review"]:
            asking[record.key] = verdict["verdict_id"]
    for key in asking.keys() - by_key.keys():
        yield Violation("review", repr(key), "it is to be reviewed, and there is no review")
    for key, records in by_key.items():
        for review in {one.value: orjson.loads(one.value) for one in records}.values():
            if (review["operation_id"].encode(), review["verdict_id"]) != (key, asking.get(key)):
                yield Violation("review", repr(key), f"no verdict asks for {review}")


def _late_evidence(evidence: Evidence, by_key: Mapping[bytes, list[ConsumerRecord]]) -> Violations:
    """Whatever reached its topic when the review was there already is noted on the newest, and no other refund is.

    What came too late as well, but was taken in before the observation ended, may be missing there.
    """
    sent: dict[bytes, dict[str, int]] = defaultdict(dict)
    for place, fate in evidence.taken("webhooks").items():
        if fate.late_for is not None and fate.about is not None:
            refunds, at = sent[fate.late_for.encode()], evidence.originals[place].timestamp
            refunds[fate.about] = min(at, refunds.get(fate.about, at))
    for key, records in by_key.items():
        noted = orjson.loads(records[-1].value)["late_evidence"]
        named = {found[1] for one in noted if (found := _LATE.fullmatch(one))}
        late = {name for name, first in sent[key].items() if first > records[0].timestamp}
        if not late <= named <= sent[key].keys() or len(set(noted)) < len(noted):
            said = f"{sorted(sent[key])} came late, {sorted(late)} of them after the review, which says {noted}"
            yield Violation("late evidence", repr(key), said)


def _the_newest(evidence: Evidence, by_key: Mapping[bytes, list[ConsumerRecord]]) -> Violations:
    """The last record of each key is what stays when the topic is compacted: it must be the fold's last."""
    last = {one.key: one.value for one in evidence.folded.published if one.topic == "reviews"}
    for key in last.keys() | by_key.keys():
        found = by_key[key][-1].value if key in by_key else None
        if found != last.get(key):
            yield Violation("review", repr(key), f"the fold's newest is {last.get(key)!r}, the topic's {found!r}")
