"""The simulated shop as the project's own verifier and intake see it."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from contracts.catalogue import Catalogue
from streams.simulation import shopify
from streams.simulation.faults import HTML_ERROR, Answers, Cuts, Fault, Hangs
from streams.simulation.server import serve
from verifiers.events import NotAuthentic
from verifiers.providers import shopify as provider

SHOP = "acme-verify.myshopify.com"
SECRET = "a test's secret"
CONNECTION = {
    "id": "acme",
    "provider": "shopify",
    "shop": SHOP,
    "credentials": {"access_token": "shpat_test"},
    "webhook_auth": {"hmac_secrets": [SECRET]},
}
REFUND = shopify.Refund(1900000000001, 6900000000001, "42.50", datetime(2026, 3, 12, 15, 42, 18, 900_000, tzinfo=UTC))
RESULT = "$observed.refund_readback.data.refund"


@pytest.fixture
def shop() -> shopify.Book:
    return shopify.Book()


@pytest.fixture
def read(reader: Callable[..., Any], shop: shopify.Book) -> Any:
    return reader(CONNECTION, "shopify.refund.created", shopify.create_app(shop, access_token="shpat_test"))


async def test_a_refund_is_evidence(shop: shopify.Book, read: Any) -> None:
    shop.add(REFUND)
    answer = await read(id=REFUND.id)
    assert answer.error is None
    expected = {
        f"{RESULT}.id": "gid://shopify/Refund/1900000000001",
        f"{RESULT}.createdAt": "2026-03-12T15:42:18Z",
        f"{RESULT}.order.id": "gid://shopify/Order/6900000000001",
        f"{RESULT}.totalRefundedSet.shopMoney.amount": "42.5",
        f"{RESULT}.transactions[0].status": "SUCCESS",
    }
    assert expected.items() <= answer.values.items()
    assert answer.served_version == "2025-07"
    assert shop.requests == {"read": 1}


async def test_every_contract_of_a_shop_is_answered(shop: shopify.Book, reader: Callable[..., Any]) -> None:
    shop.add(REFUND)
    for contract in (one.id for one in Catalogue.load().contracts if one.provider == "shopify"):
        answer = await reader(CONNECTION, contract, shopify.create_app(shop, access_token="shpat_test"))(id=REFUND.id)
        assert answer.error is None, contract
    assert answer.values[f"{RESULT}.transactions[kind=REFUND].status"] == ["SUCCESS"]
    assert answer.values[f"{RESULT}.transactions[kind=REFUND].manualPaymentGateway"] == [False]


@pytest.mark.parametrize("status", ["PENDING", "FAILURE"])
async def test_the_total_counts_successful_transactions_only(
    shop: shopify.Book, read: Any, status: shopify.Status
) -> None:
    shop.add(REFUND)
    shop.add(replace(REFUND, status=status))
    values = (await read(id=REFUND.id)).values
    assert values[f"{RESULT}.totalRefundedSet.shopMoney.amount"] == "0.0"
    assert values[f"{RESULT}.transactions[0].status"] == status


@pytest.mark.parametrize(
    ("amount", "written"),
    [("42.50", "42.5"), ("15.00", "15.0"), ("7", "7.0"), ("0", "0.0"), ("1000", "1000.0"), ("0.07", "0.07")],
)
def test_amounts_have_as_few_decimals_as_the_api_gives(amount: str, written: str) -> None:
    assert shopify.minimal(amount) == written


async def test_an_unknown_refund_is_absent(read: Any) -> None:
    answer = await read(id=REFUND.id)
    assert (answer.status, answer.error) == (200, "absent")


@pytest.mark.parametrize("identity", ["1900000000001", "gid://shopify/Order/1"])
async def test_an_id_of_something_else_is_a_graphql_error(shop: shopify.Book, read: Any, identity: str) -> None:
    shop.add(REFUND)
    answer = await read(id=identity)
    assert (answer.status, answer.error) == (200, "graphql_errors")


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (HTML_ERROR, "server_error"),
        (Answers(200, b"<html>", {"Content-Type": "text/html"}), "not_json"),
        (Answers(404, b"", {}), "not_found"),
        (shopify.RATE_LIMITED, "rate_limited"),
        (shopify.THROTTLED, "throttled"),
        (shopify.ABSENT, "absent"),
    ],
)
async def test_a_fault_is_met_as_often_as_asked(shop: shopify.Book, read: Any, fault: Fault, word: str) -> None:
    shop.add(REFUND)
    shop.fail_next(fault, times=2)
    assert [(await read(id=REFUND.id)).error for _ in range(3)] == [word, word, None]
    assert shop.requests["read"] == 3


@pytest.mark.usefixtures("impatient")
async def test_a_hanging_shop_is_a_timeout(shop: shopify.Book, read: Any) -> None:
    shop.add(REFUND)
    shop.fail_next(Hangs(5))
    assert (await read(id=REFUND.id)).error == "timeout"
    assert (await read(id=REFUND.id)).error is None


async def test_a_wrong_token_is_refused(shop: shopify.Book, reader: Callable[..., Any]) -> None:
    read = reader(CONNECTION, "shopify.refund.created", shopify.create_app(shop, access_token="another"))
    shop.add(REFUND)
    answer = await read(id=REFUND.id)
    assert (answer.status, answer.error) == (401, "unauthorized")


async def test_a_throttled_answer_names_its_version_too(shop: shopify.Book, read: Any) -> None:
    shop.fail_next(shopify.THROTTLED)
    assert (await read(id=REFUND.id)).served_version == "2025-07"


async def test_a_retired_version_falls_forward(shop: shopify.Book, reader: Callable[..., Any]) -> None:
    app = shopify.create_app(shop, access_token="shpat_test", served_version="2025-10")
    shop.add(REFUND)
    assert (await reader(CONNECTION, "shopify.refund.created", app)(id=REFUND.id)).served_version == "2025-10"


async def test_only_what_the_query_selects_comes_back(shop: shopify.Book) -> None:
    shop.add(REFUND)
    transport = httpx.ASGITransport(shopify.create_app(shop, access_token="t"))

    async def ask(query: str) -> Any:
        body = {"query": query, "variables": {"id": REFUND.id}}
        answer = await client.post("/admin/api/2025-07/graphql.json", json=body)
        return answer.json()

    async with httpx.AsyncClient(
        transport=transport, base_url="http://shop", headers={"X-Shopify-Access-Token": "t"}
    ) as client:
        query = "query Q($id: ID!) { refund(id: $id) { id transactions(first: 1) { nodes { status } } } }"
        assert (await ask(query))["data"] == {
            "refund": {"id": REFUND.id, "transactions": {"nodes": [{"status": "SUCCESS"}]}}
        }
        assert "total" in (await ask("{ refund(id: $id) { id total } }"))["errors"][0]["message"]


async def test_over_http_it_hangs_cuts_and_stops_cleanly(
    shop: shopify.Book, reader: Callable[..., Any], impatient: None
) -> None:
    shop.add(REFUND)
    shop.fail_next(Cuts())
    async with serve(shopify.create_app(shop, access_token="shpat_test")) as url:
        assert url.startswith("http://127.0.0.1:")
        read = reader({**CONNECTION, "base_url": url}, "shopify.refund.created")
        assert (await read(id=REFUND.id)).error == "connection_failed"
        assert (await read(id=REFUND.id)).error is None
        shop.fail_next(Hangs(60))
        assert (await read(id=REFUND.id)).error == "timeout"
    assert (await read(id=REFUND.id)).error == "connection_failed"


async def test_a_server_that_nobody_asked_stops_at_once(shop: shopify.Book) -> None:
    async with asyncio.timeout(1), serve(shopify.create_app(shop, access_token="t")):
        pass
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_a_signed_delivery_is_authentic_and_names_the_refund() -> None:
    request = shopify.refund_created(REFUND, shop=SHOP, secret=SECRET, sent_at=REFUND.created_at)
    delivery = request.delivery("acme")
    provider.authenticate(delivery, _connection())
    [event] = provider.normalise(delivery, json.loads(request.body))
    assert event.type == "REFUNDS_CREATE"
    assert event.resource_id == REFUND.id
    assert event.created_at == "2026-03-12T11:42:18-04:00"
    assert event.identifiers == {"refund_id": REFUND.id, "order_id": "gid://shopify/Order/6900000000001"}
    assert event.id


def test_a_delivery_is_written_as_shopify_writes_it() -> None:
    request = shopify.refund_created(REFUND, shop=SHOP, secret=SECRET, sent_at=REFUND.created_at)
    assert rb'"admin_graphql_api_id":"gid:\/\/shopify\/Refund\/1900000000001"' in request.body
    assert rb"\u003ca href=" in request.body
    assert "é".encode() in request.body
    assert request.headers["X-Shopify-Topic"] == "refunds/create"
    assert request.headers["X-Shopify-Triggered-At"] == "2026-03-12T15:42:18.900000000Z"


def test_a_refund_sent_twice_is_the_same_event() -> None:
    first, second = (
        shopify.refund_created(REFUND, shop=SHOP, secret=SECRET, sent_at=at).headers["X-Shopify-Event-Id"]
        for at in (REFUND.created_at, datetime.now(UTC))
    )
    assert first == second


def test_one_flipped_byte_is_not_authentic() -> None:
    request = shopify.refund_created(REFUND, shop=SHOP, secret=SECRET, sent_at=REFUND.created_at)
    connection = _connection()
    for position in (0, len(request.body) // 2, len(request.body) - 1):
        with pytest.raises(NotAuthentic):
            provider.authenticate(request.with_flipped_byte(position).delivery("acme"), connection)


def test_another_secret_is_not_authentic() -> None:
    request = shopify.refund_created(REFUND, shop=SHOP, secret="another", sent_at=REFUND.created_at)
    with pytest.raises(NotAuthentic):
        provider.authenticate(request.delivery("acme"), _connection())


def _connection() -> provider.ShopifyConnection:
    return provider.ShopifyConnection.model_validate(CONNECTION, context={"inline_secrets": True})
