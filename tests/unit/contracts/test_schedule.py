"""When reads fall due: the published timings, worked out by hand."""

import pytest
from observed import PAYPAL, SHOPIFY

from contracts.schedule import Schedule, backoff_ms


def schedule(**changes: int) -> Schedule:
    timing = {
        "initial_delay_ms": 1000,
        "poll_interval_ms": 5000,
        "factor": 2,
        "max_interval_ms": 60_000,
        "max_attempts": 5,
        "timeout_ms": 10_000_000,
    }
    return Schedule.of(**{**timing, **changes})


def test_shopify_is_read_forty_times_in_36_minutes() -> None:
    # 5, 10, 20, 40 seconds between reads, then a minute each: 136 is the sixth, 136 + 34 * 60 = 2,176 the fortieth.
    due = [1, 6, 16, 36, 76, *range(136, 2_177, 60)]
    assert len(due) == 40
    assert SHOPIFY.timing.schedule.offsets_ms == tuple(1000 * one for one in due)
    assert SHOPIFY.timing.schedule.timeout_ms == 7 * 86_400_000


def test_of_paypals_sixty_reads_eight_fit_before_the_timeout() -> None:
    due = [2, 7, 17, 37, 77, 157, 317, 617]
    assert PAYPAL.timing.schedule.offsets_ms == tuple(1000 * one for one in due)
    assert PAYPAL.timing.schedule.timeout_ms == 900_000


@pytest.mark.parametrize(
    ("timeout_ms", "reads"), [(900, 0), (1000, 0), (1001, 1), (6000, 1), (6001, 2), (36_000, 3), (76_001, 5)]
)
def test_no_read_falls_due_at_or_after_the_timeout(timeout_ms: int, reads: int) -> None:
    assert schedule(timeout_ms=timeout_ms).offsets_ms == (1000, 6000, 16_000, 36_000, 76_000)[:reads]


def test_a_factor_of_one_keeps_the_interval() -> None:
    assert schedule(factor=1).offsets_ms == (1000, 6000, 11_000, 16_000, 21_000)


def test_a_factor_of_three_triples_it() -> None:
    assert schedule(factor=3).offsets_ms == (1000, 6000, 21_000, 66_000, 126_000)


def test_the_cap_holds_for_the_first_interval_too() -> None:
    assert schedule(max_interval_ms=3000).offsets_ms == (1000, 4000, 7000, 10_000, 13_000)


def test_attempts_are_limited() -> None:
    assert schedule(max_attempts=1).offsets_ms == (1000,)


@pytest.mark.parametrize(
    ("elapsed_ms", "slot"),
    [(-86_400_000, 0), (0, 0), (999, 0), (1000, 1), (5999, 1), (6000, 2), (16_001, 3), (76_000, 5), (10**12, 5)],
)
def test_the_next_slot_is_the_first_that_falls_due_later(elapsed_ms: int, slot: int) -> None:
    assert schedule().next_slot_after(elapsed_ms) == slot


def test_a_read_beside_the_schedule_waits_twice_as_long_after_each_failure() -> None:
    assert [backoff_ms(5000, failures) for failures in (1, 2, 3, 4, 11)] == [5000, 10_000, 20_000, 40_000, 5_120_000]


def test_the_wait_stays_a_number_that_fits_after_any_number_of_failures() -> None:
    assert backoff_ms(5000, 1_000_000) < 2**63 - 1
