"""Intake of deliveries: what goes on to its case, and how everything else is refused."""

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest
from casework import (
    CATALOGUE,
    CONNECTIONS,
    CONTEXT,
    POLICY,
    SECOND,
    T0,
    Rec,
    account,
    sample,
    sample_delivery,
)

from contracts.catalogue import BUILT_IN, Catalogue, Entry
from contracts.model import Contract
from contracts.yaml_source import read_yaml
from streams.intake import Context, take_delivery
from streams.messages import Events, Source, decode_case_message, encode
from streams.outputs import Ignored, Output, Refused, ToCase
from streams.publish import to_record
from streams.transport.topics import MAX_RECORD_BYTES, MAX_REQUEST_BYTES

NOW = T0 + 10 * SECOND
REFUNDED = "paypal_webhook_capture_refunded"
CREATED = "shopify_webhook_refunds_create"


def refusal(outputs: list[Output]) -> tuple[str, str]:
    (output,) = outputs
    assert isinstance(output, Refused), output
    assert output.stage == "intake"
    return output.class_, output.reason


def events(record: Rec, context: Context = CONTEXT, now: int = NOW) -> dict[str, Events]:
    """Row key → events of a delivery."""
    found = {}
    for output in take_delivery(record, context, now):
        assert isinstance(output, ToCase), output
        assert isinstance(output.message, Events)
        assert decode_case_message(encode(output.message)) == output.message
        found[output.key] = output.message
    return found


def refused_delivery(record: Rec, context: Context = CONTEXT) -> tuple[str, str]:
    return refusal(take_delivery(record, context, NOW))


# -- deliveries


def test_a_shopify_delivery_goes_to_its_order() -> None:
    found = events(sample_delivery(CREATED))
    (message,) = found.values()
    assert list(found) == ["case/acme/order_id/gid://shopify/Order/6900000000001"]
    assert (message.at, message.arrived_ms, message.source) == (NOW, T0 + 2 * SECOND, Source("webhooks", 3, 41))
    assert [one.resource_id for one in message.events] == ["gid://shopify/Refund/1900000000001"]


def test_a_paypal_delivery_goes_to_its_capture() -> None:
    found = events(sample_delivery(REFUNDED))
    assert list(found) == ["case/pay/capture_id/7CAP00001TEST001A"]
    assert [one.id for one in found["case/pay/capture_id/7CAP00001TEST001A"].events] == [
        "WH-1TEST0001TEST0001-1TEST0001TEST0001"
    ]


def test_ids_above_2_to_the_53_stay_exact() -> None:
    assert list(events(sample_delivery("shopify_webhook_big_ids"))) == [
        "case/acme/order_id/gid://shopify/Order/820982911946154508"
    ]


@pytest.mark.parametrize(
    ("record", "type_"),
    [
        (sample_delivery("paypal_webhook_capture_reversed"), "PAYMENT.CAPTURE.REVERSED"),
        (sample_delivery(CREATED, **{"X-Shopify-Topic": b"orders/updated"}), "ORDERS_UPDATED"),
    ],
)
def test_a_delivery_that_no_contract_listens_to_is_only_counted(record: Rec, type_: str) -> None:
    assert take_delivery(record, CONTEXT, NOW) == [Ignored(type_)]


def test_without_contracts_nothing_is_listened_to() -> None:
    context = Context(Catalogue(), CONNECTIONS, POLICY)
    assert take_delivery(sample_delivery(CREATED), context, NOW) == [Ignored("REFUNDS_CREATE")]


def paypal_body(**changes: Any) -> bytes:
    document = json.loads(sample(f"{REFUNDED}.body"))
    resource = {name: value for name, value in (document["resource"] | changes).items() if value is not ...}
    return json.dumps(document | {"resource": resource}).encode()


def with_body(record: Rec, body: bytes | None) -> Rec:
    return Rec(record.topic, record.partition, record.offset, record.timestamp, record.key, body, record.headers)


def signed(body: bytes) -> Rec:
    """A Shopify delivery of any body, signed as the shop's app does."""
    digest = hmac.digest(b"test_client_secret_do_not_use", body, hashlib.sha256)
    return with_body(sample_delivery(CREATED, **{"X-Shopify-Hmac-Sha256": base64.b64encode(digest)}), body)


@pytest.mark.parametrize(
    ("record", "class_", "said"),
    [
        (
            sample_delivery(REFUNDED, connection_id=None),
            "unknown_connection",
            "the Kafka header `connection_id` is missing",
        ),
        (
            sample_delivery(REFUNDED, connection_id=b"\xff"),
            "unknown_connection",
            "the Kafka header `connection_id` is missing",
        ),
        (sample_delivery(REFUNDED, connection_id=b"other"), "unknown_connection", "there is no connection 'other'"),
        (with_body(sample_delivery(REFUNDED), None), "not_json", "the record has no value"),
        (with_body(sample_delivery(REFUNDED), b""), "not_json", "the body is not JSON: "),
        (with_body(sample_delivery(REFUNDED), b"event=x&y=z"), "not_json", "the body is not JSON: "),
        (with_body(sample_delivery(REFUNDED), b"[]"), "not_json", "the body is JSON, but no object"),
        (with_body(sample_delivery(REFUNDED), b"[" * 5000), "not_json", "the body is not JSON: "),
        (with_body(sample_delivery(REFUNDED), b"{}"), "malformed_delivery", "event_type is missing from the body"),
        (
            sample_delivery("paypal_webhook_no_up_link"),
            "no_subject",
            "the event WH-5TEST0005TEST0005-5TEST0005TEST0005 about 8REF00001TEST001A names no capture_id",
        ),
        (
            with_body(sample_delivery(REFUNDED), paypal_body(create_time="2018-19-12T22:20:32.000Z")),
            "impossible_date",
            "resource.create_time: '2018-19-12T22:20:32.000Z' is an impossible date-time",
        ),
        (with_body(sample_delivery(REFUNDED), paypal_body(id=...)), "malformed_delivery", "resource.id is missing"),
        (with_body(sample_delivery(REFUNDED), paypal_body(id="x" * 256)), "malformed_delivery", ""),
        (
            sample_delivery(REFUNDED, arrived_at=b"yesterday"),
            "impossible_date",
            "the Kafka header `arrived_at`: 'yesterday' is not an RFC 3339 date-time",
        ),
        (
            sample_delivery(REFUNDED, arrived_at=b"1960-01-01T00:00:00Z"),
            "impossible_date",
            "the Kafka header `arrived_at`: ",
        ),
        (
            sample_delivery(CREATED, headers_of="shopify_webhook_second_refund"),
            "not_authentic",
            "X-Shopify-Hmac-Sha256 matches the body with none of the connection's secrets",
        ),
        (
            sample_delivery(CREATED, **{"X-Shopify-Shop-Domain": b"other.myshopify.com"}),
            "not_authentic",
            "the delivery is of the shop 'other.myshopify.com'",
        ),
        (
            sample_delivery(CREATED, **{"X-Shopify-Topic": None}),
            "malformed_delivery",
            "the header X-Shopify-Topic is missing",
        ),
        (signed(b"not json"), "not_json", "the body is not JSON: "),
        (
            signed(b'{"id": 1, "created_at": "2026-03-12T15:42:18Z"}'),
            "malformed_delivery",
            "order_id is no whole positive number",
        ),
        (
            signed(sample("shopify_webhook_big_ids.body").replace(b"890088186047892319,", b"890088186047892400,", 1)),
            "identifiers_disagree",
            "id 890088186047892400 and admin_graphql_api_id 'gid://shopify/Refund/890088186047892319' name different",
        ),
    ],
)
def test_each_delivery_that_cannot_be_taken_is_refused_with_its_word_and_sentence(
    record: Rec, class_: str, said: str
) -> None:
    word, sentence = refused_delivery(record)
    assert word == class_
    assert sentence.startswith(said)


def test_a_body_is_authenticated_before_it_is_read() -> None:
    record = with_body(sample_delivery(CREATED), b"not json, and not signed")
    assert refused_delivery(record)[0] == "not_authentic"


@pytest.mark.parametrize("form", [str.lower, str.upper, str.title])
def test_header_names_are_read_in_any_case(form: Any) -> None:
    record = sample_delivery(CREATED)
    headers = [(form(name), value) for name, value in record.headers]
    turned = Rec(record.topic, record.partition, record.offset, record.timestamp, None, record.value, headers)
    assert events(turned) == events(record)


@pytest.mark.parametrize("name", ["connection_id", "arrived_at", "Connection_Id", "ARRIVED_AT"])
@pytest.mark.parametrize("first", [True, False])
def test_a_header_of_ours_that_is_there_twice_is_refused(name: str, first: bool) -> None:
    """A sender can set any HTTP header, and the gateway puts them beside its own."""
    record = sample_delivery(REFUNDED)
    slipped = (name, b"acme" if "onn" in name.lower() else b"2020-01-01T00:00:00Z")
    headers = [slipped, *record.headers] if first else [*record.headers, slipped]
    spoofed = Rec(record.topic, record.partition, record.offset, record.timestamp, None, record.value, headers)
    word, sentence = refused_delivery(spoofed)
    assert word == "ambiguous_header"
    assert f"`{name.lower()}`" in sentence


def test_a_byte_order_mark_is_part_of_what_is_signed_and_not_of_the_json() -> None:
    marked = b"\xef\xbb\xbf" + sample(f"{CREATED}.body")
    assert list(events(signed(marked))) == ["case/acme/order_id/gid://shopify/Order/6900000000001"]
    assert refused_delivery(with_body(sample_delivery(CREATED), marked))[0] == "not_authentic"
    assert list(events(with_body(sample_delivery(REFUNDED), b"\xef\xbb\xbf" + sample(f"{REFUNDED}.body"))))


def test_headers_of_any_bytes_are_kept_apart() -> None:
    record = sample_delivery(REFUNDED, **{"X-Latin": b"\xe9\xff", "X-None": None})
    assert events(record) == events(sample_delivery(REFUNDED))


def test_an_empty_header_value_is_no_obstacle() -> None:
    record = sample_delivery(REFUNDED)
    headers = [*record.headers, ("x-null", None)]
    with_null = Rec(record.topic, record.partition, record.offset, record.timestamp, None, record.value, headers)
    assert events(with_null) == events(record)


# -- the time of arrival


def arrival(record: Rec, now: int = NOW) -> int:
    (message,) = events(record, now=now).values()
    return message.arrived_ms - T0


def test_the_gateway_says_when_a_delivery_arrived() -> None:
    assert arrival(sample_delivery(REFUNDED, arrived_at=b"2026-03-12T15:42:19.7Z")) == 1500
    assert arrival(sample_delivery(REFUNDED, arrived_at=b"2026-03-12T08:42:19-07:00")) == 800


def test_without_it_the_records_own_time_counts() -> None:
    assert arrival(sample_delivery(REFUNDED, arrived_at=None)) == 5 * SECOND


@pytest.mark.parametrize("timestamp", [-1, 0])
def test_without_both_it_arrived_now(timestamp: int) -> None:
    record = sample_delivery(REFUNDED, arrived_at=None)
    untimed = Rec(record.topic, record.partition, record.offset, timestamp, None, record.value, record.headers)
    assert arrival(untimed) == 10 * SECOND


@pytest.mark.parametrize("arrived_at", [b"2026-03-12T15:42:28.201Z", b"9999-12-31T23:59:59Z"])
def test_nothing_has_arrived_after_now(arrived_at: bytes) -> None:
    assert arrival(sample_delivery(REFUNDED, arrived_at=arrived_at)) == 10 * SECOND


# -- several cases


def told_contract() -> Contract:
    """A contract that listens to the same events, but for which one case is one refund."""
    document: Any = read_yaml(BUILT_IN / "paypal" / "refund.recorded.yaml").data
    readings = document["readings"] | {
        "input": {**document["readings"]["input"], "refund_id": {"type": "text"}},
        "case_key": {"name": "refund_id", "operation": "$input.refund_id"},
    }
    return Contract.model_validate({**document, "id": "paypal.refund.told", "readings": readings})


def with_told() -> Context:
    entry = Entry(told_contract(), Path("told.yaml"))
    return Context(Catalogue((*CATALOGUE.entries, entry)), CONNECTIONS, POLICY)


def test_one_delivery_reaches_every_case_that_it_concerns() -> None:
    found = events(sample_delivery(REFUNDED), with_told())
    assert list(found) == ["case/pay/capture_id/7CAP00001TEST001A", "case/pay/refund_id/8REF00001TEST001A"]
    one, other = found.values()
    assert one == other
    assert one.source == Source("webhooks", 3, 41)


def test_the_records_of_those_cases_are_different_events() -> None:
    outputs = take_delivery(sample_delivery(REFUNDED), with_told(), NOW)
    ids = [dict(record.headers)["ce_id"] for one in outputs if (record := to_record(one)) is not None]
    assert len(ids) == len(set(ids)) == 2


def test_an_event_that_lacks_the_subject_of_one_contract_reaches_the_other() -> None:
    found = events(sample_delivery("paypal_webhook_no_up_link"), with_told())
    assert list(found) == ["case/pay/refund_id/8REF00001TEST001A"]


def test_two_contracts_with_one_subject_share_a_case() -> None:
    document: Any = read_yaml(BUILT_IN / "paypal" / "refund.recorded.yaml").data
    again = Entry(Contract.model_validate({**document, "id": "paypal.refund.again"}), Path("again.yaml"))
    context = Context(Catalogue((*CATALOGUE.entries, again)), CONNECTIONS, POLICY)
    assert list(events(sample_delivery(REFUNDED), context)) == ["case/pay/capture_id/7CAP00001TEST001A"]


def test_the_same_order_of_two_shops_is_two_cases() -> None:
    other = account(id="acme-2", provider="shopify", webhook_auth="trusted")
    context = Context(CATALOGUE, {**CONNECTIONS, "acme-2": other}, POLICY)
    one = events(sample_delivery(CREATED), context)
    two = events(sample_delivery(CREATED, "acme-2"), context)
    assert set(one).isdisjoint(two)


# -- size


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({"id": "x" * 1_500_000}).encode(),
        json.dumps({"id": 1, "admin_graphql_api_id": "\x00" * 400_000}).encode(),
        json.dumps({"id": 1, "order_id": list(range(300_000))}).encode(),
        b"x" * (MAX_RECORD_BYTES - 1000),
    ],
    ids=["id", "global id", "order id", "no json"],
)
def test_a_refused_delivery_fits_into_a_dead_letter_whatever_its_body_holds(body: bytes) -> None:
    """One that does not fit would end the process before its offset is committed, and so again after each restart."""
    outputs = take_delivery(signed(body), CONTEXT, NOW)
    refusal(outputs)
    record = to_record(outputs[0])
    assert record is not None
    size = len(record.value or b"") + sum(len(name) + len(value or b"") for name, value in record.headers)
    assert size < MAX_REQUEST_BYTES
    reason = dict(record.headers)["dead_letter_reason"]
    assert reason is not None
    assert len(reason) < 4000
