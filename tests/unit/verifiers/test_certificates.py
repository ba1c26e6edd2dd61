"""Fetching certificates: once, within bounds, and a failure is never more than a failure."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from accounts import Streamed
from authority import LEAF, MIDDLE, URL, pem

from verifiers import certificates as module
from verifiers.certificates import ATTEMPTS, MAX_BYTES, MAX_FAILED, MAX_KEPT, Certificates, Unavailable
from verifiers.trust import Certificate

CHAIN = pem(LEAF, MIDDLE.certificate)
Answer = httpx.Response | Exception | Callable[[], Awaitable[httpx.Response]]


def url(number: int) -> str:
    return f"https://api.paypal.com/v1/notifications/certs/CERT-{number}"


class PayPal(httpx.AsyncBaseTransport):
    """Answers each request with the next answer; the last one stands."""

    def __init__(self, *answers: Answer) -> None:
        self.requests: list[httpx.Request] = []
        self._answers = list(answers)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            return await answer()
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def hang() -> httpx.Response:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSES_S", (0.0, 0.0))
    monkeypatch.setattr(module, "ATTEMPT_TIMEOUT_S", 0.05)


GOOD = httpx.Response(200, content=CHAIN)


async def test_a_certificate_comes_with_those_behind_it_and_is_fetched_once() -> None:
    paypal = PayPal(GOOD)
    certificates = Certificates(paypal)
    known = certificates.known
    for _ in range(3):
        await certificates.obtain([URL, URL])
    assert known[URL] == Certificate(LEAF, (MIDDLE.certificate,))
    (request,) = paypal.requests
    assert (request.method, str(request.url)) == ("GET", URL)
    await certificates.close()


async def test_many_who_need_it_at_once_share_one_fetch() -> None:
    paypal = PayPal(GOOD)
    certificates = Certificates(paypal)
    await asyncio.gather(*(certificates.obtain([URL]) for _ in range(50)))
    assert isinstance(certificates.known[URL], Certificate)
    assert len(paypal.requests) == 1


async def test_what_one_who_waits_gives_up_goes_on_for_the_others() -> None:
    arrive = asyncio.Event()

    async def later() -> httpx.Response:
        await arrive.wait()
        return httpx.Response(200, content=CHAIN)

    certificates = Certificates(PayPal(later))
    impatient = asyncio.create_task(certificates.obtain([URL]))
    patient = asyncio.create_task(certificates.obtain([URL]))
    await asyncio.sleep(0)
    impatient.cancel()
    arrive.set()
    await patient
    assert isinstance(certificates.known[URL], Certificate)


LARGE = CHAIN + b"\n" * MAX_BYTES


@pytest.mark.parametrize(
    ("answer", "said", "asked"),
    [
        (httpx.ConnectError("x"), "it could not be fetched (ConnectError)", ATTEMPTS),
        (httpx.RemoteProtocolError("x"), "it could not be fetched (RemoteProtocolError)", ATTEMPTS),
        (httpx.ReadTimeout("x"), "it was not there in time", ATTEMPTS),
        (OSError("x"), "it could not be fetched (OSError)", ATTEMPTS),
        (hang, "it was not there in time", ATTEMPTS),
        (httpx.Response(500), "its address answered 500", ATTEMPTS),
        (httpx.Response(503, content=CHAIN), "its address answered 503", ATTEMPTS),
        (httpx.Response(429), "its address answered 429", ATTEMPTS),
        (httpx.Response(404), "its address answered 404", 1),
        (httpx.Response(403, content=CHAIN), "its address answered 403", 1),
        (httpx.Response(301, headers={"Location": "https://evil.test/x"}), "its address answered 301", 1),
        (httpx.Response(302, headers={"Location": URL}, content=CHAIN), "its address answered 302", 1),
        (httpx.Response(204), "its address answered 204", 1),
        (httpx.Response(200), "its address answered no certificate in PEM", ATTEMPTS),
        (httpx.Response(200, content=b"<html>Sorry</html>"), "its address answered no certificate in PEM", ATTEMPTS),
        (httpx.Response(200, content=b"\xff\xfe"), "its address answered no certificate in PEM", ATTEMPTS),
        (httpx.Response(200, content=CHAIN[:700]), "its address answered no certificate in PEM", ATTEMPTS),
        (
            httpx.Response(200, content=CHAIN.replace(b"MII", b"AAA")),
            "its address answered no certificate in PEM",
            ATTEMPTS,
        ),
        (httpx.Response(200, content=pem(LEAF) * 11), "its address answered no certificate in PEM", ATTEMPTS),
        (httpx.Response(200, content=LARGE), f"its address answered more than {MAX_BYTES} bytes", 1),
        (
            httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=Streamed(b"no gzip")),
            "it could not be fetched (DecodingError)",
            ATTEMPTS,
        ),
    ],
)
async def test_each_failure_is_told_and_none_is_raised(
    answer: Any, said: str, asked: int, caplog: pytest.LogCaptureFixture
) -> None:
    if isinstance(answer, httpx.Response) and answer.headers.get("Content-Encoding"):
        broken = answer

        async def answer() -> httpx.Response:
            return httpx.Response(200, headers=broken.headers, stream=Streamed(b"no gzip"))

    paypal = PayPal(answer)
    certificates = Certificates(paypal)
    await certificates.obtain([URL])
    assert certificates.known[URL] == Unavailable(said)
    assert len(paypal.requests) == asked
    assert {str(one.url) for one in paypal.requests} == {URL}
    assert caplog.messages == [f"{URL}: {said}"]


async def test_a_failure_that_passes_is_got_over() -> None:
    html = httpx.Response(200, content=b"<html>")
    certificates = Certificates(PayPal(httpx.Response(503), html, GOOD))
    await certificates.obtain([URL])
    assert isinstance(certificates.known[URL], Certificate)


async def test_a_failure_is_remembered_for_a_short_time_and_no_longer() -> None:
    paypal, clock = PayPal(httpx.Response(404), GOOD), Clock()
    certificates = Certificates(paypal, clock)
    await certificates.obtain([URL])
    clock.now += module.FAILURES_KEPT_S - 1
    await certificates.obtain([URL])
    assert len(paypal.requests) == 1
    clock.now += 1
    await certificates.obtain([URL])
    assert isinstance(certificates.known[URL], Certificate)


async def test_an_address_that_fails_holds_up_no_other() -> None:
    class Mixed(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, content=CHAIN) if str(request.url) == URL else await hang()

    certificates = Certificates(Mixed())
    waiting = asyncio.create_task(certificates.obtain([*(url(number) for number in range(7)), URL]))
    while URL not in certificates.known:
        await asyncio.sleep(0)
    await waiting
    assert all(isinstance(certificates.known[url(number)], Unavailable) for number in range(7))


async def test_nobody_waits_for_longer_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOTAL_WAIT_S", 0.02)
    monkeypatch.setattr(module, "ATTEMPT_TIMEOUT_S", 60.0)
    certificates = Certificates(PayPal(hang))
    async with asyncio.timeout(2):
        await certificates.obtain([url(number) for number in range(500)])
        assert dict(certificates.known) == {}
        await certificates.close()


async def test_a_flood_of_invented_addresses_costs_few_requests_and_little_memory(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL)
    paypal, clock = PayPal(httpx.Response(404)), Clock()
    certificates = Certificates(paypal, clock)
    for batch in range(20):
        await certificates.obtain([url(1000 * batch + number) for number in range(500)])
    assert len(paypal.requests) == len(certificates.known) == MAX_FAILED
    clock.now += module.FAILURES_KEPT_S
    await certificates.obtain([url(99_999)])
    assert len(paypal.requests) == MAX_FAILED + 1
    assert len(certificates.known) == 1


async def test_what_is_known_stays_at_hand_during_a_flood() -> None:
    certificates = Certificates(PayPal(GOOD, httpx.Response(404)))
    await certificates.obtain([URL])
    await certificates.obtain([url(number) for number in range(500)])
    assert isinstance(certificates.known[URL], Certificate)


async def test_only_so_many_are_kept_and_the_oldest_goes_first() -> None:
    certificates = Certificates(PayPal(GOOD))
    for start in range(0, MAX_KEPT + 2, 20):
        await certificates.obtain([url(number) for number in range(start, min(start + 20, MAX_KEPT + 2))])
    assert len(certificates.known) == MAX_KEPT
    assert url(0) not in certificates.known
    assert url(MAX_KEPT + 1) in certificates.known


async def test_to_close_breaks_off_what_is_under_way() -> None:
    certificates = Certificates(PayPal(hang))
    waiting = asyncio.create_task(certificates.obtain([URL]))
    await asyncio.sleep(0.01)
    await certificates.close()
    await waiting
    assert dict(certificates.known) == {}
    await certificates.close()


async def test_nothing_is_sent_beside_the_request_itself() -> None:
    paypal = PayPal(GOOD)
    await Certificates(paypal).obtain([URL])
    assert {name.lower() for name in paypal.requests[0].headers} == {
        "host",
        "accept",
        "accept-encoding",
        "connection",
        "user-agent",
    }
