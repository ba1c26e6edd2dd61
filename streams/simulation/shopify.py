"""A simulated shop: its Admin GraphQL API, as far as refunds are read, and its signed deliveries.

Sources: the Admin GraphQL API of 2025-07, Shopify's pages on webhooks, and recorded answers and deliveries.
"""

import base64
import hashlib
import hmac
import json
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, Literal

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from streams.simulation import book
from streams.simulation.faults import Answers
from streams.simulation.selection import UnknownField, parse_selection, select
from streams.simulation.times import EASTERN, local_seconds, utc_seconds
from streams.simulation.webhooks import WebhookRequest

Status = Literal["SUCCESS", "FAILURE", "PENDING", "ERROR", "AWAITING_RESPONSE", "UNKNOWN"]
API_VERSION: Final = "2025-07"

_REFUND = "gid://shopify/Refund/"
_IDS = uuid.UUID("5a0c3c0e-7a53-4f53-9d2c-8f6d0b1c7e21")
_BUCKET = {"maximumAvailable": 2000, "currentlyAvailable": 1991, "restoreRate": 100}
_COST = {"cost": {"requestedQueryCost": 9, "actualQueryCost": 9, "throttleStatus": _BUCKET}}

# Shopify throttles a query with status 200.
THROTTLED = Answers.json(
    200,
    {
        "errors": [{"message": "Throttled", "extensions": {"code": "THROTTLED"}}],
        "extensions": {
            "cost": {
                "requestedQueryCost": 12,
                "actualQueryCost": None,
                "throttleStatus": {**_BUCKET, "currentlyAvailable": 3},
            }
        },
    },
)
ABSENT = Answers.json(200, {"data": {"refund": None}, "extensions": _COST})
RATE_LIMITED = Answers.json(429, {"errors": "Exceeded 2 calls per second for api client."}, Retry_After="2.0")


@dataclass(frozen=True, slots=True)
class Refund:
    """A refund with one transaction.

    Attributes:
        number: its id as a number.
        order_number: its order's id as a number.
        amount: what its transaction is about, as decimal text.
        created_at: when the shop made it; shown in whole seconds.
        status: its transaction's status.
    """

    number: int
    order_number: int
    amount: str
    created_at: datetime
    status: Status = "SUCCESS"
    currency: str = "USD"

    @property
    def id(self) -> str:
        """The global id."""
        return f"{_REFUND}{self.number}"


class Book(book.Book[Refund]):
    """The refunds of a shop."""


def create_app(shop: Book, *, access_token: str, served_version: str | None = None) -> Starlette:
    """Build the shop's Admin API.

    Args:
        shop: the refunds that it holds.
        access_token: the token that requests must bring.
        served_version: the version that is served; the one asked for where it is None. Shopify serves a later one
            once a version is retired, and says so in a header only.

    Returns:
        The app: ``POST /admin/api/{version}/graphql.json``.
    """

    async def graphql(request: Request) -> Response:
        served = {"X-Shopify-API-Version": served_version or request.path_params["version"]}
        if (failed := await shop.begin_read()) is not None:
            failed.headers.update(served)
            return failed
        if request.headers.get("X-Shopify-Access-Token") != access_token:
            refusal = "[API] Invalid API key or access token (unrecognized login or wrong password)"
            return JSONResponse({"errors": refusal}, 401)
        return JSONResponse(_answer(shop, await request.json()), headers=served)

    return Starlette(routes=[Route("/admin/api/{version}/graphql.json", graphql, methods=["POST"])])


def _answer(shop: Book, asked: dict[str, Any]) -> dict[str, Any]:
    refund_id = asked["variables"]["id"]
    if not refund_id.startswith("gid://"):
        return _errors("INVALID_VARIABLE", "Variable $id of type ID! was provided invalid value")
    if not refund_id.startswith(_REFUND):
        return _errors("RESOURCE_NOT_FOUND", "invalid id")
    refund = shop.find(refund_id)
    if refund is None:
        return {"data": {"refund": None}, "extensions": _COST}
    try:
        data = select(parse_selection(asked["query"]), {"refund": _document(refund)})
    except UnknownField as field:
        return _errors("undefinedField", f"Field '{field}' doesn't exist")
    return {"data": data, "extensions": _COST}


def _errors(code: str, message: str) -> dict[str, Any]:
    return {"errors": [{"message": message, "extensions": {"code": code}}]}


def _document(refund: Refund) -> dict[str, Any]:
    created = utc_seconds(refund.created_at)
    # The total counts successful transactions only.
    total = refund.amount if refund.status == "SUCCESS" else "0"
    transaction = {
        "id": f"gid://shopify/OrderTransaction/{refund.number}0",
        "kind": "REFUND",
        "status": refund.status,
        "gateway": "shopify_payments",
        "manualPaymentGateway": False,
        "test": True,
        "processedAt": created,
        "errorCode": "PROCESSING_ERROR" if refund.status in ("FAILURE", "ERROR") else None,
        "amountSet": _money_bag(refund.amount, refund.currency),
    }
    return {
        "id": refund.id,
        "legacyResourceId": str(refund.number),
        "createdAt": created,
        "updatedAt": created,
        "order": {"id": f"gid://shopify/Order/{refund.order_number}"},
        "totalRefundedSet": _money_bag(total, refund.currency),
        "transactions": {"nodes": [transaction], "pageInfo": {"hasNextPage": False}},
    }


def _money_bag(amount: str, currency: str) -> dict[str, Any]:
    money = {"amount": minimal(amount), "currencyCode": currency}
    return {"shopMoney": money, "presentmentMoney": money}


def minimal(amount: str) -> str:
    """Write an amount as the Admin API does: as few decimals as it needs, but one: "42.50" is "42.5", "7" is "7.0"."""
    text = format(Decimal(amount).normalize(), "f")
    return text if "." in text else f"{text}.0"


def refund_created(refund: Refund, *, shop: str, secret: str, sent_at: datetime) -> WebhookRequest:
    """Build the signed ``refunds/create`` delivery of a refund.

    Args:
        refund: the refund, as it was when it was made.
        shop: the shop's domain.
        secret: what the shop signs with.
        sent_at: when the shop sends it.

    Returns:
        The same ids for the same refund each time: a second delivery is a repeat, whatever its bytes.
    """
    body = _wire(_webhook_document(refund))
    signature = base64.b64encode(hmac.digest(secret.encode(), body, hashlib.sha256)).decode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Shopify-Captain-Hook",
        "X-Shopify-Topic": "refunds/create",
        "X-Shopify-Hmac-Sha256": signature,
        "X-Shopify-Shop-Domain": shop,
        "X-Shopify-API-Version": API_VERSION,
        "X-Shopify-Webhook-Id": str(uuid.uuid5(_IDS, f"webhook {shop} {refund.id}")),
        "X-Shopify-Event-Id": str(uuid.uuid5(_IDS, f"event {shop} {refund.id}")),
        "X-Shopify-Triggered-At": sent_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z"),
    }
    return WebhookRequest(headers, body)


def _wire(document: dict[str, Any]) -> bytes:
    r"""Write JSON as Shopify does: compact, raw UTF-8, but ``\/`` and ``\u003c`` for what HTML might take amiss."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    for plain, escaped in (("/", r"\/"), ("<", r"\u003c"), (">", r"\u003e"), ("&", r"\u0026")):
        text = text.replace(plain, escaped)
    return text.encode()


def _webhook_document(refund: Refund) -> dict[str, Any]:
    created = local_seconds(refund.created_at, EASTERN)
    nothing = {"amount": "0.00", "currency_code": refund.currency}
    transaction = {
        "id": refund.number * 10,
        "order_id": refund.order_number,
        "kind": "refund",
        "gateway": "shopify_payments",
        "status": refund.status.lower(),
        "message": 'Refund submitted. Learn more about <a href="https://help.shopify.com/en/manual">refunds</a>.',
        "created_at": created,
        "test": True,
        "processed_at": created,
        "error_code": None,
        "amount": f"{Decimal(refund.amount):.2f}",
        "currency": refund.currency,
        "admin_graphql_api_id": f"gid://shopify/OrderTransaction/{refund.number}0",
    }
    return {
        "id": refund.number,
        "order_id": refund.order_number,
        "created_at": created,
        "note": "Café table, returned",
        "user_id": None,
        "processed_at": created,
        "duties": [],
        "total_duties_set": {"shop_money": nothing, "presentment_money": nothing},
        "return": None,
        "restock": False,
        "refund_shipping_lines": [],
        "admin_graphql_api_id": refund.id,
        "order_adjustments": [],
        "refund_line_items": [],
        "transactions": [transaction],
    }
