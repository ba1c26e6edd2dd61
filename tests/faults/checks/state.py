"""The state: what the pure fold of `cases` comes to, and each delivery in it counted once."""

from collections import Counter
from collections.abc import Iterator

import orjson

from tests.faults.checks.evidence import Evidence, Violation, Violations
from tests.faults.expected import CONSUMED


def check_offsets(evidence: Evidence) -> Violations:
    """Check that everything was worked off."""
    contents = evidence.contents
    for (topic, partition), end in contents.ends.items():
        committed = contents.committed.get((topic, partition), 0)
        if topic in CONSUMED and committed != end:
            yield Violation("offsets", f"{topic}/{partition}", f"{committed} is committed, the end is {end}")


def check_rows(evidence: Evidence) -> Violations:
    """Check that the last record of each key in the changelog is what the pure fold of `cases` comes to."""
    folded = evidence.folded.rows
    for key in sorted(folded.keys() | evidence.rows.keys()):
        if folded.get(key) != evidence.rows.get(key):
            said = f"the fold gives {folded.get(key)!r}, the changelog {evidence.rows.get(key)!r}"
            yield Violation("state", repr(key), said)


def check_counts(evidence: Evidence) -> Violations:
    """Check that each refund was counted as often as it was delivered and taken, each delivery once."""
    delivered = Counter(fate.about for fate in evidence.taken("webhooks").values())
    counted: Counter[str | None] = Counter()
    for value in evidence.rows.values():
        for one in orjson.loads(value).get("ledger", {}).values():
            counted[one["event"]["resource_id"]] += one["deliveries"]
    for name in sorted(map(str, delivered.keys() | counted.keys())):
        if delivered[name] != counted[name]:
            yield Violation("count", name, f"{delivered[name]} deliveries on the topic, {counted[name]} in the state")
    for name, dropped in _repeats_said(evidence):
        if dropped > delivered[name] - 1:
            yield Violation("count", name, f"a verdict says {dropped} repeats of {delivered[name]} deliveries")


def _repeats_said(evidence: Evidence) -> Iterator[tuple[str, int]]:
    for record in evidence.contents.of("verdicts"):
        for channel in orjson.loads(record.value)["evidence"]["channels"].values():
            if len(channel.get("events", [])) == 1:
                yield channel["events"][0], channel["duplicates_dropped"]
