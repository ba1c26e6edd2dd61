"""Timing that does not add up."""

import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from contracts.lint.finding import Finding, error, warning
from contracts.model import Contract, Timing
from contracts.schedule import Schedule

MOST_ATTEMPTS: Final = 10_000


def check(contract: Contract) -> Iterator[Finding]:
    """Find reads that are never made, and a timeout that does not fit the rest."""
    timing = contract.timing
    if timing.stale_read_window_ms >= timing.timeout_ms:
        yield error(
            "timing.stale_read_window_ms",
            f"reads are stale for {_seconds(timing.stale_read_window_ms)}, but the timeout is "
            f"{_seconds(timing.timeout_ms)}: none could ever contradict",
        )
    if not any(channel.verifier == "http" for channel in contract.channels.values()):
        return
    if timing.max_attempts > MOST_ATTEMPTS:
        yield error("timing.max_attempts", f"{timing.max_attempts} reads of one operation: at most {MOST_ATTEMPTS}")
    elif timing.initial_delay_ms >= timing.timeout_ms:
        yield error(
            "timing.initial_delay_ms",
            f"the first read falls due {_seconds(timing.initial_delay_ms)} after the start, the timeout is "
            f"{_seconds(timing.timeout_ms)}: no read would ever be made",
        )
    else:
        yield from _reads(timing)


def _reads(timing: Timing) -> Iterator[Finding]:
    due = timing.schedule.offsets_ms
    if len(due) < timing.max_attempts:
        yield warning(
            "timing.max_attempts",
            f"{timing.max_attempts} attempts are declared, but only {len(due)} fall due before the timeout: "
            f"the {_ordinal(len(due) + 1)} would come {_seconds(_offset(timing, len(due)))} after the start, "
            f"the timeout is {_seconds(timing.timeout_ms)}",
        )
    elif due[-1] < timing.timeout_ms / 2:
        yield warning(
            "timing.max_attempts",
            f"the {_ordinal(len(due))} and last read falls due {_seconds(due[-1])} after the start "
            f"({_duration(due[-1])}), "
            f"the timeout is {_seconds(timing.timeout_ms)} ({_duration(timing.timeout_ms)}): "
            f"for {_duration(timing.timeout_ms - due[-1])} only events can decide",
        )


def _offset(timing: Timing, index: int) -> int:
    """Return when a read would fall due if there were no timeout."""
    return Schedule.of(
        initial_delay_ms=timing.initial_delay_ms,
        poll_interval_ms=timing.poll_interval_ms,
        factor=timing.backoff.factor,
        max_interval_ms=timing.backoff.max_ms,
        max_attempts=index + 1,
        timeout_ms=sys.maxsize,
    ).offsets_ms[index]


def _seconds(ms: int) -> str:
    return f"{Decimal(ms) / 1000} s"


def _duration(ms: int) -> str:
    """Write a duration roughly: ``6 days 23 h``, ``5 h 10 min``, ``36 min``, ``20 s``."""
    minutes, hours, days = ms // 60_000 % 60, ms // 3_600_000 % 24, ms // 86_400_000
    if days:
        parts = [f"{days} day{'s' if days > 1 else ''}", f"{hours} h" if hours else ""]
    elif hours:
        parts = [f"{hours} h", f"{minutes} min" if minutes else ""]
    else:
        parts = [f"{minutes} min" if minutes else _seconds(ms)]
    return " ".join(part for part in parts if part)


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
