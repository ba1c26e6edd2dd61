"""Deliveries whose signature takes more than a secret, and connections that declare their provider, at the gateway."""

import asyncio
import hmac
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from gate import Kafka, consumed

from streams.gateway.app import create_app
from streams.gateway.settings import GatewaySettings
from streams.intake import _headers
from streams.simulation import paypal
from streams.simulation.signing import Signer
from streams.simulation.webhooks import WebhookRequest
from verifiers import certificates as module
from verifiers.certificates import Certificates
from verifiers.connection import INLINE_SECRETS
from verifiers.connections import parse_connection

WEBHOOK = "5GP028458E2496506"
SECRET = "whsec_test_secret_do_not_use"
SIGNER = Signer()
REFUND = paypal.Refund("8REF00001TEST001A", "7CAP00001TEST001A", "60.00", datetime(2026, 3, 12, 15, 42, 18, tzinfo=UTC))
STRIPE = {
    "id": "stripe",
    "provider": "stripe",
    "webhook_auth": {
        "hmac": {
            "header": "Stripe-Signature",
            "field": "v1",
            "timestamp": {"field": "t"},
            "encoding": "hex",
            "secrets": [SECRET],
        }
    },
    "events": {
        "type": "type",
        "types": {
            "refund.created": {
                "resource": "data.object.id",
                "created": {"path": "data.object.created", "form": "unix_s"},
                "identifiers": {"refund_id": "data.object.id"},
            }
        },
    },
}
ACCOUNTS = [
    {
        "id": "pinned",
        "provider": "paypal",
        "webhook_auth": {"webhook_id": WEBHOOK, "certificates": {SIGNER.url: SIGNER.certificate}},
    },
    {"id": "fetched", "provider": "paypal", "webhook_auth": {"webhook_id": WEBHOOK}},
    STRIPE,
]
CONNECTIONS = {str(one["id"]): parse_connection(one, "tests", INLINE_SECRETS) for one in ACCOUNTS}


class Gateway:
    """The app, the Kafka behind it, and what PayPal answers to who asks for a certificate."""

    def __init__(self, answer: Any, **settings: Any) -> None:
        self.kafka = Kafka()
        self.asked: list[str] = []

        async def asked(request: httpx.Request) -> httpx.Response:
            self.asked.append(str(request.url))
            return await answer(request) if asyncio.iscoroutinefunction(answer) else answer

        certificates = Certificates(httpx.MockTransport(asked))
        made = GatewaySettings(_env_file=None, **settings)
        self.app: Any = create_app(made, CONNECTIONS, self.kafka, certificates)  # type: ignore[arg-type]

    async def deliver(self, request: WebhookRequest, to: str) -> httpx.Response:
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
            return await client.post(f"/webhooks/{to}", content=request.body, headers=dict(request.headers))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSES_S", (0.0, 0.0))


NOT_FOUND = httpx.Response(404)


def sent(ago: timedelta = timedelta(seconds=1), webhook_id: str = WEBHOOK) -> WebhookRequest:
    return paypal.capture_refunded(REFUND, webhook_id=webhook_id, sent_at=datetime.now(UTC) - ago, signer=SIGNER)


async def test_a_delivery_that_paypal_has_signed_is_taken() -> None:
    gateway = Gateway(NOT_FOUND)
    request = sent()
    assert (await gateway.deliver(request, "pinned")).status_code == 200
    ((value, headers),) = gateway.kafka.records
    assert value == request.body
    stored = _headers(consumed(value, headers))  # type: ignore[arg-type]
    assert stored["paypal-transmission-sig"] == request.headers["PAYPAL-TRANSMISSION-SIG"]
    assert gateway.asked == []


@pytest.mark.parametrize(
    "request_",
    [sent().with_flipped_byte(5), sent(webhook_id="ANOTHER"), sent(timedelta(days=4)), sent(timedelta(hours=-1))],
    ids=["changed", "for another webhook", "days old", "from the future"],
)
async def test_what_paypal_has_not_signed_for_us_now_is_refused(request_: WebhookRequest) -> None:
    gateway = Gateway(NOT_FOUND)
    answer = await gateway.deliver(request_, "pinned")
    assert (answer.status_code, answer.json()["type"]) == (401, "urn:proofstream:problem:not_authentic")
    assert gateway.kafka.records == []


@pytest.mark.parametrize("answer", [NOT_FOUND, httpx.Response(503), httpx.Response(200, content=b"<html>")])
async def test_a_certificate_that_cannot_be_had_is_a_reason_to_come_again(answer: httpx.Response) -> None:
    gateway = Gateway(answer)
    refused = await gateway.deliver(sent(), "fetched")
    assert (refused.status_code, refused.json()["type"]) == (503, "urn:proofstream:problem:certificate_unavailable")
    assert refused.headers["retry-after"]
    assert gateway.asked[0] == SIGNER.url
    assert gateway.kafka.records == []
    assert SIGNER.url not in refused.text


async def test_a_certificate_that_does_not_come_holds_up_nobody_for_longer_than_the_answer_may_take() -> None:
    async def hang(_: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    gateway = Gateway(hang, answer_within_s=0.2)
    started = time.perf_counter()
    answers = await asyncio.gather(*(gateway.deliver(sent(), "fetched") for _ in range(5)))
    assert {one.status_code for one in answers} == {503}
    assert time.perf_counter() - started < 2
    assert len(gateway.asked) == 1


async def test_a_certificate_of_a_stranger_is_refused_although_it_came_from_the_right_place() -> None:
    gateway = Gateway(httpx.Response(200, content=SIGNER.certificate.encode()))
    assert (await gateway.deliver(sent(), "fetched")).status_code == 401


async def test_a_forged_address_is_never_asked() -> None:
    gateway = Gateway(NOT_FOUND)
    request = sent()
    forged = WebhookRequest({**request.headers, "PAYPAL-CERT-URL": "https://evil.test/CERT-1"}, request.body)
    assert (await gateway.deliver(forged, "fetched")).status_code == 401
    assert gateway.asked == []


async def test_a_connection_may_declare_its_provider() -> None:
    gateway = Gateway(NOT_FOUND)
    body, sent_s = b'{"id": "evt_1", "type": "refund.created"}', int(time.time())
    signature = hmac.digest(SECRET.encode(), f"{sent_s}.".encode() + body, "sha256").hex()
    good = WebhookRequest({"Stripe-Signature": f"t={sent_s},v1={signature}"}, body)
    old = WebhookRequest({"Stripe-Signature": f"t={sent_s - 600},v1={signature}"}, body)
    answers = [await gateway.deliver(one, "stripe") for one in (good, good.with_flipped_byte(1), old)]
    assert [one.status_code for one in answers] == [200, 401, 401]
    assert len(gateway.kafka.records) == 1
