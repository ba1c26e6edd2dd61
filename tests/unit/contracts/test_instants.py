"""Instants: RFC 3339, section 5.6, as providers really write it, and the intervals that precision leaves open."""

import pytest

from contracts.instants import Instant, parse_instant, to_rfc3339

S = 1_000_000_000
# 2026-03-12 is day 20,524 of the epoch: 20,454 days up to 2026-01-01, and 31 + 28 + 11.
NOON = (20_524 * 86_400 + 15 * 3_600 + 42 * 60 + 18) * S


@pytest.mark.parametrize(
    ("text", "start", "width"),
    [
        ("2026-03-12T15:42:18Z", NOON, S),
        ("2026-03-12T15:42:18.2Z", NOON + 200_000_000, 100_000_000),
        ("2026-03-12T15:42:18.20Z", NOON + 200_000_000, 10_000_000),
        ("2026-03-12T15:42:18.200Z", NOON + 200_000_000, 1_000_000),
        ("2026-03-12T15:42:18.000Z", NOON, 1_000_000),
        ("2026-03-12T15:42:18.877041743Z", NOON + 877_041_743, 1),
        ("2026-03-12T15:42:18.8770417439Z", NOON + 877_041_743, 1),
        ("2026-03-12T15:42:18.999999999999999999Z", NOON + 999_999_999, 1),
    ],
)
def test_an_instant_is_as_wide_as_its_last_digit(text: str, start: int, width: int) -> None:
    assert parse_instant(text) == Instant(start, width)


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-12T08:42:18-07:00",
        "2026-03-12T21:12:18+05:30",
        "2026-03-13T01:42:18+10:00",
        "2026-03-11T16:12:18-23:30",
        "2026-03-12T15:42:18+00:00",
        "2026-03-12T15:42:18-00:00",
        "2026-03-12t15:42:18z",
        "2026-03-12 15:42:18Z",
    ],
)
def test_offsets_and_letter_case_do_not_change_the_moment(text: str) -> None:
    assert parse_instant(text) == Instant(NOON, S)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
        ("2016-12-31T15:59:60-08:00", "2017-01-01T00:00:00Z"),
        ("2026-03-12T15:42:60Z", "2026-03-12T15:43:00Z"),
        ("2016-12-31T23:59:60.25Z", "2017-01-01T00:00:00.25Z"),
    ],
)
def test_second_sixty_is_the_first_of_the_next_minute(text: str, same: str) -> None:
    assert parse_instant(text) == parse_instant(same)


def test_leap_days_are_days() -> None:
    assert parse_instant("2028-03-01T00:00:00Z").start_ns - parse_instant("2028-02-29T00:00:00Z").start_ns == 86_400 * S


def test_instants_before_the_epoch_count_backwards() -> None:
    assert parse_instant("1969-12-31T23:59:59Z") == Instant(-S, S)
    assert parse_instant("1969-12-31T23:59:59.5Z") == Instant(-S // 2, S // 10)


def test_an_offset_may_lead_out_of_the_years_that_datetime_knows() -> None:
    first = parse_instant("0001-01-01T00:00:00Z")
    assert parse_instant("0001-01-01T00:00:00+23:59").start_ns == first.start_ns - (24 * 60 - 1) * 60 * S


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-03-12",
        "15:42:18Z",
        "2026-03-12T15:42:18",
        "2026-03-12T15:42Z",
        "2018-19-12T22:20:32.000Z",
        "2026-00-12T15:42:18Z",
        "2026-02-29T15:42:18Z",
        "2026-03-12T24:00:00Z",
        "2026-03-12T15:60:18Z",
        "2026-03-12T15:42:61Z",
        "0000-01-01T00:00:00Z",
        "2026-03-12T15:42:18+24:00",
        "2026-03-12T15:42:18-99:00",
        "2026-03-12T15:42:18-07:60",
        "2026-03-12T15:42:18-0700",
        "2026-03-12T15:42:18+7:00",
        "2026-03-12T15:42:18.Z",
        "2026-03-12T15:42:18,5Z",
        "2026-03-12T15:42:18.1234567890123456789Z",
        "20260312T154218Z",
        "2026-W11-4T15:42:18Z",
        "2026-3-12T15:42:18Z",
        " 2026-03-12T15:42:18Z",
        "2026-03-12T15:42:18Z ",
        "2026-03-12T15:42:18Z\n",
        "\uff12\uff10\uff12\uff16-03-12T15:42:18Z",
        "1773330138",
        "now",
    ],
)
def test_what_is_no_possible_date_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an RFC 3339|impossible"):
        parse_instant(text)


def test_the_error_says_what_is_wrong_and_does_not_echo_a_megabyte() -> None:
    with pytest.raises(ValueError, match=r"'2018-19-12T22:20:32\.000Z' is an impossible date-time: month"):
        parse_instant("2018-19-12T22:20:32.000Z")
    with pytest.raises(ValueError, match="is not an RFC 3339") as caught:
        parse_instant("9" * 1_000_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("left", "right", "before"),
    [
        # whole seconds against whole seconds
        ("15:42:17Z", "15:42:18Z", True),
        ("15:42:18Z", "15:42:18Z", False),
        ("15:42:19Z", "15:42:18Z", False),
        # a whole second against a millisecond of the same second: nothing is known
        ("15:42:18Z", "15:42:18.000Z", False),
        ("15:42:18Z", "15:42:18.001Z", False),
        ("15:42:18Z", "15:42:18.999Z", False),
        ("15:42:17Z", "15:42:18.000Z", True),
        # a millisecond against a whole second
        ("15:42:17.999Z", "15:42:18Z", True),
        ("15:42:18.000Z", "15:42:18Z", False),
        # milliseconds, and what is finer
        ("15:42:18.199Z", "15:42:18.200Z", True),
        ("15:42:18.200Z", "15:42:18.200Z", False),
        ("15:42:18.1999Z", "15:42:18.2Z", True),
        ("15:42:18.199999999Z", "15:42:18.200Z", True),
        ("15:42:18.200000000Z", "15:42:18.200Z", False),
        ("15:42:18.1Z", "15:42:18.2Z", True),
        ("15:42:18.1Z", "15:42:18.19Z", False),
        # another offset
        ("08:42:17-07:00", "15:42:18.200Z", True),
        ("08:42:18-07:00", "15:42:18.200Z", False),
        ("16:42:17+01:00", "15:42:18Z", True),
    ],
)
def test_before_means_every_possible_moment_is(left: str, right: str, before: bool) -> None:
    one, other = parse_instant(f"2026-03-12T{left}"), parse_instant(f"2026-03-12T{right}")
    assert one.wholly_before(other) is before


def test_start_ms_is_rounded_down() -> None:
    assert parse_instant("2026-03-12T15:42:18.2009Z").start_ms == NOON // 1_000_000 + 200
    assert parse_instant("1969-12-31T23:59:59.9995Z").start_ms == -1


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (NOON // 1_000_000 + 200, "2026-03-12T15:42:18.200Z"),
        (NOON // 1_000_000 + 7, "2026-03-12T15:42:18.007Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_milliseconds_are_written_as_they_are_read(ms: int, text: str) -> None:
    assert to_rfc3339(ms) == text
    assert parse_instant(text) == Instant(ms * 1_000_000, 1_000_000)
