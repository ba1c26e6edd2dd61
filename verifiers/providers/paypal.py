"""PayPal: the Payments API v2 and its webhooks.

Sources: PayPal's OpenAPI documents of the Payments API and of webhooks, and recorded sandbox deliveries.
"""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Literal

import httpx

from verifiers.connection import Connection, ConnectionPart, Secret
from verifiers.events import Delivery, DeliveryError, Event
from verifiers.providers import Provider, checked_instant
from verifiers.reads import Unauthorised

# A link to a capture, by its path: the host and what follows the path make no difference.
_CAPTURE_LINK = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?://(?:\[[^\]/?#\s]*\]|[^/?#\s\[\]])*)?/v2/payments/captures/([^/?#\s]+)(?:\?[^#]*)?(?:#.*)?"
)
_RENEW_BEFORE_S = 60.0
_LONGEST_LIFE_S = 86_400.0
_UNAUTHORIZED = 401


class Credentials(ConnectionPart):
    """What a read of an account needs: the app's client id and secret."""

    client_id: Secret
    client_secret: Secret


class PayPalConnection(Connection):
    """One PayPal account. Its deliveries must come from a gateway that has verified them."""

    provider: Literal["paypal"]
    credentials: Credentials | None = None
    webhook_auth: Literal["trusted"]

    def default_base_url(self) -> str | None:
        """Use the live API unless the connection says otherwise."""
        return "https://api-m.paypal.com"


class ClientCredentials(httpx.Auth):
    """OAuth 2 client credentials: one token for all reads, kept as long as PayPal says, refreshed once on a 401."""

    def __init__(self, base_url: str, credentials: Credentials, now: Callable[[], float] = time.monotonic) -> None:
        self._token_url = f"{base_url}/v1/oauth2/token"
        self._credentials = credentials
        self._now = now
        self._token: str | None = None
        self._good_until = 0.0
        self._lock = asyncio.Lock()

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Send a read with the token; get one first where there is none, and once more where it is refused."""
        async with self._lock:
            if self._token is None or self._now() >= self._good_until:
                await self._keep((yield self._token_request()))
        used = self._token
        request.headers["Authorization"] = f"Bearer {used}"
        response = yield request
        if response.status_code != _UNAUTHORIZED:
            return
        async with self._lock:
            if self._token in (used, None):  # else another read has refreshed it meanwhile
                await self._keep((yield self._token_request()))
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request

    def _token_request(self) -> httpx.Request:
        basic = httpx.BasicAuth(
            self._credentials.client_id.get_secret_value(), self._credentials.client_secret.get_secret_value()
        )
        request = httpx.Request("POST", self._token_url, data={"grant_type": "client_credentials"})
        return next(basic.auth_flow(request))

    async def _keep(self, response: httpx.Response) -> None:
        """Keep the token of an answer. PayPal hands out a cached token with the rest of its life in expires_in."""
        self._token = None
        try:
            await response.aread()  # reads are streamed, and so are the requests made on their way
            body = response.json() if response.is_success else {}
            life = min(float(body["expires_in"]), _LONGEST_LIFE_S)
            self._good_until = self._now() + max(0.0, life - _RENEW_BEFORE_S)
            self._token = _text(body["access_token"])
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise Unauthorised(f"PayPal's token endpoint answered {response.status_code} without a token") from error


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError("no text")
    return value


def authorise(connection: Connection) -> httpx.Auth | None:
    """Authorise reads by the app's client credentials."""
    assert isinstance(connection, PayPalConnection)  # noqa: S101 - the registry pairs the two
    return ClientCredentials(connection.url, connection.credentials) if connection.credentials else None


def authenticate(delivery: Delivery, connection: Connection) -> None:
    """Accept a delivery that a trusted gateway has verified; nothing else can be configured."""


def event_type(delivery: Delivery, document: Mapping[str, Any]) -> str:
    """Return the envelope's event type, its envelope checked.

    Raises:
        DeliveryError: there is none, or the envelope's date is impossible (PayPal's own simulator has sent a month 19).
    """
    name = document.get("event_type")
    if not isinstance(name, str) or not name:
        raise DeliveryError("malformed_delivery", "event_type is missing from the body")
    if "create_time" in document:
        checked_instant(document, "create_time")
    return name


def normalise(delivery: Delivery, document: Mapping[str, Any]) -> list[Event]:
    """Read a ``PAYMENT.CAPTURE.REFUNDED`` body: the refund, its capture, its birth.

    Raises:
        DeliveryError: an identifier is missing, or a date is impossible.
    """
    resource = document.get("resource")
    if not isinstance(resource, Mapping):
        raise DeliveryError("malformed_delivery", "resource is missing from the body")
    refund_id = resource.get("id")
    if not isinstance(refund_id, str) or not refund_id:
        raise DeliveryError("malformed_delivery", "resource.id is missing from the body")
    identifiers = {"refund_id": refund_id}
    if (capture_id := _capture_id(resource)) is not None:
        identifiers["capture_id"] = capture_id
    return [
        Event(
            id=str(document.get("id", "")),
            type=event_type(delivery, document),
            resource_id=refund_id,
            created_at=checked_instant(resource, "create_time", "resource.create_time"),
            identifiers=identifiers,
        )
    ]


def _capture_id(resource: Mapping[str, Any]) -> str | None:
    """Find the capture by the path of the ``up`` link. Never by host: real events carried internal ones."""
    links = resource.get("links")
    for link in links if isinstance(links, list) else []:
        href = link.get("href") if isinstance(link, Mapping) and link.get("rel") == "up" else None
        if isinstance(href, str) and (found := _CAPTURE_LINK.fullmatch(href)):
            return found[1]
    return None


PROVIDER = Provider(
    name="paypal",
    connection=PayPalConnection,
    carried={"PAYMENT.CAPTURE.REFUNDED": frozenset({"refund_id", "capture_id"})},
    authenticate=authenticate,
    event_type=event_type,
    normalise=normalise,
    authorise=authorise,
)
