"""The clock of the edge. The core never reads it: the time is in the messages."""

import time


def clock_ms() -> int:
    """Return the time, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
