"""Kafka records: as they are consumed, as they are to be produced."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

Headers = tuple[tuple[str, bytes | None], ...]


class Record(Protocol):
    """What the stages need of a consumed record; aiokafka's ConsumerRecord has it. ``timestamp`` in milliseconds."""

    @property
    def topic(self) -> str: ...  # noqa: D102
    @property
    def partition(self) -> int: ...  # noqa: D102
    @property
    def offset(self) -> int: ...  # noqa: D102
    @property
    def timestamp(self) -> int: ...  # noqa: D102
    @property
    def key(self) -> bytes | None: ...  # noqa: D102
    @property
    def value(self) -> bytes | None: ...  # noqa: D102
    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class OutRecord:
    """A record to be produced. ``topic`` is the topic's plain name, without the prefix."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


def header(record: Record, name: str) -> str | None:
    """Return the text of a record's header, the name in any case, or None where it is missing or no text."""
    for key, value in record.headers:
        if key.lower() == name and value is not None:
            try:
                return value.decode()
            except UnicodeDecodeError:
                return None
    return None
