"""Throughput and recovery: a backlog of deliveries is worked off by a contender that has just been started again."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from benchmarks.contender import PARTITIONS, Contender, Unfinished
from benchmarks.kafka import Message, Reader, publish
from benchmarks.rows import write_answered
from streams.transport.topics import CASES, VERDICTS, WEBHOOKS
from streams.worker import load_context

_SLOWEST_PER_S = 150
_SLOWEST_RECOVERY_PER_S = 1000
_GRACE_S = 90


@dataclass(frozen=True, slots=True)
class Throughput:
    """What a run came to. Rates are per second, times in seconds; ``problems`` say why it does not count."""

    deliveries: int
    taken_s: float
    recovered_records: int
    recovery_s: float
    problems: list[str] = field(default_factory=list)

    @property
    def per_s(self) -> float:
        """Deliveries a second."""
        return self.deliveries / self.taken_s

    @property
    def recovery_per_s(self) -> float:
        """Changelog records a second."""
        return self.recovered_records / self.recovery_s


async def measure_throughput(
    contender: Contender, reader: Reader, operations: int, created_ms: int, backlog: Mapping[int, list[Message]]
) -> Throughput:
    """Have a contender recover its rows and work off a backlog of deliveries.

    The time runs from the moment at which the broker appended the first delivery's record to `cases` to the moment at
    which it appended the last verdict. The contender goes on running.

    Args:
        contender: the contender.
        reader: reads its topics.
        operations: how many operations it knows, all with their read answered.
        created_ms: when they started.
        backlog: deliveries, by partition: one for each of the first operations, and the repeats.

    Raises:
        Unfinished: the contender ended, or did nothing.
    """
    settings = contender.settings
    deliveries = sum(map(len, backlog.values()))
    await contender.prepare()
    await write_answered(contender, range(operations), created_ms, load_context(settings))
    cases_before = await reader.ends(settings.topic(CASES), PARTITIONS)
    recovered = await reader.count(contender.changelog, PARTITIONS)
    await publish(contender.bootstrap, settings.topic(WEBHOOKS), backlog)
    await contender.start()
    beginning = await contender.says("recovering", _GRACE_S)
    end = await contender.says("ready", recovered / _SLOWEST_RECOVERY_PER_S + _GRACE_S)
    recovery_s = (end["at_ms"] - beginning["at_ms"]) / 1000
    before = sum(cases_before.values())
    taken_in = await contender.reaches(reader, CASES, before + deliveries) - before
    await contender.works_off(reader, [CASES], deliveries / _SLOWEST_PER_S + _GRACE_S)
    first = [record.timestamp async for record in reader.read(settings.topic(CASES), PARTITIONS, cases_before)]
    if not first:
        raise Unfinished(f"{contender.name} has taken in none of {deliveries} deliveries")
    verdicts: Counter[tuple[bytes, str]] = Counter()
    last = 0
    async for record in reader.read(settings.topic(VERDICTS), PARTITIONS):
        verdicts[record.key, orjson.loads(record.value)["verdict"]] += 1
        last = max(last, record.timestamp)
    expected = {message[0] for messages in backlog.values() for message in messages}
    counted = await _deliveries_counted(contender, reader) if contender.keeps_rows else taken_in
    return Throughput(
        deliveries=taken_in,
        taken_s=(last - min(first)) / 1000,
        recovered_records=recovered,
        recovery_s=recovery_s,
        problems=[
            *([f"{deliveries - taken_in} deliveries were never taken in"] if taken_in < deliveries else []),
            *([f"the rows count {counted} deliveries, and not {deliveries}"] if counted != deliveries else []),
            *_problems(verdicts, expected),
        ],
    )


def _problems(verdicts: Mapping[tuple[bytes, str], int], expected: set[bytes | None]) -> list[str]:
    problems = []
    if missing := expected - {key for key, verdict in verdicts if verdict == "VERIFIED"}:
        problems.append(f"{len(missing)} operations were not verified")
    if others := [key for key, verdict in verdicts if verdict != "VERIFIED" or key not in expected]:
        problems.append(f"{len(others)} other verdicts fell")
    if repeated := sum(count - 1 for count in verdicts.values()):
        problems.append(f"{repeated} verdicts were published again")
    return problems


async def _deliveries_counted(contender: Contender, reader: Reader) -> int:
    """Return how many deliveries a contender's rows have counted, repeats included."""
    rows = {record.key: record.value async for record in reader.read(contender.changelog, PARTITIONS)}
    found = [orjson.loads(row) for row in rows.values() if row]
    return sum(event["deliveries"] for row in found for event in row.get("ledger", {}).values())
