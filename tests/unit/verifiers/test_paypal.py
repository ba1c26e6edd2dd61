"""PayPal's deliveries in normal form."""

import json
from typing import Any

import pytest
from accounts import paypal, sample, sample_headers

from verifiers.connections import ConnectionsError
from verifiers.events import Delivery, DeliveryError, Event
from verifiers.providers import carried_identifiers
from verifiers.providers.paypal import authenticate, event_type, normalise

CAPTURE = "7CAP00001TEST001A"
UP = f"https://api.sandbox.paypal.com/v2/payments/captures/{CAPTURE}"


def delivery(body: bytes = b"{}") -> Delivery:
    return Delivery("pay", {}, body)


def events(name: str) -> list[Event]:
    body = sample(f"paypal_webhook_{name}.body")
    headers = sample_headers(f"paypal_webhook_{name}.headers.json")
    return normalise(Delivery("pay", headers, body), json.loads(body))


def envelope(**resource: Any) -> dict[str, Any]:
    """An envelope around a refund; ``...`` drops a member of the refund."""
    refund = {
        "id": "R1",
        "create_time": "2026-03-12T08:42:18-07:00",
        "links": [{"rel": "self", "href": "https://x/v2/payments/refunds/R1"}, {"rel": "up", "href": UP}],
    } | resource
    return {
        "id": "WH-1",
        "event_type": "PAYMENT.CAPTURE.REFUNDED",
        "create_time": "2026-03-12T15:42:53.543Z",
        "resource": {name: value for name, value in refund.items() if value is not ...},
    }


# -- events


@pytest.mark.parametrize(
    ("name", "event_id", "refund", "capture", "born"),
    [
        ("capture_refunded", "WH-1TEST0001TEST0001-1TEST0001TEST0001", "8REF00001TEST001A", CAPTURE, "08:42:18"),
        (
            "capture_refunded_redelivery",
            "WH-1TEST0001TEST0001-1TEST0001TEST0001",
            "8REF00001TEST001A",
            CAPTURE,
            "08:42:18",
        ),
        ("second_refund", "WH-2TEST0002TEST0002-2TEST0002TEST0002", "8REF00002TEST002B", CAPTURE, "08:42:40"),
        (
            "other_capture",
            "WH-3TEST0003TEST0003-3TEST0003TEST0003",
            "8REF00003TEST003C",
            "7CAP00002TEST002B",
            "08:42:18",
        ),
        (
            "earlier_refund_late_envelope",
            "WH-4TEST0004TEST0004-4TEST0004TEST0004",
            "8REF00004TEST004D",
            CAPTURE,
            "08:41:55",
        ),
        ("nonascii", "WH-7TEST0007TEST0007-7TEST0007TEST0007", "8REF00001TEST001A", CAPTURE, "08:42:18"),
    ],
)
def test_each_recorded_refund_names_itself_its_capture_and_its_own_birth(
    name: str, event_id: str, refund: str, capture: str, born: str
) -> None:
    identifiers = {"refund_id": refund, "capture_id": capture}
    created_at = f"2026-03-12T{born}-07:00"
    assert events(name) == [Event(event_id, "PAYMENT.CAPTURE.REFUNDED", refund, created_at, identifiers)]


def test_the_genuine_simulator_event_is_read() -> None:
    body = sample("paypal_simulator/signed_event.body")
    (event,) = normalise(delivery(body), json.loads(body))
    assert event == Event(
        "WH-1GE84257G0350133W-6RW800890C634293G",
        "PAYMENT.CAPTURE.REFUNDED",
        "1Y107995YT783435V",
        "2018-08-15T12:13:29-07:00",
        {"refund_id": "1Y107995YT783435V", "capture_id": "0JF852973C016714D"},
    )


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("capture_refunded", "PAYMENT.CAPTURE.REFUNDED"),
        ("capture_reversed", "PAYMENT.CAPTURE.REVERSED"),
        ("capture_completed", "PAYMENT.CAPTURE.COMPLETED"),
    ],
)
def test_an_event_has_the_type_that_its_envelope_says(name: str, type_: str) -> None:
    body = sample(f"paypal_webhook_{name}.body")
    assert event_type(delivery(body), json.loads(body)) == type_


def test_an_event_without_an_up_link_names_no_capture_and_none_is_guessed() -> None:
    (event,) = events("no_up_link")
    assert event.identifiers == {"refund_id": "8REF00001TEST001A"}


@pytest.mark.parametrize(
    "href",
    [
        UP,
        f"https://10.72.108.213:11881/v2/payments/captures/{CAPTURE}",
        f"http://[::1]/v2/payments/captures/{CAPTURE}",
        f"/v2/payments/captures/{CAPTURE}",
        f"{UP}?token=1#x",
    ],
)
def test_the_capture_is_found_by_the_links_path_and_never_by_its_host(href: str) -> None:
    (event,) = normalise(delivery(), envelope(links=[{"rel": "up", "href": href}]))
    assert event.identifiers["capture_id"] == CAPTURE


@pytest.mark.parametrize(
    "links",
    [
        ...,
        None,
        [],
        {},
        "up",
        [None, "up", 7, [], {}],
        [{"rel": "up"}],
        [{"rel": "up", "href": None}],
        [{"rel": "up", "href": 7}],
        [{"rel": "up", "href": ""}],
        [{"rel": "up", "href": "https://[broken/v2/payments/captures/X"}],
        [{"rel": "self", "href": UP}],
        [{"rel": "up", "href": "https://x/v2/checkout/orders/O1"}],
        [{"rel": "up", "href": "https://x/v2/payments/authorizations/A1"}],
        [{"rel": "up", "href": "https://x/v1/payments/captures/C1"}],
        [{"rel": "up", "href": "https://x/v2/payments/captures/"}],
        [{"rel": "up", "href": "https://x/v2/payments/captures/C1/refund"}],
        [{"rel": "up", "href": "https://x/evil/v2/payments/captures/C1"}],
        [{"rel": "up", "href": "https://x/?/v2/payments/captures/C1"}],
        [{"rel": "UP", "href": UP}],
    ],
)
def test_any_other_link_names_no_capture(links: Any) -> None:
    (event,) = normalise(delivery(), envelope(links=links))
    assert event.identifiers == {"refund_id": "R1"}


def test_links_that_are_no_capture_do_not_hide_the_one_that_is() -> None:
    order = {"rel": "up", "href": "https://x/v2/checkout/orders/O1"}
    (event,) = normalise(delivery(), envelope(links=[order, {"rel": "up", "href": UP}]))
    assert event.identifiers["capture_id"] == CAPTURE


@pytest.mark.parametrize("resource", [None, [], "refund", 7])
def test_a_body_without_a_resource_is_malformed(resource: Any) -> None:
    with pytest.raises(DeliveryError, match=r"^resource is missing from the body") as caught:
        normalise(delivery(), {**envelope(), "resource": resource})
    assert caught.value.class_ == "malformed_delivery"


@pytest.mark.parametrize("value", [..., None, "", 7, [], {}])
def test_a_resource_without_an_id_is_malformed(value: Any) -> None:
    with pytest.raises(DeliveryError, match=r"^resource\.id is missing from the body") as caught:
        normalise(delivery(), envelope(id=value))
    assert caught.value.class_ == "malformed_delivery"


@pytest.mark.parametrize("value", [None, "", 7, ["PAYMENT.CAPTURE.REFUNDED"], {}])
def test_an_envelope_without_a_type_is_malformed(value: Any) -> None:
    with pytest.raises(DeliveryError, match=r"^event_type is missing from the body") as caught:
        event_type(delivery(), {**envelope(), "event_type": value})
    assert caught.value.class_ == "malformed_delivery"


def test_month_nineteen_is_refused_by_name() -> None:
    """PayPal's own simulator has signed and sent such a date."""
    with pytest.raises(DeliveryError, match=r"^create_time: .* is an impossible date-time") as caught:
        event_type(delivery(), {**envelope(), "create_time": "2018-19-12T22:20:32.000Z"})
    assert caught.value.class_ == "impossible_date"
    with pytest.raises(DeliveryError, match=r"^resource\.create_time: .* is an impossible date-time"):
        normalise(delivery(), envelope(create_time="2018-19-12T22:20:32.000Z"))


@pytest.mark.parametrize("value", [..., None, 1773330138])
def test_a_refund_without_a_birth_is_malformed(value: Any) -> None:
    with pytest.raises(DeliveryError, match=r"^resource\.create_time is missing") as caught:
        normalise(delivery(), envelope(create_time=value))
    assert caught.value.class_ == "malformed_delivery"


@pytest.mark.parametrize("born", ["2026-03-12T08:42:18-07:00", "2026-03-12t15:42:18z", "2016-12-31T23:59:60Z"])
def test_the_birth_stays_as_paypal_wrote_it(born: str) -> None:
    assert normalise(delivery(), envelope(create_time=born))[0].created_at == born


@pytest.mark.parametrize(
    "changed",
    [
        {"id": "x" * 100_000},
        {"links": [{"rel": "up", "href": "https://x/v2/payments/captures/" + "c" * 100_000}]},
    ],
    ids=["refund", "capture"],
)
def test_an_identifier_of_any_length_is_not_taken_in(changed: dict[str, Any]) -> None:
    """A case keeps each event's identifiers several times: a row that Kafka does not take would end the worker."""
    with pytest.raises(DeliveryError):
        normalise(delivery(), envelope(**changed))


def test_events_carry_what_the_catalogue_is_told_they_carry() -> None:
    carried = carried_identifiers("paypal")
    assert carried["PAYMENT.CAPTURE.REFUNDED"] == frozenset({"refund_id", "capture_id"})
    assert normalise(delivery(), envelope())[0].identifiers.keys() == carried["PAYMENT.CAPTURE.REFUNDED"]


def test_deliveries_come_from_a_gateway_that_has_verified_them_or_not_at_all() -> None:
    authenticate(delivery(), paypal())
    for auth in ("open", None, {"hmac_secrets": ["x"]}):
        with pytest.raises(ConnectionsError, match="webhook_auth"):
            paypal(webhook_auth=auth)
