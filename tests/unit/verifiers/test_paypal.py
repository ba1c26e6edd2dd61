"""PayPal: its deliveries in normal form, and the token that its reads need."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from accounts import CHANNEL, PAYPAL, Provider, answer, paypal, sample, sample_headers

from verifiers.connections import ConnectionsError
from verifiers.events import Delivery, DeliveryError, Event
from verifiers.http import HttpVerifier
from verifiers.providers import carried_identifiers
from verifiers.providers.paypal import ClientCredentials, authenticate, event_type, normalise
from verifiers.reads import Answer, Unauthorised

CAPTURE = "7CAP00001TEST001A"
UP = f"https://api.sandbox.paypal.com/v2/payments/captures/{CAPTURE}"
REFUND_BODY = sample("paypal_refund_get_completed.json")


def delivery(body: bytes = b"{}") -> Delivery:
    return Delivery("pay", {}, body)


def events(name: str) -> list[Event]:
    body = sample(f"paypal_webhook_{name}.body")
    headers = sample_headers(f"paypal_webhook_{name}.headers.json")
    return normalise(Delivery("pay", headers, body), json.loads(body))


def envelope(**resource: Any) -> dict[str, Any]:
    """An envelope around a refund; ``...`` drops a member of the refund."""
    refund = {
        "id": "R1",
        "create_time": "2026-03-12T08:42:18-07:00",
        "links": [{"rel": "self", "href": "https://x/v2/payments/refunds/R1"}, {"rel": "up", "href": UP}],
    } | resource
    return {
        "id": "WH-1",
        "event_type": "PAYMENT.CAPTURE.REFUNDED",
        "create_time": "2026-03-12T15:42:53.543Z",
        "resource": {name: value for name, value in refund.items() if value is not ...},
    }


# -- events


@pytest.mark.parametrize(
    ("name", "event_id", "refund", "capture", "born"),
    [
        ("capture_refunded", "WH-1TEST0001TEST0001-1TEST0001TEST0001", "8REF00001TEST001A", CAPTURE, "08:42:18"),
        (
            "capture_refunded_redelivery",
            "WH-1TEST0001TEST0001-1TEST0001TEST0001",
            "8REF00001TEST001A",
            CAPTURE,
            "08:42:18",
        ),
        ("second_refund", "WH-2TEST0002TEST0002-2TEST0002TEST0002", "8REF00002TEST002B", CAPTURE, "08:42:40"),
        (
            "other_capture",
            "WH-3TEST0003TEST0003-3TEST0003TEST0003",
            "8REF00003TEST003C",
            "7CAP00002TEST002B",
            "08:42:18",
        ),
        (
            "earlier_refund_late_envelope",
            "WH-4TEST0004TEST0004-4TEST0004TEST0004",
            "8REF00004TEST004D",
            CAPTURE,
            "08:41:55",
        ),
        ("nonascii", "WH-7TEST0007TEST0007-7TEST0007TEST0007", "8REF00001TEST001A", CAPTURE, "08:42:18"),
    ],
)
def test_each_recorded_refund_names_itself_its_capture_and_its_own_birth(
    name: str, event_id: str, refund: str, capture: str, born: str
) -> None:
    identifiers = {"refund_id": refund, "capture_id": capture}
    created_at = f"2026-03-12T{born}-07:00"
    assert events(name) == [Event(event_id, "PAYMENT.CAPTURE.REFUNDED", refund, created_at, identifiers)]


def test_the_genuine_simulator_event_is_read() -> None:
    body = sample("paypal_simulator/signed_event.body")
    (event,) = normalise(delivery(body), json.loads(body))
    assert event == Event(
        "WH-1GE84257G0350133W-6RW800890C634293G",
        "PAYMENT.CAPTURE.REFUNDED",
        "1Y107995YT783435V",
        "2018-08-15T12:13:29-07:00",
        {"refund_id": "1Y107995YT783435V", "capture_id": "0JF852973C016714D"},
    )


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("capture_refunded", "PAYMENT.CAPTURE.REFUNDED"),
        ("capture_reversed", "PAYMENT.CAPTURE.REVERSED"),
        ("capture_completed", "PAYMENT.CAPTURE.COMPLETED"),
    ],
)
def test_an_event_has_the_type_that_its_envelope_says(name: str, type_: str) -> None:
    body = sample(f"paypal_webhook_{name}.body")
    assert event_type(delivery(body), json.loads(body)) == type_


def test_an_event_without_an_up_link_names_no_capture_and_none_is_guessed() -> None:
    (event,) = events("no_up_link")
    assert event.identifiers == {"refund_id": "8REF00001TEST001A"}


@pytest.mark.parametrize(
    "href",
    [
        UP,
        f"https://10.72.108.213:11881/v2/payments/captures/{CAPTURE}",
        f"http://[::1]/v2/payments/captures/{CAPTURE}",
        f"/v2/payments/captures/{CAPTURE}",
        f"{UP}?token=1#x",
    ],
)
def test_the_capture_is_found_by_the_links_path_and_never_by_its_host(href: str) -> None:
    (event,) = normalise(delivery(), envelope(links=[{"rel": "up", "href": href}]))
    assert event.identifiers["capture_id"] == CAPTURE


@pytest.mark.parametrize(
    "links",
    [
        ...,
        None,
        [],
        {},
        "up",
        [None, "up", 7, [], {}],
        [{"rel": "up"}],
        [{"rel": "up", "href": None}],
        [{"rel": "up", "href": 7}],
        [{"rel": "up", "href": ""}],
        [{"rel": "up", "href": "https://[broken/v2/payments/captures/X"}],
        [{"rel": "self", "href": UP}],
        [{"rel": "up", "href": "https://x/v2/checkout/orders/O1"}],
        [{"rel": "up", "href": "https://x/v2/payments/authorizations/A1"}],
        [{"rel": "up", "href": "https://x/v1/payments/captures/C1"}],
        [{"rel": "up", "href": "https://x/v2/payments/captures/"}],
        [{"rel": "up", "href": "https://x/v2/payments/captures/C1/refund"}],
        [{"rel": "up", "href": "https://x/evil/v2/payments/captures/C1"}],
        [{"rel": "up", "href": "https://x/?/v2/payments/captures/C1"}],
        [{"rel": "UP", "href": UP}],
    ],
)
def test_any_other_link_names_no_capture(links: Any) -> None:
    (event,) = normalise(delivery(), envelope(links=links))
    assert event.identifiers == {"refund_id": "R1"}


def test_links_that_are_no_capture_do_not_hide_the_one_that_is() -> None:
    order = {"rel": "up", "href": "https://x/v2/checkout/orders/O1"}
    (event,) = normalise(delivery(), envelope(links=[order, {"rel": "up", "href": UP}]))
    assert event.identifiers["capture_id"] == CAPTURE


@pytest.mark.parametrize("resource", [None, [], "refund", 7])
def test_a_body_without_a_resource_is_malformed(resource: Any) -> None:
    with pytest.raises(DeliveryError, match=r"^resource is missing from the body") as caught:
        normalise(delivery(), {**envelope(), "resource": resource})
    assert caught.value.class_ == "malformed_delivery"


@pytest.mark.parametrize("value", [..., None, "", 7, [], {}])
def test_a_resource_without_an_id_is_malformed(value: Any) -> None:
    with pytest.raises(DeliveryError, match=r"^resource\.id is missing from the body") as caught:
        normalise(delivery(), envelope(id=value))
    assert caught.value.class_ == "malformed_delivery"


@pytest.mark.parametrize("value", [None, "", 7, ["PAYMENT.CAPTURE.REFUNDED"], {}])
def test_an_envelope_without_a_type_is_malformed(value: Any) -> None:
    with pytest.raises(DeliveryError, match=r"^event_type is missing from the body") as caught:
        event_type(delivery(), {**envelope(), "event_type": value})
    assert caught.value.class_ == "malformed_delivery"


def test_month_nineteen_is_refused_by_name() -> None:
    """PayPal's own simulator has signed and sent such a date."""
    with pytest.raises(DeliveryError, match=r"^create_time: .* is an impossible date-time") as caught:
        event_type(delivery(), {**envelope(), "create_time": "2018-19-12T22:20:32.000Z"})
    assert caught.value.class_ == "impossible_date"
    with pytest.raises(DeliveryError, match=r"^resource\.create_time: .* is an impossible date-time"):
        normalise(delivery(), envelope(create_time="2018-19-12T22:20:32.000Z"))


@pytest.mark.parametrize("value", [..., None, 1773330138])
def test_a_refund_without_a_birth_is_malformed(value: Any) -> None:
    with pytest.raises(DeliveryError, match=r"^resource\.create_time is missing") as caught:
        normalise(delivery(), envelope(create_time=value))
    assert caught.value.class_ == "malformed_delivery"


@pytest.mark.parametrize("born", ["2026-03-12T08:42:18-07:00", "2026-03-12t15:42:18z", "2016-12-31T23:59:60Z"])
def test_the_birth_stays_as_paypal_wrote_it(born: str) -> None:
    assert normalise(delivery(), envelope(create_time=born))[0].created_at == born


@pytest.mark.parametrize(
    "changed",
    [
        {"id": "x" * 100_000},
        {"links": [{"rel": "up", "href": "https://x/v2/payments/captures/" + "c" * 100_000}]},
    ],
    ids=["refund", "capture"],
)
def test_an_identifier_of_any_length_is_not_taken_in(changed: dict[str, Any]) -> None:
    """A case keeps each event's identifiers several times: a row that Kafka does not take would end the worker."""
    with pytest.raises(DeliveryError):
        normalise(delivery(), envelope(**changed))


def test_events_carry_what_the_catalogue_is_told_they_carry() -> None:
    carried = carried_identifiers("paypal")
    assert carried == {"PAYMENT.CAPTURE.REFUNDED": frozenset({"refund_id", "capture_id"})}
    assert normalise(delivery(), envelope())[0].identifiers.keys() == carried["PAYMENT.CAPTURE.REFUNDED"]


def test_deliveries_come_from_a_gateway_that_has_verified_them_or_not_at_all() -> None:
    authenticate(delivery(), paypal())
    for auth in ("open", None, {"hmac_secrets": ["x"]}):
        with pytest.raises(ConnectionsError, match="webhook_auth"):
            paypal(webhook_auth=auth)


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
