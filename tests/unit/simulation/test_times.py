"""Instants as the simulated providers write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from streams.simulation.times import EASTERN, PACIFIC, local_seconds, utc_seconds


@pytest.mark.parametrize(
    ("instant", "written"),
    [
        # 2026: summer from March 8 to November 1, at 02:00 local time each.
        (datetime(2026, 3, 8, 9, 59, 59, 999_999, tzinfo=UTC), "2026-03-08T01:59:59-08:00"),
        (datetime(2026, 3, 8, 10, 0, 0, tzinfo=UTC), "2026-03-08T03:00:00-07:00"),
        (datetime(2026, 11, 1, 8, 59, 59, tzinfo=UTC), "2026-11-01T01:59:59-07:00"),
        (datetime(2026, 11, 1, 9, 0, 0, tzinfo=UTC), "2026-11-01T01:00:00-08:00"),
        # 2027: from March 14 to November 7.
        (datetime(2027, 3, 14, 9, 59, 59, tzinfo=UTC), "2027-03-14T01:59:59-08:00"),
        (datetime(2027, 11, 7, 8, 59, 59, tzinfo=UTC), "2027-11-07T01:59:59-07:00"),
    ],
)
def test_pacific_time_changes_its_offset_with_the_season(instant: datetime, written: str) -> None:
    assert local_seconds(instant, PACIFIC) == written
    assert datetime.fromisoformat(written) == instant.replace(microsecond=0)


def test_eastern_time_is_three_hours_ahead() -> None:
    assert local_seconds(datetime(2026, 7, 1, 3, 0, 0, tzinfo=UTC), EASTERN) == "2026-06-30T23:00:00-04:00"


def test_utc_drops_the_fraction_and_the_offset() -> None:
    offset = timezone(timedelta(hours=-4))
    assert utc_seconds(datetime(2026, 3, 12, 11, 42, 18, 999_999, tzinfo=offset)) == "2026-03-12T15:42:18Z"
