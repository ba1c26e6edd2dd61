"""When reads fall due: offsets from the operation's start, fixed by the contract's timing."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final, Self

_MOST_DOUBLINGS: Final = 30


@dataclass(frozen=True, slots=True)
class Schedule:
    """The due times of one operation's reads, in milliseconds after its start, ascending.

    At most ``max_attempts`` of them, and none at or after the timeout: attempts that do not fit are never made.
    """

    offsets_ms: tuple[int, ...]
    timeout_ms: int

    @classmethod
    def of(
        cls,
        *,
        initial_delay_ms: int,
        poll_interval_ms: int,
        factor: int,
        max_interval_ms: int,
        max_attempts: int,
        timeout_ms: int,
    ) -> Self:
        """Lay out the reads: the initial delay, then the poll interval, multiplied each time up to its cap."""
        offsets: list[int] = []
        offset, interval = initial_delay_ms, min(poll_interval_ms, max_interval_ms)
        while len(offsets) < max_attempts and offset < timeout_ms:
            offsets.append(offset)
            offset, interval = offset + interval, min(interval * factor, max_interval_ms)
        return cls(tuple(offsets), timeout_ms)

    def next_slot_after(self, elapsed_ms: int) -> int:
        """Return the index of the first read that falls due after ``elapsed_ms``; the length where none does."""
        return bisect_right(self.offsets_ms, elapsed_ms)


def backoff_ms(poll_interval_ms: int, failures: int) -> int:
    """Return how long to wait after so many failures in a row (1 or more) of a read beside the schedule.

    It doubles without a cap: a provider that is down for days costs a dozen reads, and one that comes back is read
    again after no longer than it was away.
    """
    return poll_interval_ms << min(failures - 1, _MOST_DOUBLINGS)
