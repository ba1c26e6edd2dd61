"""Instants as the providers write them: whole seconds, in UTC or in an American time zone."""

from datetime import UTC, date, datetime, timedelta, timezone

EASTERN = -5
PACIFIC = -8


def utc_seconds(instant: datetime) -> str:
    """Write an instant in UTC, its fraction dropped: ``2026-03-12T15:42:18Z``."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def local_seconds(instant: datetime, standard_hours: int) -> str:
    """Write an instant with the offset of an American time zone, its fraction dropped: ``2026-03-12T08:42:18-07:00``.

    Args:
        instant: the instant.
        standard_hours: the zone's offset in winter, in hours.
    """
    winter = instant.astimezone(timezone(timedelta(hours=standard_hours)))
    starts = datetime(winter.year, 3, _sunday(winter.year, 3, 2), 2, tzinfo=winter.tzinfo)
    ends = datetime(winter.year, 11, _sunday(winter.year, 11, 1), 1, tzinfo=winter.tzinfo)
    summer = timezone(timedelta(hours=standard_hours + 1))
    return (winter.astimezone(summer) if starts <= winter < ends else winter).isoformat(timespec="seconds")


def _sunday(year: int, month: int, which: int) -> int:
    """Return the day of a month's first, second, … Sunday."""
    return 1 + (6 - date(year, month, 1).weekday()) % 7 + 7 * (which - 1)
