r"""Kafka records whose headers' names are no UTF-8.

Kafka takes any bytes as a header's name, and so does many a producer. aiokafka's parser gives up on the whole batch,
and so on everything behind it in the partition. Here such a batch is read once more, by a parser that writes out the
bytes which are no text: ``\xff``.
"""

from collections.abc import Iterator
from typing import Any

from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import _DefaultRecordBatchPy, _DefaultRecordPy
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import decode_varint

_LENGTH, _BEHIND_LENGTH = slice(8, 12), 12


class AnyNames:
    """The batches of one fetch of a partition, as aiokafka's ``MemoryRecords``."""

    def __init__(self, fetched: bytes) -> None:
        self._left = memoryview(fetched)
        self._batches = MemoryRecords(fetched)

    def has_next(self) -> bool:
        """Tell whether there is another batch."""
        more: bool = self._batches.has_next()
        return more

    def next_batch(self) -> "_Batch":
        """Return the next batch."""
        size = _BEHIND_LENGTH + int.from_bytes(self._left[_LENGTH], "big")
        written, self._left = self._left[:size], self._left[size:]
        return _Batch(self._batches.next_batch(), written)


class _Batch:
    def __init__(self, batch: Any, written: memoryview) -> None:
        self._batch = batch
        self._written = written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __next__(self) -> Any:
        return next(self._batch)

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from self._batch
        except (UnicodeDecodeError, CorruptRecordException):
            # From its beginning: aiokafka passes over the records that it has had. What else is broken fails again.
            yield from _Patient(self._written)


class _Patient(_DefaultRecordBatchPy):  # type: ignore[misc] # it is marked final
    """A batch in Python, its names decoded whatever they are."""

    _pos: int

    def _read_msg(self, *_: Any) -> _DefaultRecordPy:
        position = self._pos
        _, position = decode_varint(self._buffer, position)  # the record's length
        position += 1  # its attributes, which mean nothing yet
        since_first, position = decode_varint(self._buffer, position)
        behind_base, position = decode_varint(self._buffer, position)
        key, position = self._read_bytes(position)
        value, position = self._read_bytes(position)
        count, position = decode_varint(self._buffer, position)
        headers: list[tuple[str, bytes | None]] = []
        for _header in range(count):
            name, position = self._read_bytes(position)
            content, position = self._read_bytes(position)
            headers.append(((name or b"").decode(errors="backslashreplace"), content))
        self._pos = position
        appended = self.timestamp_type == self.LOG_APPEND_TIME
        timestamp = self.max_timestamp if appended else self.first_timestamp + since_first
        return _DefaultRecordPy(self.base_offset + behind_base, timestamp, self.timestamp_type, key, value, headers)

    def _read_bytes(self, position: int) -> tuple[bytes | None, int]:
        size, position = decode_varint(self._buffer, position)
        if size < 0:
            return None, position
        return bytes(self._buffer[position : position + size]), position + size
