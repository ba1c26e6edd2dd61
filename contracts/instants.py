"""Instants as the intervals that their precision leaves open.

A provider that writes ``2026-03-12T15:42:18Z`` means some moment within that second. Comparing it with an
operation stamped ``15:42:18.200`` as if both were points gives a wrong "older than the operation". So an instant
is a half-open interval ``[start, start + width)`` in nanoseconds since the epoch, as wide as its last digit.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator

# RFC 3339, section 5.6. Lower-case t and z are legal there and in PayPal's own pattern, and so is second 60.
_RFC3339 = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,18}))?(?:([Zz])|([+-])(\d{2}):(\d{2}))",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_UTC = _EPOCH.replace(tzinfo=None)  # written with a Z, not with +00:00
_NS_PER_S = 1_000_000_000
_NS_PER_MS = 1_000_000
_NS_DIGITS = 9
_LEAP_SECOND = 60


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """A moment known to a precision: all of ``[start_ns, start_ns + width_ns)`` is possible."""

    start_ns: int
    width_ns: int

    def wholly_before(self, other: "Instant") -> bool:
        """Tell whether every possible moment of this instant is before every possible moment of the other."""
        return self.start_ns + self.width_ns <= other.start_ns

    @property
    def start_ms(self) -> int:
        """The earliest possible moment, in milliseconds since the epoch (rounded down)."""
        return self.start_ns // _NS_PER_MS


@lru_cache(maxsize=4096)
def parse_instant(text: str) -> Instant:
    """Read an RFC 3339 date-time with an offset.

    Args:
        text: such as ``2026-03-12T08:42:18-07:00`` or ``2023-03-29T18:00:27.877041743Z``.

    Returns:
        The interval that the text's precision leaves open; digits beyond nanoseconds are cut off.

    Raises:
        ValueError: the text has no such form, names no offset, or is a date that cannot be (a month 19).
    """
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:64]!r} is not an RFC 3339 date-time with an offset")
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    fraction, zulu, sign, offset_hours, offset_minutes = found.groups()[6:]
    leap = second == _LEAP_SECOND
    try:
        moment = datetime(year, month, day, hour, minute, second - leap, tzinfo=UTC)  # bool is 0 or 1
    except ValueError as error:
        raise ValueError(f"{text!r} is an impossible date-time: {error}") from None
    offset = timedelta()
    if not zulu:
        offset = timedelta(hours=int(offset_hours), minutes=int(offset_minutes))
        if offset >= timedelta(hours=24) or int(offset_minutes) >= _LEAP_SECOND:
            raise ValueError(f"{text!r} has an impossible offset")
        offset = -offset if sign == "-" else offset
    delta = moment - _EPOCH - offset
    start_ns = (delta.days * 86_400 + delta.seconds + leap) * _NS_PER_S
    if fraction is None:
        return Instant(start_ns, _NS_PER_S)
    digits = fraction[:_NS_DIGITS]
    width_ns = 10 ** (_NS_DIGITS - len(digits))
    return Instant(start_ns + int(digits) * width_ns, width_ns)


def _checked(text: str) -> str:
    parse_instant(text)
    return text


InstantText = Annotated[str, AfterValidator(_checked)]
"""Text that is known to be an RFC 3339 date-time, where pydantic has checked it."""


@lru_cache(maxsize=256)
def to_rfc3339(ms: int) -> str:
    """Write milliseconds since the epoch as ``2026-03-12T15:42:18.200Z``."""
    return f"{(_EPOCH_UTC + timedelta(milliseconds=ms)).isoformat(timespec='milliseconds')}Z"
