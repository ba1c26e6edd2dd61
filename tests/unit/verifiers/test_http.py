"""The http verifier: what it asks, exactly, and what it makes of whatever comes back."""

import asyncio
import contextlib
import gzip
import json
from typing import Any

import httpx
import pytest
from accounts import CHANNEL, PAYPAL, REFUND, SHOPIFY, Provider, Streamed, answer, paypal, sample, shop

from verifiers.connection import Connection
from verifiers.http import MAX_BODY_BYTES, HttpVerifier

REFUND_BODY = sample("paypal_refund_get_completed.json")
# Without credentials nothing but the read itself is sent.
BARE = paypal(credentials=None)


def says(body: Any, status: int = 200, **headers: str) -> Provider:
    return Provider(lambda _: answer(status, body, headers))


async def asked(connection: Connection, **inputs: str) -> httpx.Request:
    provider = says("{}")
    await provider.read(connection, **inputs)
    (request,) = provider.requests
    return request


# -- requests


async def test_a_shopify_read_posts_the_contracts_document_and_the_id_as_a_variable() -> None:
    request = await asked(shop(), id=REFUND)
    recorded = json.loads(sample("shopify_readback_request.json"))
    assert (request.method, str(request.url)) == (recorded["method"], recorded["url"])
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept"] == "application/json"
    assert request.headers["x-shopify-access-token"] == recorded["headers"]["X-Shopify-Access-Token"]
    document = SHOPIFY.readings.requests[CHANNEL].graphql
    assert document is not None
    assert json.loads(request.content) == {"query": document.document, "variables": {"id": REFUND}}


async def test_a_paypal_read_gets_the_refund() -> None:
    request = await asked(BARE, refund_id="8REF00001TEST001A")
    assert request.method == "GET"
    assert str(request.url) == "https://api-m.sandbox.paypal.com/v2/payments/refunds/8REF00001TEST001A"
    assert request.content == b""


@pytest.mark.parametrize(
    ("refund_id", "segment"),
    [
        ("8REF00001TEST001A", "8REF00001TEST001A"),
        ("a/b", "a%2Fb"),
        ("../captures/X", "..%2Fcaptures%2FX"),
        ("x/../../secrets", "x%2F..%2F..%2Fsecrets"),
        ("a?b=c", "a%3Fb%3Dc"),
        ("a#b", "a%23b"),
        ("a%2Fb", "a%252Fb"),
        ("%2e%2e", "%252e%252e"),
        ("a b", "a%20b"),
        ("a+b", "a%2Bb"),
        ("a\nb", "a%0Ab"),
        ("a\r\nHost: evil", "a%0D%0AHost%3A%20evil"),
        ("a\x00b", "a%00b"),
        ("\"'<>", "%22%27%3C%3E"),
        ("{refund_id}", "%7Brefund_id%7D"),
        ("é日", "%C3%A9%E6%97%A5"),
        ("@evil.test", "%40evil.test"),
        ("...", "..."),
        ("a;b:c", "a%3Bb%3Ac"),
        ("\\..\\x", "%5C..%5Cx"),
    ],
)
async def test_an_id_is_one_segment_of_the_path_whatever_it_holds(refund_id: str, segment: str) -> None:
    request = await asked(BARE, refund_id=refund_id)
    assert request.url.raw_path == f"/v2/payments/refunds/{segment}".encode()
    assert request.url.host == "api-m.sandbox.paypal.com"
    assert request.headers["host"] == "api-m.sandbox.paypal.com"


@pytest.mark.parametrize("refund_id", ["", ".", ".."])
async def test_an_id_that_servers_would_take_out_of_a_path_is_never_sent(refund_id: str) -> None:
    provider = says("{}")
    found = await provider.read(BARE, refund_id=refund_id)
    assert (found.status, found.error) == (None, "unsafe_identifier")
    assert provider.requests == []


@pytest.mark.parametrize(
    "refund_id",
    [
        '") { id } evil: refund(id: "1',
        "gid://shopify/Refund/1\n}",
        "\\u0022",
        "$id",
        "é日\U0001f600",
        "../..",
        "",
        "..",
        "x" * 10_000,
    ],
)
async def test_no_id_can_change_a_graphql_document(refund_id: str) -> None:
    request = await asked(shop(), id=refund_id)
    plain = await asked(shop(), id=REFUND)
    body = json.loads(request.content)
    assert body["query"] == json.loads(plain.content)["query"]
    assert body["variables"] == {"id": refund_id}
    assert request.url == plain.url


async def test_the_path_of_the_base_url_stays_in_front() -> None:
    for base in ("https://gateway.test/paypal", "https://gateway.test/paypal/"):
        request = await asked(paypal(credentials=None, base_url=base), refund_id="R")
        assert str(request.url) == "https://gateway.test/paypal/v2/payments/refunds/R"


# -- answers


async def test_an_answer_is_classified() -> None:
    found = await says(REFUND_BODY).read(BARE, refund_id="R")
    assert found.error is None
    assert found.values["$observed.refund_readback.amount.value"] == "60.00"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(status: int) -> None:
    provider = says("", status, location="https://evil.test/v2/payments/refunds/R")
    found = await provider.read(BARE, refund_id="R")
    assert (found.status, found.error) == (status, "redirect")
    assert len(provider.requests) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
async def test_nothing_is_tried_again(status: int) -> None:
    provider = says("{}", status)
    found = await provider.read(BARE, refund_id="R")
    assert found.status == status
    assert found.error is not None
    assert len(provider.requests) == 1


async def test_nothing_is_tried_again_after_a_broken_connection() -> None:
    def break_down(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    provider = Provider(break_down)
    found = await provider.read(BARE, refund_id="R")
    assert (found.status, found.error, found.detail) == (None, "connection_failed", "ConnectError")
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (httpx.ConnectTimeout("slow"), "timeout"),
        (httpx.ReadTimeout("slow"), "timeout"),
        (httpx.WriteTimeout("slow"), "timeout"),
        (httpx.PoolTimeout("slow"), "timeout"),
        (TimeoutError(), "timeout"),
        (httpx.ConnectError("x" * 1_000_000), "connection_failed"),
        (httpx.ReadError("reset"), "connection_failed"),
        (httpx.RemoteProtocolError("garbage"), "connection_failed"),
        (httpx.LocalProtocolError("bad header"), "connection_failed"),
        (httpx.UnsupportedProtocol("ftp"), "connection_failed"),
        (httpx.InvalidURL("too long"), "connection_failed"),
        (httpx.DecodingError("broken"), "not_json"),
        (OSError("no route"), "connection_failed"),
        (ConnectionResetError(), "connection_failed"),
    ],
)
async def test_whatever_goes_wrong_on_the_way_is_an_answer_without_evidence(error: Exception, word: str) -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise error

    found = await Provider(fail).read(BARE, refund_id="R")
    assert (found.status, found.error, found.values) == (None, word, {})
    assert len(found.detail or "") < 300


async def test_a_connection_that_breaks_within_the_body_is_no_evidence() -> None:
    class Broken(Streamed):
        async def __aiter__(self) -> Any:
            yield REFUND_BODY[:100]
            raise httpx.ReadError("reset")

    found = await Provider(lambda _: httpx.Response(200, stream=Broken())).read(BARE, refund_id="R")
    assert found.error == "connection_failed"


async def test_a_provider_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dripping(Streamed):
        async def __aiter__(self) -> Any:
            while True:
                yield b" "
                await asyncio.sleep(0.01)

    monkeypatch.setattr("verifiers.http.TOTAL_TIMEOUT_S", 0.1)
    stream = Dripping()
    found = await Provider(lambda _: httpx.Response(200, stream=stream)).read(BARE, refund_id="R")
    assert (found.status, found.error) == (None, "timeout")
    assert stream.closed


async def test_a_body_of_the_limit_is_read_and_one_byte_more_is_not() -> None:
    exact = REFUND_BODY + b" " * (MAX_BODY_BYTES - len(REFUND_BODY))
    assert (await says(exact).read(BARE, refund_id="R")).error is None
    found = await says(exact + b" ").read(BARE, refund_id="R")
    assert (found.status, found.error) == (None, "too_large")


async def test_a_body_without_end_is_not_read_to_its_end() -> None:
    stream = Streamed(*[b" " * 65_536] * 1000)
    found = await Provider(lambda _: httpx.Response(200, stream=stream)).read(BARE, refund_id="R")
    assert found.error == "too_large"
    assert stream.sent <= MAX_BODY_BYTES // 65_536 + 1
    assert stream.closed


async def test_the_limit_is_of_the_decompressed_body() -> None:
    bomb = gzip.compress(b" " * (MAX_BODY_BYTES + 1))
    assert len(bomb) < 2000
    headers = {"content-encoding": "gzip"}
    assert (await Provider(lambda _: answer(200, bomb, headers)).read(BARE, refund_id="R")).error == "too_large"


async def test_a_compressed_body_is_read_and_its_digest_is_of_the_decompressed_one() -> None:
    provider = Provider(lambda _: answer(200, gzip.compress(REFUND_BODY), {"content-encoding": "gzip"}))
    found = await provider.read(BARE, refund_id="R")
    plain = await says(REFUND_BODY).read(BARE, refund_id="R")
    assert found == plain


async def test_a_broken_compression_is_no_evidence() -> None:
    found = await Provider(lambda _: answer(200, REFUND_BODY, {"content-encoding": "gzip"})).read(BARE, refund_id="R")
    assert (found.status, found.error) == (None, "not_json")


async def test_a_connection_that_is_not_configured_is_an_answer_without_evidence() -> None:
    async with HttpVerifier({}) as verifier:
        found = await verifier.read("gone", PAYPAL, CHANNEL, {"refund_id": "R"})
    assert (found.status, found.error) == (None, "unknown_connection")


async def test_each_connection_goes_its_own_way_with_its_own_credentials() -> None:
    provider = says("{}")
    one, other = shop(), shop(id="other", shop="other.myshopify.com", credentials={"access_token": "shpat_OTHER"})
    async with HttpVerifier({"acme": one, "other": other}, lambda _: httpx.MockTransport(provider)) as verifier:
        for name in ("acme", "other", "acme"):
            await verifier.read(name, SHOPIFY, CHANNEL, {"id": REFUND})
    assert [(one.url.host, one.headers["x-shopify-access-token"]) for one in provider.requests] == [
        ("acme-verify.myshopify.com", "shpat_TESTTOKEN"),
        ("other.myshopify.com", "shpat_OTHER"),
        ("acme-verify.myshopify.com", "shpat_TESTTOKEN"),
    ]


async def test_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.test:3128")
    monkeypatch.setenv("ALL_PROXY", "http://proxy.test:3128")
    verifier = HttpVerifier({"pay": BARE})
    client = verifier._client(BARE)
    assert client.trust_env is False
    assert client._mounts == {}
    assert client.follow_redirects is False
    assert client.timeout == httpx.Timeout(connect=5.0, read=10.0, write=5.0, pool=10.0)
    await verifier.close()
    assert client.is_closed


async def test_a_token_that_cannot_be_sent_does_not_show_in_the_answer() -> None:
    """The HTTP library quotes the header that it refuses; a mocked transport would not refuse it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            body = b'{"access_token": "LEAKED\\n", "expires_in": 30464}'
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        connection = paypal(base_url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        async with HttpVerifier({"pay": connection}) as verifier:
            found = await verifier.read("pay", PAYPAL, CHANNEL, {"refund_id": "R"})
    assert found.error is not None
    assert "LEAKED" not in repr(found)


async def test_a_library_that_quotes_a_header_in_its_error_gives_no_secret_away() -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        token = request.headers["x-shopify-access-token"]
        raise httpx.LocalProtocolError(f"Illegal header value {token!r}", request=request)

    found = await Provider(fail).read(shop(), id=REFUND)
    assert found.error == "connection_failed"
    assert "shpat_TESTTOKEN" not in repr(found)
