"""How long things are kept and waited for, apart from what contracts say. All in milliseconds."""

from dataclasses import dataclass

DAY_MS = 86_400_000
_FORGET_MARGIN_MS = DAY_MS


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of the house.

    ``keep_ms``: how long an event waits for its operation, and how long a case outlives its deadline.
    ``lost_after_ms``: a read that has not answered for so long is asked again.
    ``future_ms``: how far ahead of our clock an operation's start may lie.
    """

    keep_ms: int = 3 * DAY_MS
    lost_after_ms: int = 30_000
    future_ms: int = DAY_MS

    def too_late_ms(self, deadline_ms: int) -> int:
        """Return when an operation that was never seen is refused, since it may have been seen and forgotten."""
        return deadline_ms + self.keep_ms

    def forget_ms(self, deadline_ms: int) -> int:
        """Return when what is known of an operation may go: later than it is refused, by more than clocks differ."""
        return deadline_ms + self.keep_ms + _FORGET_MARGIN_MS
