"""Shopify's deliveries: recorded ones, forged ones, and what becomes of them."""

import base64
import dataclasses
import hashlib
import hmac
import json
from typing import Any

import orjson
import pytest
from accounts import SECRET, SHOP, sample, sample_headers, shop, signed

from verifiers.events import Delivery, DeliveryError, Event, NotAuthentic
from verifiers.providers import carried_identifiers, providers
from verifiers.providers.shopify import authenticate, event_type, normalise

RECORDED = ["refunds_create", "second_refund", "big_ids", "old_refund_delivered_late", "zero_amount_refund"]
ORDER = "gid://shopify/Order/6900000000001"
BODY = sample("shopify_webhook_refunds_create.body")


def recorded(name: str, body: str | None = None) -> Delivery:
    headers = sample_headers(f"shopify_webhook_{name}.headers.json")
    return Delivery("acme", headers, sample(f"shopify_webhook_{body or name}.body"))


def events(delivery: Delivery) -> list[Event]:
    return normalise(delivery, orjson.loads(delivery.body))


def body(**changes: Any) -> bytes:
    document = {"id": 1, "order_id": 69, "created_at": "2026-03-12T11:42:18-04:00"} | changes
    return json.dumps({name: value for name, value in document.items() if value is not ...}).encode()


# -- authentication


@pytest.mark.parametrize("name", RECORDED)
def test_each_recorded_delivery_is_authentic(name: str) -> None:
    authenticate(recorded(name), shop())


def test_the_same_delivery_to_a_second_subscription_is_authentic() -> None:
    authenticate(recorded("refunds_create_dupsubscription", "refunds_create"), shop())


@pytest.mark.parametrize("position", [0, 100, len(BODY) - 1])
def test_one_flipped_bit_of_the_body_is_a_forgery(position: int) -> None:
    flipped = bytearray(BODY)
    flipped[position] ^= 1
    delivery = dataclasses.replace(recorded("refunds_create"), body=bytes(flipped))
    with pytest.raises(NotAuthentic, match="matches the body with none of the connection's secrets"):
        authenticate(delivery, shop())


def test_a_body_that_was_written_anew_is_a_forgery() -> None:
    delivery = recorded("refunds_create")
    for anew in (json.dumps(json.loads(BODY)).encode(), orjson.dumps(orjson.loads(BODY)), BODY + b"\n", BODY[:-1], b""):
        assert anew != BODY
        with pytest.raises(NotAuthentic):
            authenticate(dataclasses.replace(delivery, body=anew), shop())


@pytest.mark.parametrize("position", [0, 1, 2])
def test_any_of_the_secrets_is_good_while_they_rotate(position: int) -> None:
    secrets = ["older", "oldest", "newest"]
    secrets[position] = SECRET
    authenticate(signed(BODY), shop(webhook_auth={"hmac_secrets": secrets}))


@pytest.mark.parametrize(
    "secret",
    ["", "other", SECRET.upper(), f"{SECRET} ", SECRET[:-1], base64.b64encode(SECRET.encode()).decode()],
)
def test_another_secret_is_a_forgery(secret: str) -> None:
    with pytest.raises(NotAuthentic):
        authenticate(signed(BODY, secret), shop())


def test_a_secret_of_any_characters_works() -> None:
    authenticate(signed(BODY, "clé 日"), shop(webhook_auth={"hmac_secrets": ["clé 日"]}))


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "AAAA",
        "é" * 44,
        "\x80\xff",
        "x" * 100_000,
        hmac.digest(SECRET.encode(), BODY, hashlib.sha256).hex(),
        base64.b64encode(hmac.digest(SECRET.encode(), BODY, hashlib.sha1)).decode(),
        base64.b64encode(hashlib.sha256(BODY).digest()).decode(),
    ],
)
def test_a_wrong_signature_is_a_forgery_whatever_it_looks_like(signature: str) -> None:
    with pytest.raises(NotAuthentic):
        authenticate(signed(BODY, x_shopify_hmac_sha256=signature), shop())


def test_a_missing_header_is_named() -> None:
    with pytest.raises(NotAuthentic, match="the header X-Shopify-Hmac-Sha256 is missing"):
        authenticate(signed(BODY, x_shopify_hmac_sha256=None), shop())
    with pytest.raises(NotAuthentic, match="the header X-Shopify-Shop-Domain is missing"):
        authenticate(signed(BODY, x_shopify_shop_domain=None), shop())


def test_a_signed_delivery_of_another_shop_is_not_this_shops() -> None:
    """One app's secret is the same for all its shops, so the signature alone does not tell them apart."""
    with pytest.raises(NotAuthentic, match=r"of the shop 'other\.myshopify\.com', the connection is of 'acme-verify"):
        authenticate(signed(BODY, x_shopify_shop_domain="other.myshopify.com"), shop())


@pytest.mark.parametrize("domain", [SHOP, SHOP.upper(), "Acme-Verify.myshopify.com"])
def test_a_shops_domain_may_be_written_in_any_case(domain: str) -> None:
    authenticate(signed(BODY, x_shopify_shop_domain=domain), shop())


@pytest.mark.parametrize("domain", ["", f"{SHOP}.evil.test", f"evil.{SHOP}", SHOP[:-1]])
def test_a_domain_that_is_only_like_the_shops_is_another(domain: str) -> None:
    with pytest.raises(NotAuthentic):
        authenticate(signed(BODY, x_shopify_shop_domain=domain), shop())


def test_a_trusted_gateway_needs_no_signature_but_the_right_shop() -> None:
    trusted = shop(webhook_auth="trusted")
    authenticate(signed(BODY, x_shopify_hmac_sha256=None), trusted)
    with pytest.raises(NotAuthentic):
        authenticate(signed(BODY, x_shopify_shop_domain="other.myshopify.com"), trusted)


def test_a_refusal_never_shows_a_secret_or_the_right_signature() -> None:
    right = base64.b64encode(hmac.digest(SECRET.encode(), BODY, hashlib.sha256)).decode()
    with pytest.raises(NotAuthentic) as caught:
        authenticate(signed(BODY, "other"), shop())
    assert SECRET not in str(caught.value)
    assert right not in str(caught.value)


# -- tests that the store's admin sends


@pytest.mark.parametrize("value", ["true", "TRUE", "True", " true ", "1", "yes", ""])
def test_a_test_is_authentic_and_never_evidence(value: str) -> None:
    delivery = signed(body(), x_shopify_test=value)
    authenticate(delivery, shop())
    with pytest.raises(DeliveryError) as caught:
        events(delivery)
    assert caught.value.class_ == "test_delivery"
    with pytest.raises(DeliveryError):
        events(signed(body(kind="refund"), x_shopify_topic="order_transactions/create", x_shopify_test=value))


@pytest.mark.parametrize("value", [None, "false", "False"])
def test_a_real_delivery_may_say_that_it_is_no_test(value: str | None) -> None:
    assert events(signed(body(), x_shopify_test=value)) == events(signed(body()))


def test_a_forged_test_is_a_forgery() -> None:
    with pytest.raises(NotAuthentic):
        authenticate(signed(BODY, "other", x_shopify_test="true"), shop())


# -- events


@pytest.mark.parametrize(
    ("topic", "type_"),
    [
        ("refunds/create", "REFUNDS_CREATE"),
        ("REFUNDS/CREATE", "REFUNDS_CREATE"),
        ("orders/updated", "ORDERS_UPDATED"),
        ("order_transactions/create", "ORDER_TRANSACTIONS_CREATE"),
        ("app/uninstalled", "APP_UNINSTALLED"),
    ],
)
def test_a_topic_is_named_as_the_subscription_topic_is(topic: str, type_: str) -> None:
    assert event_type(signed(BODY, x_shopify_topic=topic), {}) == type_


@pytest.mark.parametrize("topic", [None, ""])
def test_a_delivery_without_a_topic_is_malformed(topic: str | None) -> None:
    with pytest.raises(DeliveryError, match="the header X-Shopify-Topic is missing") as caught:
        event_type(signed(BODY, x_shopify_topic=topic), {})
    assert caught.value.class_ == "malformed_delivery"


@pytest.mark.parametrize(
    ("name", "number", "order", "born"),
    [
        ("refunds_create", 1900000000001, ORDER, "2026-03-12T11:42:18-04:00"),
        ("old_refund_delivered_late", 1899999999001, ORDER, "2026-03-12T08:00:00-04:00"),
        ("zero_amount_refund", 1900000000003, ORDER, "2026-03-12T11:42:25-04:00"),
        ("big_ids", 890088186047892319, "gid://shopify/Order/820982911946154508", "2026-03-12T11:42:18-04:00"),
    ],
)
def test_each_recorded_delivery_names_its_refund_its_order_and_its_birth(
    name: str, number: int, order: str, born: str
) -> None:
    delivery = recorded(name)
    refund = f"gid://shopify/Refund/{number}"
    assert events(delivery) == [
        Event(
            id=delivery.headers["x-shopify-event-id"],
            type="REFUNDS_CREATE",
            resource_id=refund,
            created_at=born,
            identifiers={"refund_id": refund, "order_id": order},
        )
    ]


def test_two_subscriptions_tell_of_one_refund() -> None:
    one, other = recorded("refunds_create"), recorded("refunds_create_dupsubscription", "refunds_create")
    assert one.headers["x-shopify-webhook-id"] != other.headers["x-shopify-webhook-id"]
    assert events(one) == events(other)


def test_without_a_global_id_the_number_names_the_refund() -> None:
    (event,) = events(signed(body(id=7)))
    assert event.resource_id == "gid://shopify/Refund/7"


@pytest.mark.parametrize(
    "global_id",
    [
        "gid://shopify/Refund/2",
        "gid://shopify/Refund/1 ",
        "gid://shopify/Order/1",
        "gid://shopify/OrderTransaction/1",
        "1",
        1,
        ["gid://shopify/Refund/1"],
        {"id": 1},
    ],
)
def test_ids_that_disagree_are_distrusted_together(global_id: Any) -> None:
    with pytest.raises(DeliveryError) as caught:
        events(signed(body(admin_graphql_api_id=global_id)))
    assert caught.value.class_ == "identifiers_disagree"


def test_numbers_that_javascript_has_rounded_are_distrusted() -> None:
    rounded = sample("shopify_webhook_big_ids.body").replace(b"890088186047892319,", b"890088186047892400,", 1)
    with pytest.raises(DeliveryError, match="890088186047892400 and admin_graphql_api_id"):
        events(signed(rounded))


def test_a_signed_delivery_of_another_topic_cannot_pass_for_a_refund() -> None:
    """The topic is a header, and the signature does not cover headers."""
    order = body(id=69, admin_graphql_api_id="gid://shopify/Order/69")
    with pytest.raises(DeliveryError):
        events(signed(order, x_shopify_topic="refunds/create"))


@pytest.mark.parametrize("name", ["id", "order_id"])
@pytest.mark.parametrize("value", [..., None, "1", 1.0, True, 0, -1, 2**63, 2**64, [], {}, "x" * 10])
def test_an_id_that_is_no_exact_number_is_malformed(name: str, value: Any) -> None:
    document = json.loads(body(**{name: value}))
    with pytest.raises(DeliveryError, match=f"^{name} is no whole positive number") as caught:
        normalise(signed(BODY), document)
    assert caught.value.class_ == "malformed_delivery"


def test_a_number_of_63_bits_stays_exact() -> None:
    (event,) = events(signed(body(order_id=2**63 - 1)))
    assert event.identifiers["order_id"] == "gid://shopify/Order/9223372036854775807"


@pytest.mark.parametrize(
    ("value", "class_"),
    [
        (..., "malformed_delivery"),
        (None, "malformed_delivery"),
        (1773330138, "malformed_delivery"),
        ([], "malformed_delivery"),
        ("", "impossible_date"),
        ("yesterday", "impossible_date"),
        ("2026-13-12T11:42:18-04:00", "impossible_date"),
        ("2026-03-12T11:42:18", "impossible_date"),
    ],
)
def test_a_birth_that_cannot_be_is_refused_by_name(value: Any, class_: str) -> None:
    with pytest.raises(DeliveryError, match=r"^created_at") as caught:
        events(signed(body(created_at=value)))
    assert caught.value.class_ == class_


def test_the_event_is_named_by_the_event_id_then_by_the_webhook_id() -> None:
    assert events(signed(body()))[0].id == "event-1"
    assert events(signed(body(), x_shopify_event_id=None))[0].id == "webhook-1"
    assert events(signed(body(), x_shopify_event_id=None, x_shopify_webhook_id=None))[0].id == ""


def test_events_carry_what_the_catalogue_is_told_they_carry() -> None:
    carried = carried_identifiers("shopify")
    assert carried == {
        "REFUNDS_CREATE": frozenset({"refund_id", "order_id"}),
        "ORDER_TRANSACTIONS_CREATE": frozenset({"transaction_id", "order_id"}),
    }
    assert events(signed(body()))[0].identifiers.keys() == carried["REFUNDS_CREATE"]
    assert transaction()[0].identifiers.keys() == carried["ORDER_TRANSACTIONS_CREATE"]


def transaction(**changes: Any) -> list[Event]:
    return events(
        signed(body(**({"kind": "refund", "status": "success"} | changes)), x_shopify_topic="order_transactions/create")
    )


def test_a_transaction_that_refunds_names_itself_its_order_and_its_own_birth() -> None:
    (event,) = transaction(admin_graphql_api_id="gid://shopify/OrderTransaction/1")
    assert (event.type, event.resource_id) == ("ORDER_TRANSACTIONS_CREATE", "gid://shopify/OrderTransaction/1")
    assert event.identifiers == {"transaction_id": event.resource_id, "order_id": "gid://shopify/Order/69"}
    assert event.created_at == "2026-03-12T11:42:18-04:00"


@pytest.mark.parametrize("kind", ["sale", "capture", "authorization", "void", "change", "Refund", ""])
def test_a_transaction_of_another_kind_is_no_event_for_us(kind: str) -> None:
    assert transaction(kind=kind) == []


@pytest.mark.parametrize(
    ("changes", "class_"),
    [
        ({"kind": None}, "malformed_delivery"),
        ({"kind": ...}, "malformed_delivery"),
        ({"order_id": None}, "malformed_delivery"),
        ({"admin_graphql_api_id": "gid://shopify/Refund/1"}, "identifiers_disagree"),
        ({"admin_graphql_api_id": "gid://shopify/OrderTransaction/2"}, "identifiers_disagree"),
    ],
)
def test_a_transaction_that_cannot_be_told_is_refused(changes: dict[str, Any], class_: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        transaction(**changes)
    assert caught.value.class_ == class_


def test_the_registry_knows_both_providers_and_no_other() -> None:
    assert sorted(providers()) == ["paypal", "shopify"]
    assert carried_identifiers("stripe") is None
