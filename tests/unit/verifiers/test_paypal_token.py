"""The token that reads of PayPal need: kept as long as it lives, refreshed once."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from accounts import CHANNEL, PAYPAL, Provider, answer, paypal, sample, sample_headers

from verifiers.events import Delivery, Event
from verifiers.http import HttpVerifier
from verifiers.providers.paypal import ClientCredentials, normalise
from verifiers.reads import Answer, Unauthorised

REFUND_BODY = sample("paypal_refund_get_completed.json")


def events(name: str) -> list[Event]:
    body = sample(f"paypal_webhook_{name}.body")
    headers = sample_headers(f"paypal_webhook_{name}.headers.json")
    return normalise(Delivery("pay", headers, body), json.loads(body))


# -- the token


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class Account(Provider):
    """PayPal's token endpoint and one refund. ``good`` are the tokens that reads are accepted with."""

    def __init__(self, expires_in: Any = 30464) -> None:
        super().__init__(self._respond)
        self.clock = Clock()
        self.issued = 0
        self.good: set[str] = set()
        self.expires_in = expires_in
        self.token_answer: httpx.Response | None = None

    @property
    def tokens(self) -> list[httpx.Request]:
        return [one for one in self.requests if one.url.path == "/v1/oauth2/token"]

    @property
    def reads(self) -> list[str]:
        """The Authorization header of each read."""
        return [one.headers["authorization"] for one in self.requests if one.url.path.startswith("/v2/")]

    def _respond(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/oauth2/token":
            if self.token_answer is not None:
                return self.token_answer
            self.issued += 1
            self.good = {f"token-{self.issued}"}
            return answer(200, {"access_token": f"token-{self.issued}", "expires_in": self.expires_in})
        if request.headers["authorization"].removeprefix("Bearer ") not in self.good:
            return answer(401, sample("paypal_error_401_token_cache.json"))
        return answer(200, REFUND_BODY)

    async def _slowly(self, request: httpx.Request) -> httpx.Response:
        """Answer after a while, so that reads which begin together are under way together."""
        await asyncio.sleep(0.001)
        return self(request)

    @asynccontextmanager
    async def reader(self) -> AsyncIterator[Any]:
        """Read with one client after another, by a clock that the test moves."""
        connection = paypal()
        async with HttpVerifier({"pay": connection}, lambda _: httpx.MockTransport(self._slowly)) as verifier:
            credentials = verifier._client(connection).auth
            assert isinstance(credentials, ClientCredentials)
            credentials._now = self.clock

            async def read() -> Answer:
                return await verifier.read("pay", PAYPAL, CHANNEL, {"refund_id": "R"})

            yield read


async def test_a_token_is_asked_for_with_the_apps_credentials_and_sent_with_the_read() -> None:
    account = Account()
    async with account.reader() as read:
        assert (await read()).error is None
    (asked,) = account.tokens
    assert (asked.method, str(asked.url)) == ("POST", "https://api-m.sandbox.paypal.com/v1/oauth2/token")
    assert asked.content == b"grant_type=client_credentials"
    assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
    assert asked.headers["authorization"] == "Basic Y2xpZW50Omh1c2g="  # client:hush
    assert account.reads == ["Bearer token-1"]


async def test_the_recorded_answer_of_the_token_endpoint_is_understood() -> None:
    account = Account()
    account.token_answer = answer(200, sample("paypal_oauth_token_200.json"))
    account.good = {"A21TESTTESTTEST"}
    async with account.reader() as read:
        assert (await read()).error is None
    assert account.reads == ["Bearer A21TESTTESTTEST"]


async def test_a_token_serves_all_reads_for_the_life_that_paypal_says_less_a_minute() -> None:
    account = Account(expires_in=30464)
    async with account.reader() as read:
        await read()
        account.clock.now_s += 30464 - 60 - 0.001
        await read()
        assert len(account.tokens) == 1
        account.clock.now_s += 0.001
        await read()
    assert len(account.tokens) == 2
    assert account.reads == ["Bearer token-1", "Bearer token-1", "Bearer token-2"]


@pytest.mark.parametrize("expires_in", [0, 1, 60, -5])
async def test_a_token_that_is_about_to_end_serves_one_read(expires_in: int) -> None:
    account = Account(expires_in=expires_in)
    async with account.reader() as read:
        assert [(await read()).error for _ in range(2)] == [None, None]
    assert account.reads == ["Bearer token-1", "Bearer token-2"]


async def test_a_refused_token_is_refreshed_once_and_the_read_made_again() -> None:
    account = Account()
    async with account.reader() as read:
        await read()
        account.good = set()
        assert (await read()).error is None
    assert account.reads == ["Bearer token-1", "Bearer token-1", "Bearer token-2"]
    assert len(account.tokens) == 2


async def test_a_read_that_is_refused_with_a_fresh_token_is_no_evidence() -> None:
    account = Account()
    account.token_answer = answer(200, {"access_token": "bad", "expires_in": 30464})
    async with account.reader() as read:
        account.token_answer = None
        account._handler = lambda request: (
            answer(200, {"access_token": "bad", "expires_in": 30464})
            if request.url.path == "/v1/oauth2/token"
            else answer(401, sample("paypal_error_401_auth.json"))
        )
        found = await read()
    assert (found.status, found.error) == (401, "unauthorized")
    assert len(account.reads) == 2
    assert len(account.tokens) == 2


@pytest.mark.parametrize("status", [403, 404, 429, 500])
async def test_any_other_error_refreshes_nothing(status: int) -> None:
    account = Account()
    async with account.reader() as read:
        await read()
        account._handler = lambda _: answer(status, "{}")
        assert (await read()).status == status
    assert len(account.tokens) == 1


async def test_reads_at_once_fetch_one_token() -> None:
    account = Account()
    async with account.reader() as read:
        found = await asyncio.gather(*(read() for _ in range(20)))
    assert {one.error for one in found} == {None}
    assert len(account.tokens) == 1
    assert account.reads == ["Bearer token-1"] * 20


async def test_reads_that_are_refused_at_once_refresh_the_token_once() -> None:
    account = Account()
    async with account.reader() as read:
        await read()
        account.good = set()
        found = await asyncio.gather(*(read() for _ in range(20)))
    assert {one.error for one in found} == {None}
    assert len(account.tokens) == 2


@pytest.mark.parametrize(
    "refusal",
    [
        answer(401, b'{"error":"invalid_client"}'),
        answer(429, sample("paypal_error_429.json")),
        answer(500, "<html>"),
        answer(302, "", {"location": "https://evil.test/"}),
        answer(200, "<html>"),
        answer(200, b"\xff"),
        answer(200, "[]"),
        answer(200, "null"),
        answer(200, {"expires_in": 30464}),
        answer(200, {"access_token": "t"}),
        answer(200, {"access_token": None, "expires_in": 30464}),
        answer(200, {"access_token": "", "expires_in": 30464}),
        answer(200, {"access_token": 7, "expires_in": 30464}),
        answer(200, {"access_token": {"t": 1}, "expires_in": 30464}),
        answer(200, {"access_token": "t", "expires_in": "soon"}),
        answer(200, {"access_token": "t", "expires_in": None}),
        answer(200, {"access_token": "t", "expires_in": 10**400}),
    ],
    ids=range(17),
)
async def test_without_a_token_nothing_is_read_and_nothing_is_raised(refusal: httpx.Response) -> None:
    content = b"".join([part async for part in refusal.stream])  # type: ignore[union-attr]
    account = Account()
    account._handler = lambda _: answer(refusal.status_code, content, dict(refusal.headers))
    async with account.reader() as read:
        found = await read()
    assert (found.status, found.error) == (None, "unauthorized")
    assert account.reads == []
    assert len(account.tokens) == 1
    assert "hush" not in str(found)


async def test_after_a_refusal_the_next_read_asks_for_a_token_again() -> None:
    account = Account()
    account.token_answer = answer(503, "down")
    async with account.reader() as read:
        assert (await read()).error == "unauthorized"
        account.token_answer = None
        assert (await read()).error is None


async def test_a_token_that_cannot_be_refreshed_is_never_sent_as_none() -> None:
    account = Account()
    async with account.reader() as read:
        await read()
        account.good, account.token_answer = set(), answer(503, "down")
        account._handler = lambda request: (
            answer(503, "down") if request.url.path == "/v1/oauth2/token" else answer(401, "{}")
        )
        found = await asyncio.gather(*(read() for _ in range(5)))
    assert {one.error for one in found} == {"unauthorized"}
    assert set(account.reads) == {"Bearer token-1"}


async def test_a_read_that_is_given_up_does_not_lock_the_others_out(monkeypatch: pytest.MonkeyPatch) -> None:
    account = Account()
    hanging = asyncio.Event()

    async def transport(request: httpx.Request) -> httpx.Response:
        if not hanging.is_set():
            hanging.set()
            await asyncio.sleep(60)
        return account(request)

    connection = paypal()
    async with HttpVerifier({"pay": connection}, lambda _: httpx.MockTransport(transport)) as verifier:
        monkeypatch.setattr("verifiers.http.TOTAL_TIMEOUT_S", 0.1)
        assert (await verifier.read("pay", PAYPAL, CHANNEL, {"refund_id": "R"})).error == "timeout"
        monkeypatch.undo()
        assert (await verifier.read("pay", PAYPAL, CHANNEL, {"refund_id": "R"})).error is None


async def test_two_accounts_have_two_tokens() -> None:
    first, second = paypal(), paypal(id="other", base_url="https://api-m.paypal.com")
    provider = Account()
    provider._handler = lambda request: (
        answer(200, {"access_token": f"of {request.url.host}", "expires_in": 30464})
        if request.url.path == "/v1/oauth2/token"
        else answer(200, REFUND_BODY)
    )
    async with HttpVerifier({"pay": first, "other": second}, lambda _: httpx.MockTransport(provider)) as verifier:
        for name in ("pay", "other"):
            await verifier.read(name, PAYPAL, CHANNEL, {"refund_id": "R"})
    assert provider.reads == ["Bearer of api-m.sandbox.paypal.com", "Bearer of api-m.paypal.com"]


def test_an_unauthorised_read_is_an_error_of_the_request() -> None:
    assert issubclass(Unauthorised, httpx.RequestError)
