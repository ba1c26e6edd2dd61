"""The webhook verifier: which events of a ledger a channel counts."""

from typing import Any

import pytest
from accounts import PAYPAL, SHOPIFY

from contracts.model import EventFilter
from verifiers.events import Event, RecordedEvent
from verifiers.webhook import EventsObserved, observe

ORDER, OTHER_ORDER = "gid://shopify/Order/69", "gid://shopify/Order/70"
ARRIVED = 1_773_330_150_000
FACTS = {
    "$input.order_id": ORDER,
    "$input.capture_id": "CAP1",
    "$operation.created_at": "2026-03-12T15:42:18.200Z",
    "$action.result.refundCreate.refund.id": "gid://shopify/Refund/1",
}
OF_ORDER = SHOPIFY.readings.events["order_refund_events"]
OF_REFUND = SHOPIFY.readings.events["refund_events"]
OF_CAPTURE = PAYPAL.readings.events["capture_refunded_events"]


def refund(
    number: int,
    born: str = "2026-03-12T15:42:18Z",
    *,
    order: str = ORDER,
    type_: str = "REFUNDS_CREATE",
    arrived_ms: int = ARRIVED,
    deliveries: int = 1,
) -> RecordedEvent:
    """An event of a Shopify refund, as the ledger holds it."""
    identity = f"gid://shopify/Refund/{number}"
    identifiers = {"refund_id": identity, "order_id": order}
    event = Event(f"event-{number}", type_, identity, born, identifiers)
    return RecordedEvent(event, arrived_ms, arrived_ms, deliveries)


def count(*ledger: RecordedEvent, wanted: EventFilter = OF_ORDER, before_ms: int | None = None) -> int | None:
    seen = observe(ledger, wanted, FACTS, before_ms)
    return None if seen is None else seen.count


def test_events_of_the_subject_since_the_operation_started_count() -> None:
    assert count() == 0
    assert count(refund(1)) == 1
    assert count(refund(1), refund(2)) == 2


def test_events_of_another_subject_or_type_do_not_count() -> None:
    assert count(refund(1, order=OTHER_ORDER), refund(2, type_="ORDERS_UPDATED"), refund(3)) == 1


def test_a_reversal_is_no_refund() -> None:
    identifiers = {"refund_id": "R", "capture_id": "CAP1"}
    born = "2026-03-12T08:42:18-07:00"
    reversal = RecordedEvent(Event("WH-1", "PAYMENT.CAPTURE.REVERSED", "R", born, identifiers), ARRIVED, ARRIVED)
    refunded = RecordedEvent(Event("WH-2", "PAYMENT.CAPTURE.REFUNDED", "R", born, identifiers), ARRIVED, ARRIVED)
    assert count(reversal, wanted=OF_CAPTURE) == 0
    assert count(reversal, refunded, wanted=OF_CAPTURE) == 1


@pytest.mark.parametrize(
    ("born", "counts"),
    [
        ("2026-03-12T15:42:17Z", 0),
        ("2026-03-12T15:42:17.999Z", 0),
        ("2026-03-12T15:42:18.199Z", 0),
        ("2026-03-12T15:42:18Z", 1),
        ("2026-03-12T11:42:18-04:00", 1),
        ("2026-03-12T11:42:17-04:00", 0),
        ("2026-03-12T15:42:18.200Z", 1),
        ("2026-03-12T15:43:00Z", 1),
        ("2026-03-12T16:00:00+05:00", 0),
    ],
)
def test_since_the_start_is_judged_by_the_birth_and_its_precision(born: str, counts: int) -> None:
    assert count(refund(1, born)) == counts


def test_neither_arrival_nor_the_envelope_makes_an_old_refund_count() -> None:
    assert count(refund(1, "2026-03-12T15:42:00Z", arrived_ms=ARRIVED + 1_000_000)) == 0


def test_a_channel_without_a_start_counts_the_older_ones_too() -> None:
    assert count(refund(1, "2026-03-12T15:42:00Z"), wanted=OF_REFUND) == 1


def test_our_own_refund_is_filtered_only_where_the_channel_says_so() -> None:
    assert count(refund(1), refund(2), wanted=OF_REFUND) == 1
    assert count(refund(2), wanted=OF_REFUND) == 0


@pytest.mark.parametrize(("arrived_ms", "counts"), [(999, 1), (1000, 0), (1001, 0)])
def test_what_arrives_at_the_end_of_the_observation_or_later_does_not_count(arrived_ms: int, counts: int) -> None:
    assert count(refund(1, arrived_ms=arrived_ms), before_ms=1000) == counts


@pytest.mark.parametrize(
    ("wanted", "missing"),
    [
        (OF_REFUND, "$action.result.refundCreate.refund.id"),
        (OF_ORDER, "$input.order_id"),
        (OF_ORDER, "$operation.created_at"),
        (OF_CAPTURE, "$input.capture_id"),
    ],
)
def test_while_a_value_of_the_filter_is_not_known_nothing_is(wanted: EventFilter, missing: str) -> None:
    facts = {path: value for path, value in FACTS.items() if path != missing}
    assert observe([refund(1)], wanted, facts, None) is None


@pytest.mark.parametrize("value", [69, True, "", ["gid://shopify/Order/69"], {}])
def test_a_value_of_another_kind_names_no_event(value: Any) -> None:
    seen = observe([refund(1)], OF_ORDER, FACTS | {"$input.order_id": value}, None)
    assert seen is not None
    assert seen.count == 0


def test_an_event_without_the_identifier_does_not_count() -> None:
    event = Event("event-1", "REFUNDS_CREATE", "gid://shopify/Refund/1", "2026-03-12T15:42:18Z", {})
    assert count(RecordedEvent(event, ARRIVED, ARRIVED)) == 0


def test_members_are_those_of_the_published_pages() -> None:
    seen = observe(
        [
            refund(3, "2026-03-12T15:42:20Z", deliveries=3),
            refund(2, "2026-03-12T11:42:19-04:00"),
            refund(1, "2026-03-12T15:42:19Z", deliveries=2),
        ],
        OF_ORDER,
        FACTS,
        None,
    )
    assert seen is not None
    assert seen.members == {
        "events": [f"gid://shopify/Refund/{number}" for number in (1, 2, 3)],
        "count": 3,
        "types": ["REFUNDS_CREATE"],
        "duplicates_dropped": 3,
        "earliest": "2026-03-12T15:42:19Z",
        "latest": "2026-03-12T15:42:20Z",
    }


def test_without_events_nothing_is_earliest_or_latest() -> None:
    assert EventsObserved.of(()).members == {"events": [], "count": 0, "types": [], "duplicates_dropped": 0}


def test_the_order_of_the_ledger_does_not_matter() -> None:
    ledger = [refund(number, f"2026-03-12T15:42:{18 + number % 3}Z") for number in range(1, 7)]
    forwards, backwards = observe(ledger, OF_ORDER, FACTS, None), observe(ledger[::-1], OF_ORDER, FACTS, None)
    assert forwards is not None
    assert backwards is not None
    assert forwards.members == backwards.members
    assert forwards.members["events"] == [f"gid://shopify/Refund/{number}" for number in (3, 6, 1, 4, 2, 5)]


def test_repeats_of_what_does_not_count_are_not_counted_either() -> None:
    seen = observe([refund(1), refund(2, order=OTHER_ORDER, deliveries=9)], OF_ORDER, FACTS, None)
    assert seen is not None
    assert seen.duplicates_dropped == 0


def test_one_resource_counts_once_although_events_of_two_types_tell_of_it() -> None:
    """The published pages count refunds: a refund that is first pending and then completed is one."""
    wanted = EventFilter(types=("REFUNDS_CREATE", "REFUNDS_UPDATE"), where={"order_id": "$input.order_id"})
    updated = refund(1, "2026-03-12T15:42:19Z", type_="REFUNDS_UPDATE")
    assert count(refund(1), updated, wanted=wanted) == 1
    assert count(refund(1), updated, refund(2), wanted=wanted) == 2


def test_events_of_two_types_about_one_resource_have_two_names() -> None:
    assert refund(1).name != refund(1, type_="ORDERS_UPDATED").name
    assert refund(1).name == refund(1, arrived_ms=5, deliveries=4).name
