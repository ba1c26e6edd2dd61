"""Shopify: the Admin API and its webhooks.

Sources: the Admin GraphQL API of 2025-07, Shopify's pages on webhooks (verify deliveries, ignore duplicates), and
recorded deliveries of real shops.
"""

import base64
import hashlib
import hmac
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Literal

import httpx
from pydantic import Field

from verifiers.certificates import NONE_KNOWN, Known
from verifiers.connection import Connection, ConnectionPart, Secret
from verifiers.events import Delivery, DeliveryError, Event, NotAuthentic
from verifiers.provider import Provider, checked_instant

_MAX_EXACT = 2**63
_TRANSACTION = "ORDER_TRANSACTIONS_CREATE"
# Event type → what its bodies are, in words and in global ids, and how we name their ids.
_RESOURCES = {
    "REFUNDS_CREATE": ("refunds", "Refund", "refund_id"),
    _TRANSACTION: ("transactions", "OrderTransaction", "transaction_id"),
}


class Credentials(ConnectionPart):
    """What a read of a shop needs."""

    access_token: Secret


class HmacSecrets(ConnectionPart):
    """The secrets that a delivery may be signed with; any of them is good, since Shopify rotates them."""

    hmac_secrets: tuple[Secret, ...] = Field(min_length=1)


class ShopifyConnection(Connection):
    """One shop."""

    provider: Literal["shopify"]
    shop: str | None = None
    credentials: Credentials | None = None
    webhook_auth: HmacSecrets | Literal["trusted"]

    def default_base_url(self) -> str | None:
        """Derive the address of the shop's API from the shop's domain."""
        return f"https://{self.shop}" if self.shop else None


class _AccessToken(httpx.Auth):
    def __init__(self, token: Secret) -> None:
        self._token = token

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        request.headers["X-Shopify-Access-Token"] = self._token.get_secret_value()
        yield request


def authorise(connection: Connection) -> httpx.Auth | None:
    """Send the shop's access token with every read."""
    assert isinstance(connection, ShopifyConnection)  # noqa: S101 - the registry pairs the two
    return _AccessToken(connection.credentials.access_token) if connection.credentials else None


def authenticate(delivery: Delivery, connection: Connection, certificates: Known = NONE_KNOWN) -> None:
    """Check that a delivery was signed with one of the connection's secrets, for the connection's shop.

    The signature is base64 of HMAC-SHA256 over the raw body. It does not cover the headers, and one app's secret is
    the same for all shops, so the shop's domain is compared as well.

    Raises:
        NotAuthentic: with what is missing or does not match.
    """
    assert isinstance(connection, ShopifyConnection)  # noqa: S101 - the registry pairs the two
    shop = delivery.headers.get("x-shopify-shop-domain")
    if connection.shop and shop is not None and shop.lower() != connection.shop.lower():
        raise NotAuthentic(f"the delivery is of the shop {shop!r}, the connection is of {connection.shop!r}")
    if connection.webhook_auth == "trusted":
        return
    if connection.shop and shop is None:
        raise NotAuthentic("the header X-Shopify-Shop-Domain is missing")
    signature = delivery.headers.get("x-shopify-hmac-sha256")
    if signature is None:
        raise NotAuthentic("the header X-Shopify-Hmac-Sha256 is missing")
    given = signature.strip().encode()
    matches = False
    for secret in connection.webhook_auth.hmac_secrets:
        digest = hmac.digest(secret.get_secret_value().encode(), delivery.body, hashlib.sha256)
        matches |= hmac.compare_digest(base64.b64encode(digest), given)
    if not matches:
        raise NotAuthentic("X-Shopify-Hmac-Sha256 matches the body with none of the connection's secrets")


def event_type(delivery: Delivery, document: Mapping[str, Any]) -> str:
    """Name the event as WebhookSubscriptionTopic does: ``refunds/create`` is ``REFUNDS_CREATE``.

    Raises:
        DeliveryError: the topic's header is missing.
    """
    topic = delivery.headers.get("x-shopify-topic")
    if not topic:
        raise DeliveryError("malformed_delivery", "the header X-Shopify-Topic is missing")
    return topic.upper().replace("/", "_")


def normalise(delivery: Delivery, document: Mapping[str, Any]) -> list[Event]:
    """Read a ``refunds/create`` or an ``order_transactions/create`` body: the resource, its order, its birth.

    A transaction's body names no refund, so it is known by its order. Shopify sends it when the transaction is made and
    when its status changes, once that is success, failure or error.

    Returns:
        The event; none for a transaction that refunds nothing, a sale for instance.

    Raises:
        DeliveryError: it is a test, an identifier is missing, inexact or contradicts another, or the date is
            impossible.
    """
    name = event_type(delivery, document)
    if _is_test(delivery):
        raise DeliveryError(
            "test_delivery", "X-Shopify-Test says that somebody has tried the webhook out: nothing of this has happened"
        )
    things, resource, identifier = _RESOURCES[name]
    if name == _TRANSACTION:
        kind = document.get("kind")
        if not isinstance(kind, str):
            raise DeliveryError("malformed_delivery", f"kind is no text: {kind!r}")
        if kind != "refund":
            return []
    number = _number(document, "id")
    global_id = document.get("admin_graphql_api_id") or f"gid://shopify/{resource}/{number}"
    if global_id != f"gid://shopify/{resource}/{number}":
        # A gateway that went through JavaScript's numbers rounds ids above 2^53, and then order_id as well.
        raise DeliveryError(
            "identifiers_disagree",
            f"id {number} and admin_graphql_api_id {global_id!r} name different {things}: the numbers of this body"
            " cannot be trusted",
        )
    order_id = f"gid://shopify/Order/{_number(document, 'order_id')}"
    return [
        Event(
            id=delivery.headers.get("x-shopify-event-id") or delivery.headers.get("x-shopify-webhook-id") or "",
            type=name,
            resource_id=global_id,
            created_at=checked_instant(document, "created_at"),
            identifiers={identifier: global_id, "order_id": order_id},
        )
    ]


def _is_test(delivery: Delivery) -> bool:
    """Tell a test that the store's admin has sent: it is signed like any other, and about a made-up resource.

    Real deliveries have no such header, or "false". What else it might say is no reason to believe in a refund.
    """
    return delivery.headers.get("x-shopify-test", "false").strip().lower() != "false"


def _number(document: Mapping[str, Any], name: str) -> int:
    value = document.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < _MAX_EXACT:
        raise DeliveryError("malformed_delivery", f"{name} is no whole positive number: {value!r}")
    return value


PROVIDER = Provider(
    name="shopify",
    connection=ShopifyConnection,
    carried={name: frozenset({identifier, "order_id"}) for name, (*_, identifier) in _RESOURCES.items()},
    authenticate=authenticate,
    event_type=event_type,
    normalise=normalise,
    authorise=authorise,
)
