"""A simulated PayPal: its tokens, its refunds, and its deliveries.

Sources: PayPal's OpenAPI documents of the Payments API and of webhooks, and recorded sandbox answers and deliveries.
"""

import base64
import hashlib
import json
import secrets
import uuid
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from streams.simulation import book
from streams.simulation.faults import Answers
from streams.simulation.signing import Signer
from streams.simulation.times import PACIFIC, local_seconds, utc_seconds
from streams.simulation.webhooks import WebhookRequest

Status = Literal["COMPLETED", "PENDING", "FAILED", "CANCELLED"]
TOKEN_LIFE_S: Final = 32_400

_API = "https://api.sandbox.paypal.com"
_NO_CERTIFICATE = f"{_API}/v1/notifications/certs/CERT-00000000-00000000-00000000"
_IDS = uuid.UUID("0d3b6f0e-2f0a-4b52-8a54-5d6c7b8a9f10")
_NO_CREDENTIALS = "Authentication failed due to missing authorization header, or invalid authentication credentials."


def _error(name: str, message: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "message": message, "debug_id": "0000000000f01", "links": [], **more}


RATE_LIMITED = Answers.json(
    429, _error("RATE_LIMIT_REACHED", "Too many requests. Blocked due to rate limiting."), Retry_After="1"
)
NOT_FOUND = Answers.json(404, _error("RESOURCE_NOT_FOUND", "The specified resource does not exist."))


@dataclass(frozen=True, slots=True)
class Refund:
    """A refund of a captured payment.

    Attributes:
        id: its id.
        capture_id: the captured payment's id.
        amount: the amount, as decimal text, written exactly as PayPal is to write it.
        created_at: when PayPal made it; shown in whole seconds.
    """

    id: str
    capture_id: str
    amount: str
    created_at: datetime
    status: Status = "COMPLETED"
    currency: str = "USD"


class Book(book.Book[Refund]):
    """The refunds of an account, and the tokens that are good."""

    def __init__(self) -> None:
        super().__init__()
        self._tokens: set[str] = set()

    def issue_token(self) -> str:
        """Count a request for a token, and issue one."""
        self.requests["token"] += 1
        token = f"A21{secrets.token_urlsafe(24)}"
        self._tokens.add(token)
        return token

    def accepts(self, token: str) -> bool:
        """Tell whether a token is good."""
        return token in self._tokens

    def revoke_tokens(self) -> None:
        """Forget every token, as PayPal may do before their time."""
        self._tokens.clear()


def create_app(account: Book, *, client_id: str, client_secret: str) -> Starlette:
    """Build the account's API.

    Args:
        account: the refunds that it holds.
        client_id: the app's id, which tokens are given for.
        client_secret: the app's secret.

    Returns:
        The app: ``POST /v1/oauth2/token`` and ``GET /v2/payments/refunds/{refund_id}``.
    """
    basic = "Basic " + base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()

    async def token(request: Request) -> Response:
        if request.headers.get("Authorization") != basic:
            problem = {"error": "invalid_client", "error_description": "Client Authentication failed"}
            return JSONResponse(problem, 401)
        if parse_qs((await request.body()).decode()).get("grant_type") != ["client_credentials"]:
            problem = {"error": "unsupported_grant_type", "error_description": "Grant Type is NULL"}
            return JSONResponse(problem, 400)
        return JSONResponse(
            {
                "scope": "https://uri.paypal.com/services/payments/refund",
                "access_token": account.issue_token(),
                "token_type": "Bearer",
                "app_id": "APP-TEST0000000000001",
                "expires_in": TOKEN_LIFE_S,
            }
        )

    async def refund(request: Request) -> Response:
        if (failed := await account.begin_read()) is not None:
            return failed
        scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer":
            return JSONResponse(_error("AUTHENTICATION_FAILURE", _NO_CREDENTIALS), 401)
        if not account.accepts(bearer):
            problem = {"error": "invalid_token", "error_description": "Access Token not found in cache"}
            return JSONResponse(problem, 401)
        refund_id = request.path_params["refund_id"]
        found = account.find(refund_id)
        return JSONResponse(_document(found)) if found is not None else _not_found(refund_id)

    return Starlette(
        routes=[
            Route("/v1/oauth2/token", token, methods=["POST"]),
            Route("/v2/payments/refunds/{refund_id}", refund, methods=["GET"]),
        ]
    )


def _not_found(refund_id: str) -> Response:
    detail = {
        "issue": "INVALID_RESOURCE_ID",
        "field": "refund_id",
        "value": refund_id,
        "location": "path",
        "description": "Specified resource ID does not exist. Please check the resource ID and try again.",
    }
    problem = _error("RESOURCE_NOT_FOUND", "The specified resource does not exist.", details=[detail])
    return JSONResponse(problem, 404)


def _document(refund: Refund) -> dict[str, Any]:
    money = {"currency_code": refund.currency, "value": refund.amount}
    created = local_seconds(refund.created_at, PACIFIC)
    return {
        "id": refund.id,
        "amount": money,
        "seller_payable_breakdown": {"gross_amount": money, "net_amount": money, "total_refunded_amount": money},
        "status": refund.status,
        "create_time": created,
        "update_time": created,
        "links": [
            _link(f"/v2/payments/refunds/{refund.id}", "self", "GET"),
            _link(f"/v2/payments/captures/{refund.capture_id}", "up", "GET"),
        ],
    }


def _link(path: str, rel: str, method: str) -> dict[str, str]:
    return {"href": _API + path, "rel": rel, "method": method}


def capture_refunded(
    refund: Refund, *, webhook_id: str, sent_at: datetime, signer: Signer | None = None
) -> WebhookRequest:
    """Build the ``PAYMENT.CAPTURE.REFUNDED`` delivery of a refund.

    Args:
        refund: the refund.
        webhook_id: the id of the subscription.
        sent_at: when PayPal sends it.
        signer: the simulated PayPal's key. Without one the signature has the real one's place but not its worth, as
            for a gateway that has verified the delivery.

    Returns:
        The same event id for the same refund each time, a transmission id of its own for each time of sending.
    """
    event_id = _event_id(refund)
    path = f"/v1/notifications/webhooks-events/{event_id}"
    event = {
        "id": event_id,
        "event_version": "1.0",
        "create_time": sent_at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "resource_type": "refund",
        "resource_version": "2.0",
        "event_type": "PAYMENT.CAPTURE.REFUNDED",
        "summary": f"A $ {refund.amount} {refund.currency} capture payment was refunded",
        "resource": _document(refund),
        "links": [_link(path, "self", "GET"), _link(f"{path}/resend", "resend", "POST")],
    }
    body = json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()
    sent = utc_seconds(sent_at)
    transmission_id = str(uuid.uuid5(_IDS, f"{event_id} {sent_at.isoformat()}"))
    signed = f"{transmission_id}|{sent}|{webhook_id}|{zlib.crc32(body)}"
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "PayPal/AUHD-214.0-58391792",
        "PAYPAL-TRANSMISSION-ID": transmission_id,
        "PAYPAL-TRANSMISSION-TIME": sent,
        "PAYPAL-TRANSMISSION-SIG": signer.sign(signed) if signer is not None else _worthless(signed),
        "PAYPAL-CERT-URL": signer.url if signer is not None else _NO_CERTIFICATE,
        "PAYPAL-AUTH-ALGO": "SHA256withRSA",
        "PAYPAL-AUTH-VERSION": "v2",
    }
    return WebhookRequest(headers, body)


def _worthless(signed: str) -> str:
    return base64.b64encode(hashlib.sha512(signed.encode()).digest()).decode()


def _event_id(refund: Refund) -> str:
    """Name a refund's event in PayPal's form, ``WH-`` with twice 17 characters."""
    digits = hashlib.sha256(refund.id.encode()).hexdigest().upper()
    return f"WH-{digits[:17]}-{digits[17:34]}"
