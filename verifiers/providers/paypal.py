"""PayPal: the Payments API v2 and its webhooks; what their events say is read in ``verifiers.paypal_events``.

Sources: PayPal's OpenAPI documents of the Payments API and of webhooks, and recorded sandbox deliveries.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, Final, Literal, Self
from urllib.parse import urlsplit

import httpx
from pydantic import model_validator

from verifiers import paypal_signature
from verifiers.certificates import NONE_KNOWN, Known
from verifiers.connection import Connection, ConnectionPart, Secret
from verifiers.events import Delivery
from verifiers.paypal_events import CARRIED, event_type, normalise
from verifiers.paypal_signature import PayPalSignatures
from verifiers.provider import Provider
from verifiers.reads import Unauthorised

_RENEW_BEFORE_S = 60.0
_LONGEST_LIFE_S = 86_400.0
_UNAUTHORIZED = 401
_SANDBOX_HOSTS: Final = ("api-m.sandbox.paypal.com", "api.sandbox.paypal.com")


class Credentials(ConnectionPart):
    """What a read of an account needs: the app's client id and secret."""

    client_id: Secret
    client_secret: Secret


class PayPalConnection(Connection):
    """One PayPal account, of PayPal's sandbox where its ``base_url`` says so."""

    provider: Literal["paypal"]
    credentials: Credentials | None = None
    webhook_auth: PayPalSignatures | Literal["trusted"]

    def default_base_url(self) -> str | None:
        """Use the live API unless the connection says otherwise."""
        return "https://api-m.paypal.com"

    @property
    def needs_certificates(self) -> bool:
        """Whether PayPal's signatures are checked, and not by a trusted gateway."""
        return self.webhook_auth != "trusted"

    @property
    def sandbox(self) -> bool:
        """Whether the account is one of PayPal's sandbox."""
        return urlsplit(self.url).hostname in _SANDBOX_HOSTS

    @model_validator(mode="after")
    def _check_simulator(self) -> Self:
        if isinstance(self.webhook_auth, PayPalSignatures) and self.webhook_auth.simulator and not self.sandbox:
            raise ValueError(
                f"webhook_auth.simulator: needs a base_url of PayPal's sandbox, https://{_SANDBOX_HOSTS[0]}"
            )
        return self


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


def authenticate(delivery: Delivery, connection: Connection, certificates: Known = NONE_KNOWN) -> None:
    """Check that PayPal has signed a delivery for the connection's webhook, or leave that to a trusted gateway.

    Raises:
        NotAuthentic: it has not.
        CannotTell: the certificate that it is signed with is not at hand.
    """
    assert isinstance(connection, PayPalConnection)  # noqa: S101 - the registry pairs the two
    if connection.webhook_auth != "trusted":
        paypal_signature.check(delivery, connection.webhook_auth, certificates, sandbox=connection.sandbox)


def certificate_of(delivery: Delivery, connection: Connection) -> str | None:
    """Return the address of the certificate that a delivery is signed with, if it is to be fetched."""
    assert isinstance(connection, PayPalConnection)  # noqa: S101 - the registry pairs the two
    if connection.webhook_auth == "trusted":
        return None
    return paypal_signature.certificate_of(delivery, connection.webhook_auth, sandbox=connection.sandbox)


PROVIDER = Provider(
    name="paypal",
    connection=PayPalConnection,
    carried=CARRIED,
    authenticate=authenticate,
    event_type=event_type,
    normalise=normalise,
    authorise=authorise,
    certificate_of=certificate_of,
)
