"""How much is taken, and how long it may take: over real connections, without Kafka."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import orjson
import pytest
import uvicorn
from gate import Gate, make_gate, signed

from streams.gateway import connections
from streams.gateway.process import server_config

SIGNED = signed(b"{}")


class Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


@contextlib.asynccontextmanager
async def served(**settings: Any) -> AsyncIterator["Client"]:
    gate = make_gate(**{"answer_within_s": 5, **settings})
    server = Server(server_config(gate.settings, gate.app))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve([listening]))
        try:
            yield Client(gate, listening.getsockname()[1], server)
        finally:
            gate.kafka.answers.set()
            server.should_exit = True
            await serving


class Client:
    """Speaks HTTP by hand."""

    def __init__(self, gate: Gate, port: int, server: uvicorn.Server) -> None:
        self.gate, self.port, self.server = gate, port, server

    async def open(self) -> "Talk":
        return Talk(*await asyncio.open_connection("127.0.0.1", self.port))


class Talk:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    def head(self, *lines: bytes, to: bytes = b"acme") -> None:
        signature = [name + b": " + value for name, value in SIGNED]
        self.send(b"\r\n".join([b"POST /webhooks/" + to + b" HTTP/1.1", b"Host: x", *signature, *lines, b"", b""]))

    async def answer(self, within_s: float = 5) -> tuple[int, dict[str, str], bytes]:
        async with asyncio.timeout(within_s):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in head[1:-2])}
            return int(head[0].split()[1]), headers, await self.reader.readexactly(int(headers["content-length"]))

    async def closed(self, within_s: float = 5) -> bool:
        async with asyncio.timeout(within_s):
            try:
                return await self.reader.read() == b""
            except ConnectionError:
                return True


Serve = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(autouse=True)
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REST_WITHIN_S", 0.3)


async def test_a_body_that_says_it_is_too_long_is_refused_before_it_comes():
    async with served(max_body_bytes=1000) as client:
        talk = await client.open()
        talk.head(b"Content-Length: 1001")

        status, headers, body = await talk.answer()

        assert status == 413
        assert headers["content-type"] == "application/problem+json"
        assert orjson.loads(body)["type"] == "urn:proofstream:problem:too_large"
        assert await talk.closed(), "the rest of the body never came"


async def test_nobody_is_asked_to_go_on_with_a_body_that_is_too_long():
    async with served(max_body_bytes=1000) as client:
        talk = await client.open()
        talk.head(b"Content-Length: 1001", b"Expect: 100-continue")

        assert (await talk.answer())[0] == 413


async def test_a_body_in_chunks_is_refused_once_it_is_too_long():
    async with served(max_body_bytes=1000) as client:
        talk = await client.open()
        talk.head(b"Transfer-Encoding: chunked")
        for _ in range(3):
            talk.send(b"190\r\n" + b"x" * 400 + b"\r\n")

        assert (await talk.answer())[0] == 413
        assert client.gate.kafka.records == []


async def test_the_rest_of_a_refused_body_is_passed_over_and_the_connection_lives_on():
    async with served(max_body_bytes=1000) as client:
        talk = await client.open()
        talk.head(b"Content-Length: 200000")
        assert (await talk.answer())[0] == 413
        talk.send(b"x" * 200000)
        await asyncio.sleep(0.4)  # longer than the rest may take to come, but it has come

        talk.head(b"Content-Length: 2")
        talk.send(b"{}")

        assert (await talk.answer())[0] == 200


async def test_the_rest_of_a_refused_body_may_not_trickle():
    async with served(max_body_bytes=1000) as client:
        talk = await client.open()
        talk.head(b"Content-Length: 200000")
        assert (await talk.answer())[0] == 413

        async def trickle() -> None:
            for _ in range(100):
                talk.send(b"x")
                await asyncio.sleep(0.02)

        trickling = asyncio.create_task(trickle())
        assert await talk.closed(within_s=1.5)
        trickling.cancel()


@pytest.mark.parametrize("size", [999, 1000])
async def test_the_longest_body_is_taken(size: int):
    async with served(max_body_bytes=1000) as client:
        talk = await client.open()
        talk.head(b"Content-Length: %d" % size, to=b"nobody")
        talk.send(b"x" * size)

        assert (await talk.answer())[0] == 404


async def test_a_body_that_does_not_come_is_408_and_the_end_of_the_connection():
    async with served(answer_within_s=0.3) as client:
        talk = await client.open()
        talk.head(b"Content-Length: 1000")
        talk.send(b"x")

        status, headers, _ = await talk.answer(within_s=2)

        assert (status, headers["connection"]) == (408, "close")
        assert await talk.closed()


async def test_a_body_may_not_trickle_either():
    async with served(answer_within_s=0.3) as client:
        talk = await client.open()
        talk.head(b"Transfer-Encoding: chunked")

        async def trickle() -> None:
            for _ in range(100):
                talk.send(b"1\r\nx\r\n")
                await asyncio.sleep(0.02)

        trickling = asyncio.create_task(trickle())
        assert (await talk.answer(within_s=1.5))[0] == 408
        trickling.cancel()


@pytest.mark.parametrize("sent", [b"", b"POST", b"POST /webhooks/acme HTTP/1.1\r\nHost: x\r\n"])
async def test_headers_that_do_not_come_end_the_connection(sent: bytes):
    async with served(head_within_s=0.3) as client:
        talk = await client.open()
        talk.send(sent)

        said = await asyncio.wait_for(talk.reader.read(), 2)

        assert said.startswith(b"HTTP/1.1 408 ") if sent else said == b""


@pytest.mark.parametrize("first", [b"", b"POST /webhooks/nobody HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"])
async def test_headers_may_not_trickle_on_a_new_connection_or_an_old_one(first: bytes):
    async with served(head_within_s=0.3) as client:
        talk = await client.open()
        if first:
            talk.send(first)
            assert (await talk.answer())[0] == 404

        async def trickle() -> None:
            talk.send(b"POST /webhooks/acme HTTP/1.1\r\n")
            for number in range(100):
                talk.send(b"X-%d: x\r\n" % number)
                await asyncio.sleep(0.02)

        trickling = asyncio.create_task(trickle())
        assert (await talk.answer(within_s=1.5))[0] == 408
        trickling.cancel()


async def test_an_idle_connection_is_closed():
    async with served(idle_s=0.3) as client:
        talk = await client.open()
        talk.head(b"Content-Length: 2")
        talk.send(b"{}")
        assert (await talk.answer())[0] == 200

        assert await talk.closed(within_s=2)


async def test_a_delivery_that_takes_longer_than_its_headers_may_is_not_cut():
    async with served(head_within_s=0.2, idle_s=0.2) as client:
        client.gate.kafka.answers.clear()
        talk = await client.open()
        talk.head(b"Content-Length: 2")
        talk.send(b"{}")
        await asyncio.sleep(0.6)
        client.gate.kafka.answers.set()

        assert (await talk.answer())[0] == 200


@pytest.mark.parametrize("ends", [True, False])
async def test_headers_that_are_too_long_are_refused(ends: bool):
    async with served(max_head_bytes=2048) as client:
        talk = await client.open()
        lines = [b"POST /webhooks/acme HTTP/1.1", b"Host: x", *([b"X-Name: " + b"x" * 100] * 30)]
        talk.send(b"\r\n".join([*lines, b"", b""] if ends else lines))

        status, headers, _ = await talk.answer()

        assert (status, headers["connection"]) == (431 if ends else 400, "close")
        assert headers["content-type"] == "application/problem+json"


async def test_whoever_comes_beyond_the_connections_is_turned_away():
    async with served(max_connections=2) as client:
        first, second = await client.open(), await client.open()
        await asyncio.sleep(0.05)
        third = await client.open()

        status, headers, _ = await third.answer()

        assert (status, headers["connection"]) == (503, "close")
        assert int(headers["retry-after"]) > 0
        assert await third.closed()
        second.writer.close()
        await asyncio.sleep(0.05)
        for talk in (first, await client.open()):
            talk.head(b"Content-Length: 2")
            talk.send(b"{}")
            assert (await talk.answer())[0] == 200


async def test_whoever_comes_beyond_the_deliveries_under_way_is_asked_to_come_again():
    async with served(max_under_way=1) as client:
        client.gate.kafka.answers.clear()
        first, second = await client.open(), await client.open()
        first.head(b"Content-Length: 2")
        first.send(b"{}")
        await asyncio.sleep(0.05)
        second.head(b"Content-Length: 2")
        second.send(b"{}")

        assert (await second.answer())[0] == 503
        client.gate.kafka.answers.set()
        assert (await first.answer())[0] == 200
        second.head(b"Content-Length: 2")
        second.send(b"{}")
        assert (await second.answer())[0] == 200


@pytest.mark.parametrize("chunked", [True, False])
async def test_the_bodies_under_way_are_not_more_bytes_than_may_be(chunked: bool):
    async with served(max_under_way_bytes=1000) as client:
        first, second = await client.open(), await client.open()
        first.head(b"Content-Length: 900")
        await asyncio.sleep(0.05)
        second.head(b"Transfer-Encoding: chunked" if chunked else b"Content-Length: 200")
        if chunked:
            second.send(b"C8\r\n" + b"x" * 200 + b"\r\n")

        assert (await second.answer())[0] == 503
        first.writer.close()
        await asyncio.sleep(0.05)
        third = await client.open()
        third.head(b"Content-Length: 2")
        third.send(b"{}")
        assert (await third.answer())[0] == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /webhooks/acme HTTP/1.1\r\nNo colon\r\n\r\n",
        b"POST /webhooks/acme HTTP/1.1\r\nHost: x\r\nX-\xe9: 1\r\n\r\n",
        b"POST /webhooks/acme HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /webhooks/acme HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /webhooks/acme HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /webhooks/acme HTTP/1.1\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_refused(sent: bytes):
    async with served() as client:
        talk = await client.open()
        talk.send(sent + b"\r\n\r\n")

        status, headers, _ = await talk.answer()

        assert (status, headers["connection"]) == (400, "close")
        assert headers["content-type"] == "application/problem+json"
        assert await talk.closed()


async def test_requests_behind_one_another_are_all_answered():
    async with served() as client:
        talk = await client.open()
        for _ in range(3):
            talk.head(b"Content-Length: 2")
            talk.send(b"{}")

        assert [(await talk.answer())[0] for _ in range(3)] == [200, 200, 200]
        assert len(client.gate.kafka.records) == 3


async def test_a_sender_that_goes_away_in_its_body_leaves_nothing_behind():
    async with served(max_under_way=1) as client:
        talk = await client.open()
        talk.head(b"Content-Length: 1000")
        await asyncio.sleep(0.05)
        talk.writer.close()
        await asyncio.sleep(0.05)

        again = await client.open()
        again.head(b"Content-Length: 2")
        again.send(b"{}")

        assert (await again.answer())[0] == 200
        assert [value for value, _ in client.gate.kafka.records] == [b"{}"]


async def test_what_is_under_way_is_answered_before_the_end():
    async with served() as client:
        client.gate.kafka.answers.clear()
        talk, idle = await client.open(), await client.open()
        talk.head(b"Content-Length: 2")
        talk.send(b"{}")
        await asyncio.sleep(0.05)
        client.server.should_exit = True
        assert await idle.closed()
        client.gate.kafka.answers.set()

        assert (await talk.answer())[0] == 200
        assert await talk.closed()
