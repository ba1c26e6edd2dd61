"""The checker: reads only the topics, and says everything that is not as it must be.

It counts for itself, from `operations` and `webhooks`, and folds `cases` with the pure functions; it knows nothing of
how the workers came to what they published.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from aiokafka import ConsumerRecord

from streams.fold import fold
from streams.intake import Context
from streams.records import header
from tests.faults.topics import CHANGELOG, Contents
from tests.faults.world import CONSUMED, Expected


@dataclass(frozen=True)
class Violation:
    """Something that is not as it must be: of which kind, of what, and how it is instead."""

    kind: str
    subject: str
    said: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.subject}: {self.said}"


def check(contents: Contents, expected: Expected, context: Context, prefix: str) -> list[Violation]:
    """Check what lies in the topics once everything has been worked off.

    Args:
        contents: the topics.
        expected: what the world must come to.
        context: the contracts and connections that the workers had.
        prefix: the topics' prefix.

    Returns:
        Every violation; none where all is well.
    """
    return [
        *_offsets(contents),
        *_verdicts(contents, expected),
        *_dead_letters(contents, expected, prefix),
        *_state(contents, context),
        *_counts(contents),
    ]


def _offsets(contents: Contents) -> Iterator[Violation]:
    for (topic, partition), end in contents.ends.items():
        committed = contents.committed.get((topic, partition), 0)
        if topic in CONSUMED and committed != end:
            yield Violation("offsets", f"{topic}/{partition}", f"{committed} is committed, the end is {end}")


def _verdicts(contents: Contents, expected: Expected) -> Iterator[Violation]:
    """One sequence for each operation: any number of copies of a record, never two under one id."""
    copies: dict[str, set[bytes]] = defaultdict(set)
    for record in contents.of("verdicts"):
        copies[orjson.loads(record.value)["verdict_id"]].add(record.value)
    said: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for verdict_id, different in copies.items():
        if len(different) > 1:
            yield Violation("conflict", verdict_id, " / ".join(repr(one) for one in sorted(different)))
        for value in different:
            verdict = orjson.loads(value)
            said[verdict["operation_id"]].append(verdict)
    started = {orjson.loads(one.value)["operation_id"] for one in _operations(contents)}
    for operation_id in said.keys() - started:
        yield Violation("invented", operation_id, "there is a verdict, but no operation")
    for operation_id in sorted(started):
        sequence = sorted(said[operation_id], key=lambda one: one["sequence"])
        yield from _sequence(operation_id, sequence, expected.verdicts.get(operation_id))


def _sequence(operation_id: str, sequence: list[dict[str, Any]], wanted: str | None) -> Iterator[Violation]:
    if not sequence:
        yield Violation("missing", operation_id, "there is no verdict")
        return
    before = None
    for number, verdict in enumerate(sequence, 1):
        if (verdict["sequence"], verdict["supersedes"]) != (number, before):
            found = f"{verdict['sequence']} supersedes {verdict['supersedes']}"
            yield Violation("sequence", operation_id, f"{number} was to supersede {before}, but {found}")
        if verdict["decided_at"] < verdict["created_at"]:
            yield Violation("early", operation_id, f"decided at {verdict['decided_at']}, before it started")
        before = verdict["verdict_id"]
    found = [one["verdict"] for one in sequence]
    if found[-1] != wanted or (len(found) > 1 and found != ["VERIFIED", "CONTRADICTED"]):
        yield Violation("verdict", operation_id, f"{wanted} was expected, there is {found}")


def _operations(contents: Contents) -> Iterator[ConsumerRecord]:
    for record in contents.of("operations"):
        if record.value is not None and b"operation_id" in record.value:
            yield record


def _dead_letters(contents: Contents, expected: Expected, prefix: str) -> Iterator[Violation]:
    """One for each record that is refused, or identical copies of it, and none for any other."""
    letters: dict[tuple[str, int, int], set[Any]] = defaultdict(set)
    for record in contents.of("dead-letters"):
        headers = dict(record.headers)
        topic = headers["dead_letter_topic"].decode().removeprefix(prefix)
        place = (topic, int(headers["dead_letter_partition"]), int(headers["dead_letter_offset"]))
        letters[place].add((headers["dead_letter_class"], record.value))
    for place in letters.keys() - expected.refused:
        yield Violation("refused", str(place), f"nothing was wrong with it, but {letters[place]}")
    for place in expected.refused - letters.keys():
        yield Violation("swallowed", str(place), "it should have become a dead letter")
    for place, different in letters.items():
        if len(different) > 1:
            yield Violation("refused", str(place), f"it was refused in different ways: {different}")


def _rows(contents: Contents) -> dict[bytes, bytes]:
    rows: dict[bytes, bytes] = {}
    for record in contents.of(CHANGELOG):
        if record.value is None:
            rows.pop(record.key, None)
        else:
            rows[record.key] = record.value
    return rows


def _state(contents: Contents, context: Context) -> Iterator[Violation]:
    """The last record of each key in the changelog is what the pure fold of `cases` comes to."""
    folded: dict[bytes, bytes | None] = {}
    for partition, records in contents.records["cases"].items():
        applied = [one for one in records if one.offset < contents.committed.get(("cases", partition), 0)]
        folded |= fold(applied, lambda key: None, context, 0).rows
    kept = _rows(contents)
    for key in sorted(folded.keys() | kept.keys()):
        if folded.get(key) != kept.get(key):
            yield Violation("state", repr(key), f"the fold gives {folded.get(key)!r}, the changelog {kept.get(key)!r}")


def _counts(contents: Contents) -> Iterator[Violation]:
    """Each refund in the ledger was delivered as often as `webhooks` holds its deliveries, each record taken once."""
    delivered = Counter(name for record in contents.of("webhooks") if (name := _refund(record)) is not None)
    counted: Counter[str] = Counter()
    for value in _rows(contents).values():
        row = orjson.loads(value)
        for one in row.get("ledger", {}).values():
            counted[one["event"]["resource_id"]] += one["deliveries"]
    for name in sorted(delivered.keys() | counted.keys()):
        if delivered[name] != counted[name]:
            yield Violation("count", name, f"{delivered[name]} deliveries on the topic, {counted[name]} in the state")
    for record in contents.of("verdicts"):
        verdict = orjson.loads(record.value)
        for channel in verdict["evidence"]["channels"].values():
            for name in channel.get("events", []) if len(channel.get("events", [])) == 1 else []:
                if channel["duplicates_dropped"] > delivered[name] - 1:
                    dropped = channel["duplicates_dropped"]
                    yield Violation("count", name, f"a verdict says {dropped} repeats of {delivered[name]} deliveries")


def _refund(record: ConsumerRecord) -> str | None:
    try:
        body = orjson.loads(record.value)
        if header(record, "connection_id") == "acme":
            return f"gid://shopify/Refund/{body['id']}"
        refund: str = body["resource"]["id"]
    except (TypeError, ValueError, KeyError):
        return None
    return refund
