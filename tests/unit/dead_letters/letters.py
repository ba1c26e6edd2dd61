"""Dead letters as the worker writes them, for the tests of their repair."""

from collections.abc import Sequence
from dataclasses import dataclass

from contracts.instants import parse_instant
from streams.outputs import Refused
from streams.publish import to_record

AT = parse_instant("2026-03-12T15:42:18.200Z").start_ms
TOPICS = {f"t-{name}": name for name in ("operations", "webhooks", "cases", "readbacks")}


@dataclass(frozen=True)
class Consumed:
    """A record as a consumer has it."""

    topic: str = "t-dead-letters"
    partition: int = 3
    offset: int = 17
    timestamp: int = AT
    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()


def refusal(
    value: bytes | None = b"{}",
    key: bytes | None = b"key",
    headers: tuple[tuple[str, bytes | None], ...] = (),
    topic: str = "t-operations",
    timestamp: int | None = AT - 5000,
    at: int = AT,
) -> Refused:
    """A record that intake refused."""
    return Refused("not_json", "the reason", key, value, headers, topic, 2, 99, "intake", at, timestamp)


def written(refused: Refused, offset: int = 17, partition: int = 3) -> Consumed:
    """The dead letter that the worker writes of it, as it is read."""
    record = to_record(refused)
    assert record is not None
    return Consumed(offset=offset, partition=partition, key=record.key, value=record.value, headers=record.headers)
