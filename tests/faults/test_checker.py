"""The checker is right about a trial in which all went well, and finds whatever is changed in its topics afterwards."""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_asyncio
from aiokafka import ConsumerRecord

from tests.faults.checker import check
from tests.faults.checks.evidence import message_of
from tests.faults.expected import LATER
from tests.faults.repair import Repair
from tests.faults.topics import CHANGELOG, Contents
from tests.faults.trial import Trial, trial_on

pytestmark = pytest.mark.timeout(240)

Records = dict[str, dict[int, list[ConsumerRecord]]]
Is = Callable[[ConsumerRecord], bool]
_FAR = 10_000


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def finished(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Trial, Contents]]:
    """A trial in which there was everything that a checker looks at, and its topics."""
    directory: Path = tmp_path_factory.mktemp("finished")
    async with trial_on(kafka, f"t{uuid.uuid4().hex[:10]}-", directory, seed=2026) as trial:
        await trial.fleet.join()
        await asyncio.gather(trial.world.live(40, within_s=1), Repair(trial, random.Random(2026)).carry_out())
        yield trial, await trial.drain()


def verdict_on(contents: Contents, trial: Trial) -> set[str]:
    return {one.kind for one in check(contents, trial.world.expected, trial.context, trial.system.prefix)}


def test_all_is_well(finished: tuple[Trial, Contents]):
    trial, contents = finished

    assert check(contents, trial.world.expected, trial.context, trial.system.prefix) == []


# -- what is changed: each takes the records by topic and partition, and changes them in place


def find(records: Records, topic: str, wanted: Is) -> tuple[list[ConsumerRecord], int]:
    """Find a record: the records of its partition, and its index there."""
    return next((ones, at) for ones in records[topic].values() for at, one in enumerate(ones) if wanted(one))


def drop(topic: str, wanted: Is) -> Callable[[Records], None]:
    def change(records: Records) -> None:
        ones, at = find(records, topic, wanted)
        del ones[at]

    return change


def drop_all(topic: str, wanted: Is) -> Callable[[Records], None]:
    def change(records: Records) -> None:
        find(records, topic, wanted)
        for ones in records[topic].values():
            ones[:] = [one for one in ones if not wanted(one)]

    return change


def put(topic: str, wanted: Is, *, behind: bool = True, **changes: Any) -> Callable[[Records], None]:
    """Put a copy of a record behind all others, or in its place, with some of its members changed."""

    def change(records: Records) -> None:
        ones, at = find(records, topic, wanted)
        given = {name: value(ones[at]) if callable(value) else value for name, value in changes.items()}
        changed = replace(ones[at], **({"offset": ones[-1].offset + 1} if behind else {}) | given)
        if behind:
            ones.append(changed)
        else:
            ones[at] = changed

    return change


def move(topic: str, wanted: Is) -> Callable[[Records], None]:
    def change(records: Records) -> None:
        ones, at = find(records, topic, wanted)
        moved = ones.pop(at)
        other = (moved.partition + 1) % 4
        records[topic][other].append(replace(moved, partition=other, offset=_FAR))

    return change


def again_behind(records: Records) -> None:
    """Put the first review of an operation behind the one that notes what came late."""
    ones, at = find(records, "reviews", is_noted)
    first = next(one for one in ones if one.key == ones[at].key)
    ones.append(replace(first, offset=ones[-1].offset + 1))


def holds(**members: Any) -> Is:
    return lambda record: members.items() <= message_of(record).items()


def told(**headers: bytes) -> Is:
    return lambda record: headers.items() <= dict(record.headers).items()


def written(**members: Any) -> Callable[[ConsumerRecord], bytes]:
    return lambda record: orjson.dumps(message_of(record) | members)


def from_elsewhere(record: ConsumerRecord) -> bytes:
    message = message_of(record)
    return orjson.dumps(message | {"source": message["source"] | {"offset": _FAR}})


def with_header(name: str, value: bytes) -> Callable[[ConsumerRecord], Any]:
    return lambda record: tuple((one, value if one == name else kept) for one, kept in record.headers)


def is_put_back(record: ConsumerRecord) -> bool:
    return "requeued from" in dict(record.headers) and is_of_a_stranger(record)


def is_of_a_stranger(record: ConsumerRecord) -> bool:
    return dict(record.headers).get("connection_id") == LATER.encode()


def is_taken_when_put_back(record: ConsumerRecord) -> bool:
    source = message_of(record).get("source", {})
    return bool(source.get("requeued", False))


def is_noted(record: ConsumerRecord) -> bool:
    return bool(message_of(record)["late_evidence"])


def is_blank(record: ConsumerRecord) -> bool:
    return not is_noted(record)


def is_a_read(record: ConsumerRecord) -> bool:
    return "attempt" in message_of(record)


def is_a_mark(record: ConsumerRecord) -> bool:
    return "dead_letter_requeued" in dict(record.headers) and "dead_letter_stage" not in dict(record.headers)


EVERY: Is = bool
EVENTS, START = holds(kind="events"), holds(kind="start")
INTAKE, DECIDE = told(dead_letter_stage=b"intake"), told(dead_letter_stage=b"decide")
CHANGES = {
    "a verdict is missing": (drop("verdicts", holds(verdict="VERIFIED")), {"missing"}),
    "a verdict differs from its copy": (
        put("verdicts", holds(sequence=1), value=written(reason="")),
        {"conflict", "invented"},
    ),
    "a verdict lies in another partition": (move("verdicts", holds(sequence=1)), {"partition"}),
    "a review is missing": (drop("reviews", is_blank), {"missing"}),
    "an operation has no review": (drop_all("reviews", holds(connection="pp")), {"missing", "review"}),
    "a review differs from its copy": (put("reviews", is_noted, value=written(reason="")), {"review", "invented"}),
    "an old review comes last": (again_behind, {"review"}),
    "a review that nobody asked for": (
        put("reviews", is_noted, key=b"op-1", value=written(operation_id="op-1")),
        {"review", "invented"},
    ),
    "a review without what came late": (drop_all("reviews", is_noted), {"missing", "late evidence", "review"}),
    "a delivery is lost": (drop("cases", EVENTS), {"lost", "state"}),
    "a delivery is taken twice": (put("cases", EVENTS, value=from_elsewhere), {"invented"}),
    "a delivery is taken for another": (put("cases", EVENTS, value=written(arrived_ms=1)), {"forwarded"}),
    "an operation is lost": (drop("cases", holds(kind="submission")), {"lost"}),
    "an operation is not handed over": (drop("cases", START), {"missing"}),
    "a read is not asked for": (drop("readbacks", is_a_read), {"missing"}),
    "a read that nobody asked for is answered": (
        put("cases", holds(kind="answer"), value=written(attempt=99)),
        {"invented"},
    ),
    "a record that nobody published": (put("webhooks", EVERY, offset=_FAR), {"unaccounted"}),
    "a dead letter is missing": (drop("dead-letters", INTAKE), {"swallowed"}),
    "a dead letter of decide is missing": (drop("dead-letters", DECIDE), {"swallowed", "missing"}),
    "a dead letter of a good record": (
        put("dead-letters", INTAKE, headers=with_header("dead_letter_offset", b"9999")),
        {"refused"},
    ),
    "a dead letter of another class": (
        put("dead-letters", INTAKE, headers=with_header("dead_letter_class", b"x")),
        {"refused"},
    ),
    "a dead letter that is not whole": (put("dead-letters", INTAKE, behind=False, value=b"?"), {"refused"}),
    "a row differs": (put(CHANGELOG, holds(row="case"), value=written(position=0)), {"state"}),
    "what is put back is not what it was": (put("webhooks", is_put_back, behind=False, value=b"?"), {"put back"}),
    "what is put back is lost": (drop_all("cases", is_taken_when_put_back), {"lost"}),
    "what is put back had no letter": (drop("dead-letters", is_of_a_stranger), {"swallowed", "put back"}),
    "a mark is not true": (
        put("dead-letters", is_a_mark, headers=with_header("dead_letter_requeued", b"0/99999")),
        {"put back"},
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_changed_is_found(finished: tuple[Trial, Contents], name: str):
    trial, contents = finished
    change, kinds = CHANGES[name]
    records = {topic: {place: list(ones) for place, ones in found.items()} for topic, found in contents.records.items()}
    change(records)

    assert kinds <= verdict_on(replace(contents, records=records), trial)
