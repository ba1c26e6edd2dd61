"""PayPal's events of captures: which capture, which order, and what is refused."""

import json
from typing import Any

import pytest
from accounts import sample

from verifiers.events import Delivery, DeliveryError, Event
from verifiers.providers import carried_identifiers
from verifiers.providers.paypal import normalise

ORDER = "https://api.paypal.com/v2/checkout/orders/8PR65097T8571330M"
AUTHORIZATION = "https://api.paypal.com/v2/payments/authorizations/7W5147081L658180V"
TYPES = ["PENDING", "COMPLETED", "DECLINED", "DENIED"]


def capture(kind: str = "PENDING", **changes: Any) -> list[Event]:
    """The event of a capture that differs from a recorded one (PayPal's simulator, 2018) in some members."""
    resource = {
        "id": "02T21492PP3782704",
        "status": "PENDING",
        "create_time": "2018-08-15T20:02:40Z",
        "links": [
            {"rel": "self", "href": "https://api.paypal.com/v2/payments/captures/02T21492PP3782704"},
            {"rel": "refund", "href": "https://api.paypal.com/v2/payments/captures/02T21492PP3782704/refund"},
            {"rel": "up", "href": ORDER},
        ],
    } | changes
    body = {"id": "WH-1", "event_type": f"PAYMENT.CAPTURE.{kind}", "resource": resource}
    return normalise(Delivery("pay", {}, b""), body)


def related(order_id: Any) -> dict[str, Any]:
    return {"related_ids": {"order_id": order_id}}


@pytest.mark.parametrize("kind", TYPES)
def test_a_capture_names_itself_its_order_and_its_own_birth(kind: str) -> None:
    (event,) = capture(kind)
    assert (event.type, event.resource_id) == (f"PAYMENT.CAPTURE.{kind}", "02T21492PP3782704")
    assert event.identifiers == {"capture_id": "02T21492PP3782704", "order_id": "8PR65097T8571330M"}
    assert event.created_at == "2018-08-15T20:02:40Z"


def test_a_recorded_capture_names_its_order_twice() -> None:
    body = sample("paypal_webhook_capture_completed.body")
    (event,) = normalise(Delivery("pay", {}, body), json.loads(body))
    assert event.identifiers == {"capture_id": "7CAP00001TEST001A", "order_id": "9ORD00001TEST001A"}


@pytest.mark.parametrize("links", [[], None, [{"rel": "up", "href": AUTHORIZATION}]])
def test_the_order_may_be_named_by_the_related_ids_alone(links: Any) -> None:
    (event,) = capture(links=links, supplementary_data=related("5O1"))
    assert event.identifiers["order_id"] == "5O1"


@pytest.mark.parametrize("data", [None, {}, {"related_ids": None}, related(None), "text", {"related_ids": []}])
def test_the_order_may_be_named_by_the_link_alone(data: Any) -> None:
    (event,) = capture(supplementary_data=data)
    assert event.identifiers["order_id"] == "8PR65097T8571330M"


def test_a_capture_of_an_authorization_that_names_no_order_is_no_event_for_us() -> None:
    assert capture(links=[{"rel": "up", "href": AUTHORIZATION}]) == []


def test_a_capture_that_names_neither_is_left_without_an_order_and_none_is_guessed() -> None:
    (event,) = capture(links=[])
    assert event.identifiers == {"capture_id": "02T21492PP3782704"}


@pytest.mark.parametrize(
    ("changes", "class_"),
    [
        ({"supplementary_data": related("another")}, "identifiers_disagree"),
        ({"supplementary_data": related(7)}, "malformed_delivery"),
        ({"supplementary_data": related("")}, "malformed_delivery"),
        ({"id": None}, "malformed_delivery"),
        ({"create_time": None}, "malformed_delivery"),
        ({"create_time": "2018-19-15T20:02:40Z"}, "impossible_date"),
    ],
)
def test_a_capture_that_cannot_be_told_is_refused_by_name(changes: dict[str, Any], class_: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        capture(**changes)
    assert caught.value.class_ == class_


UP = "https://api.paypal.com/v2/payments/captures/4L335234718889942"


def reversal(resource_type: str = "refund", links: Any = ({"rel": "up", "href": UP},), **changes: Any) -> list[Event]:
    resource = {"id": "09E71677NS257044M", "create_time": "2018-08-15T14:30:10-07:00", "links": list(links)} | changes
    body = {"id": "WH-1", "event_type": "PAYMENT.CAPTURE.REVERSED", "resource_type": resource_type}
    return normalise(Delivery("pay", {}, b""), {**body, "resource": resource})


def test_a_recorded_reversal_names_no_order_and_is_no_event_for_us() -> None:
    body = sample("paypal_webhook_capture_reversed.body")
    assert normalise(Delivery("pay", {}, body), json.loads(body)) == []
    assert reversal() == []


def test_a_reversal_that_names_the_order_is_an_event_of_the_capture() -> None:
    (event,) = reversal(supplementary_data=related("5O1"))
    assert event.resource_id == "09E71677NS257044M"
    assert event.identifiers == {"capture_id": "4L335234718889942", "order_id": "5O1"}
    assert event.created_at == "2018-08-15T14:30:10-07:00"


def test_a_reversal_may_be_told_of_the_capture_itself() -> None:
    (event,) = reversal("capture", links=[{"rel": "up", "href": ORDER}])
    assert event.identifiers == {"capture_id": "09E71677NS257044M", "order_id": "8PR65097T8571330M"}


def test_a_reversal_without_its_capture_names_none() -> None:
    (event,) = reversal(links=[], supplementary_data=related("5O1"))
    assert event.identifiers == {"order_id": "5O1"}


def test_events_carry_what_the_catalogue_is_told_they_carry() -> None:
    carried = carried_identifiers("paypal")
    assert carried is not None
    assert set(carried) == {f"PAYMENT.CAPTURE.{kind}" for kind in ("REFUNDED", "REVERSED", *TYPES)}
    for kind in TYPES:
        assert capture(kind)[0].identifiers.keys() == carried[f"PAYMENT.CAPTURE.{kind}"]
