"""Accounts, sample bodies and deliveries for the tests of verifiers."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx

from contracts.catalogue import Catalogue
from verifiers.connection import INLINE_SECRETS, Connection
from verifiers.connections import parse_connection
from verifiers.events import Delivery
from verifiers.http import HttpVerifier
from verifiers.reads import Answer

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
CATALOGUE = Catalogue.load()
SHOPIFY = CATALOGUE.get("shopify.refund.created")
PAYPAL = CATALOGUE.get("paypal.refund.recorded")
CHANNEL = "refund_readback"
SHOP = "acme-verify.myshopify.com"
SECRET = "test_client_secret_do_not_use"
REFUND = "gid://shopify/Refund/1900000000001"

Handler = Callable[[httpx.Request], httpx.Response]


def sample(name: str) -> bytes:
    """The bytes of a sample."""
    return (SAMPLES / name).read_bytes()


def sample_headers(name: str) -> dict[str, str]:
    """The headers of a sample delivery; one that begins with ``_`` is test data, and no header."""
    headers: dict[str, str] = json.loads(sample(name))
    return {key.lower(): value for key, value in headers.items() if not key.startswith("_")}


def shop(**changes: Any) -> Connection:
    """A Shopify shop; None drops a field."""
    return _connection(
        {
            "id": "acme",
            "provider": "shopify",
            "shop": SHOP,
            "credentials": {"access_token": "shpat_TESTTOKEN"},
            "webhook_auth": {"hmac_secrets": [SECRET]},
        },
        changes,
    )


def paypal(**changes: Any) -> Connection:
    """A PayPal account."""
    return _connection(
        {
            "id": "pay",
            "provider": "paypal",
            "base_url": "https://api-m.sandbox.paypal.com",
            "credentials": {"client_id": "client", "client_secret": "hush"},
            "webhook_auth": "trusted",
        },
        changes,
    )


def _connection(document: dict[str, Any], changes: Mapping[str, Any]) -> Connection:
    document = {name: value for name, value in (document | dict(changes)).items() if value is not None}
    return parse_connection(document, "test", INLINE_SECRETS)


def signed(body: bytes, secret: str = SECRET, **headers: str | None) -> Delivery:
    """A Shopify delivery signed with a secret; headers by their names with underscores, None drops one."""
    given: dict[str, str | None] = {
        "x-shopify-topic": "refunds/create",
        "x-shopify-shop-domain": SHOP,
        "x-shopify-hmac-sha256": base64.b64encode(hmac.digest(secret.encode(), body, hashlib.sha256)).decode(),
        "x-shopify-event-id": "event-1",
        "x-shopify-webhook-id": "webhook-1",
    }
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    return Delivery("acme", {name: value for name, value in given.items() if value is not None}, body)


class Streamed(httpx.AsyncByteStream):
    """A body that comes in parts, as it does over a network. ``sent`` counts the parts that were asked for."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = parts
        self.sent = 0
        self.closed = False

    async def __aiter__(self) -> Any:
        for part in self.parts:
            self.sent += 1
            yield part

    async def aclose(self) -> None:
        self.closed = True


def answer(status: int, body: bytes | str | dict[str, Any], headers: Mapping[str, str] | None = None) -> httpx.Response:
    """A response whose body is streamed, so that nothing can read it without waiting for it."""
    if isinstance(body, dict):
        body = json.dumps(body)
    content = body.encode() if isinstance(body, str) else body
    return httpx.Response(status, headers=dict(headers or {}), stream=Streamed(content))


class Provider:
    """A provider behind a mocked transport: notes each request and answers what the handler says."""

    def __init__(self, handler: Handler) -> None:
        self.requests: list[httpx.Request] = []
        self._handler = handler

    def __call__(self, request: httpx.Request) -> httpx.Response:
        # A copy, since a read that is made again is the same request with another token.
        noted = httpx.Request(request.method, request.url, headers=request.headers, content=request.content)
        self.requests.append(noted)
        return self._handler(request)

    async def read(self, connection: Connection, **inputs: str) -> Answer:
        """Read `refund_readback` of the connection's contract back once."""
        contract = SHOPIFY if connection.provider == "shopify" else PAYPAL
        async with HttpVerifier({connection.id: connection}, lambda _: httpx.MockTransport(self)) as verifier:
            return await verifier.read(connection.id, contract, CHANNEL, inputs)
