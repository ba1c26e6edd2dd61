"""The simulated PayPal as the project's own verifier and intake see it."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from streams.simulation import paypal
from streams.simulation.faults import HTML_ERROR, Answers, Cuts, Fault, Hangs
from streams.simulation.server import serve
from streams.simulation.signing import Signer
from verifiers.connection import INLINE_SECRETS
from verifiers.events import NotAuthentic
from verifiers.providers import paypal as provider

CONNECTION = {
    "id": "acme",
    "provider": "paypal",
    "base_url": "http://paypal",
    "credentials": {"client_id": "id", "client_secret": "secret"},
    "webhook_auth": "trusted",
}
REFUND = paypal.Refund(
    "8REF00001TEST001A", "7CAP00001TEST001A", "60.00", datetime(2026, 3, 12, 15, 42, 18, 900_000, tzinfo=UTC)
)
WINTER = paypal.Refund("8REF0W", "7CAP0W", "1.00", datetime(2026, 1, 15, 0, 0, tzinfo=UTC))
CONTRACT = "paypal.refund.recorded"
RESULT = "$observed.refund_readback"


@pytest.fixture
def account() -> paypal.Book:
    return paypal.Book()


@pytest.fixture
def read(reader: Callable[..., Any], account: paypal.Book) -> Any:
    return reader(CONNECTION, CONTRACT, paypal.create_app(account, client_id="id", client_secret="secret"))


async def test_a_refund_is_evidence(account: paypal.Book, read: Any) -> None:
    account.add(REFUND)
    answer = await read(refund_id=REFUND.id)
    assert answer.error is None
    expected = {
        f"{RESULT}.id": "8REF00001TEST001A",
        f"{RESULT}.amount.value": "60.00",
        f"{RESULT}.amount.currency_code": "USD",
        f"{RESULT}.create_time": "2026-03-12T08:42:18-07:00",
    }
    assert expected.items() <= answer.values.items()


async def test_winter_has_another_offset(account: paypal.Book, read: Any) -> None:
    account.add(WINTER)
    values = (await read(refund_id=WINTER.id)).values
    assert values[f"{RESULT}.create_time"] == "2026-01-14T16:00:00-08:00"


async def test_an_unknown_refund_is_not_found(read: Any) -> None:
    answer = await read(refund_id=REFUND.id)
    assert (answer.status, answer.error) == (404, "not_found")


async def test_the_token_is_fetched_once(account: paypal.Book, read: Any) -> None:
    account.add(REFUND)
    answers = await asyncio.gather(*(read(refund_id=REFUND.id) for _ in range(5)))
    assert [one.error for one in answers] == [None] * 5
    assert account.requests == {"token": 1, "read": 5}


async def test_a_revoked_token_is_refreshed_once(account: paypal.Book, read: Any) -> None:
    account.add(REFUND)
    await read(refund_id=REFUND.id)
    account.revoke_tokens()
    assert (await read(refund_id=REFUND.id)).error is None
    assert account.requests == {"token": 2, "read": 3}


async def test_a_lasting_401_is_no_evidence(account: paypal.Book, read: Any) -> None:
    account.fail_next(Answers.json(401, {"error": "invalid_token"}), times=2)
    assert (await read(refund_id=REFUND.id)).error == "unauthorized"
    assert account.requests == {"token": 2, "read": 2}


async def test_wrong_credentials_get_no_token(account: paypal.Book, reader: Callable[..., Any]) -> None:
    app = paypal.create_app(account, client_id="id", client_secret="another")
    assert (await reader(CONNECTION, CONTRACT, app)(refund_id=REFUND.id)).error == "unauthorized"
    assert account.requests == {}


async def test_errors_have_paypals_bodies(account: paypal.Book) -> None:
    transport = httpx.ASGITransport(paypal.create_app(account, client_id="id", client_secret="secret"))
    path = f"/v2/payments/refunds/{REFUND.id}"
    async with httpx.AsyncClient(transport=transport, base_url="http://paypal") as client:
        without = await client.get(path)
        assert (without.status_code, without.json()["name"]) == (401, "AUTHENTICATION_FAILURE")
        unknown = await client.get(path, headers={"Authorization": "Bearer A21nobody"})
        assert (unknown.status_code, unknown.json()["error"]) == (401, "invalid_token")
        missing = await client.get(path, headers={"Authorization": f"Bearer {account.issue_token()}"})
        assert missing.json()["name"] == "RESOURCE_NOT_FOUND"
        assert missing.json()["details"][0]["value"] == REFUND.id
        other_grant = await client.post("/v1/oauth2/token", auth=("id", "secret"), data={"grant_type": "password"})
        assert other_grant.status_code == 400


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (HTML_ERROR, "server_error"),
        (Answers(200, b"<html>", {"Content-Type": "text/html"}), "not_json"),
        (paypal.NOT_FOUND, "not_found"),
        (paypal.RATE_LIMITED, "rate_limited"),
        (Answers.json(403, {"name": "NOT_AUTHORIZED"}), "forbidden"),
        (Answers.json(200, {}), "absent"),
    ],
)
async def test_a_fault_is_met_as_often_as_asked(account: paypal.Book, read: Any, fault: Fault, word: str) -> None:
    account.add(REFUND)
    account.fail_next(fault, times=2)
    assert [(await read(refund_id=REFUND.id)).error for _ in range(3)] == [word, word, None]
    assert account.requests["read"] == 3


async def test_over_http_it_hangs_and_cuts(account: paypal.Book, reader: Callable[..., Any], impatient: None) -> None:
    account.add(REFUND)
    account.fail_next(Cuts())
    account.fail_next(Hangs(60))
    async with serve(paypal.create_app(account, client_id="id", client_secret="secret")) as url:
        read = reader({**CONNECTION, "base_url": url}, CONTRACT)
        words = [(await read(refund_id=REFUND.id)).error for _ in range(3)]
    assert words == ["connection_failed", "timeout", None]


def test_a_delivery_is_authentic_and_names_refund_and_capture() -> None:
    request = paypal.capture_refunded(REFUND, webhook_id="1WEBHOOK", sent_at=REFUND.created_at)
    delivery = request.delivery("acme")
    connection = provider.PayPalConnection.model_validate(CONNECTION, context={"inline_secrets": True})
    provider.authenticate(delivery, connection)
    document = json.loads(request.body)
    assert document["create_time"] == "2026-03-12T15:42:18.900Z"
    [event] = provider.normalise(delivery, document)
    assert event.type == "PAYMENT.CAPTURE.REFUNDED"
    assert event.id.startswith("WH-")
    assert event.resource_id == REFUND.id
    assert event.created_at == "2026-03-12T08:42:18-07:00"
    assert event.identifiers == {"refund_id": REFUND.id, "capture_id": "7CAP00001TEST001A"}
    assert delivery.headers["paypal-transmission-time"] == "2026-03-12T15:42:18Z"


@pytest.fixture(scope="module")
def signer() -> Signer:
    return Signer()


def signed_for(signer: Signer, webhook_id: str) -> Any:
    auth = {"webhook_id": webhook_id, "certificates": {signer.url: signer.certificate}}
    return provider.PayPalConnection.model_validate({**CONNECTION, "webhook_auth": auth}, context=INLINE_SECRETS)


def test_a_signed_delivery_is_believed_by_who_takes_the_signers_certificate(signer: Signer) -> None:
    sent_at = REFUND.created_at + timedelta(seconds=30)
    request = paypal.capture_refunded(REFUND, webhook_id="1WEBHOOK", sent_at=sent_at, signer=signer)
    provider.authenticate(request.delivery("acme", sent_at), signed_for(signer, "1WEBHOOK"))
    for forged, arrived_at, webhook_id in (
        (request.with_flipped_byte(10), sent_at, "1WEBHOOK"),
        (request, sent_at, "ANOTHER"),
        (request, sent_at + timedelta(days=5), "1WEBHOOK"),
    ):
        with pytest.raises(NotAuthentic):
            provider.authenticate(forged.delivery("acme", arrived_at), signed_for(signer, webhook_id))
    with pytest.raises(NotAuthentic):
        provider.authenticate(request.delivery("acme", sent_at), signed_for(Signer(), "1WEBHOOK"))


def test_a_resent_event_keeps_its_id_and_changes_its_transmission() -> None:
    first, second = (
        paypal.capture_refunded(REFUND, webhook_id="1WEBHOOK", sent_at=REFUND.created_at + timedelta(seconds=wait))
        for wait in (0, 300)
    )
    assert json.loads(first.body)["id"] == json.loads(second.body)["id"]
    assert first.headers["PAYPAL-TRANSMISSION-ID"] != second.headers["PAYPAL-TRANSMISSION-ID"]
