"""The gateway on a broker: what is authentic is on the topic byte for byte, and nothing else is."""

import asyncio
import gzip
import itertools
import signal
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import httpx
import orjson
import pytest
from gateways import running_gateway, signed, values
from system import SECRET, SHOP, System

from contracts.instants import parse_instant
from streams.clock import clock_ms
from streams.embedded.processes import log_tail
from streams.simulation import shopify

ODD = [
    rb'{"note": "\/ as PHP writes it"}',
    '{"note": "\u2028"}'.encode(),
    b"\xef\xbb\xbf{}",
    gzip.compress(b'{"note": "compressed, and left so"}'),
    bytes(range(256)) * 3000,
    b"",
]


async def test_what_is_authentic_is_on_the_topic_byte_for_byte_and_nothing_else(system: System):
    async with running_gateway(system, max_body_bytes=1_000_000, answer_within_s=2) as gateway:
        before = clock_ms()
        hostile = {"connection_id": "pp", "Arrived_At": "2001-01-01T00:00:00Z", "Cookie": "a=b", "X-Latin": b"\xe9\xff"}
        for body in ODD:
            encoding = {"Content-Encoding": "gzip"} if body[:2] == b"\x1f\x8b" else {}
            assert (await gateway.deliver(body, {**signed(body), **hostile, **encoding})).status_code == 200

        async def chunks() -> AsyncIterator[bytes]:
            for part in (b"chu", b"nk", b"ed"):
                yield part

        url = "/webhooks/acme"
        assert (await gateway.client.post(url, content=chunks(), headers=signed(b"chunked"))).status_code == 200

        body = b'{"id": 1}'
        for position in range(len(body)):
            forged = body[:position] + bytes([body[position] ^ 1]) + body[position + 1 :]
            assert (await gateway.deliver(forged, signed(body))).status_code == 401
        assert (await gateway.deliver(body, signed(body, "another secret"))).status_code == 401
        assert (await gateway.deliver(body, to="nobody")).status_code == 404
        assert (await gateway.deliver(body, to="pp")).status_code == 403
        assert (await gateway.client.get(url)).status_code == 405

        assert await said(gateway.port, b"Content-Length: 1000001") == 413
        piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        assert await said(gateway.port, b"Transfer-Encoding: chunked", piece * 16) == 413
        assert await said(gateway.port, b"Content-Length: 10", b"slow") == 408

        found = await gateway.records(len(ODD) + 1)
        assert sorted(values(found)) == sorted([*ODD, b"chunked"])
        for one in found:
            names = [name for name, _ in one.headers]
            headers = dict(one.headers)
            assert len(names) == len(set(names))
            assert headers["connection_id"] == b"acme"
            assert before <= parse_instant(headers["arrived_at"].decode()).start_ms <= clock_ms()
            assert "cookie" not in names
            assert headers.get("x-latin", b"\xe9\xff") == b"\xe9\xff"
        assert await gateway.stop() == 0
    assert SECRET not in system.log.read_text()


async def said(port: int, header: bytes, sent: bytes = b"") -> int:
    """Begin a delivery, do not end it, and return the status of what is answered, within three seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /webhooks/acme HTTP/1.1\r\nHost: x\r\n" + header + b"\r\n\r\n" + sent)
    async with asyncio.timeout(3):
        status = int((await reader.readline()).split()[1])
    writer.close()
    return status


async def test_a_refund_delivered_over_http_is_verified(system: System):
    async with running_gateway(system) as gateway:
        await system.start_worker()
        operation, made = await system.refund_order(1)
        sent = shopify.refund_created(made, shop=SHOP, secret=SECRET, sent_at=datetime.now(UTC))

        assert (await gateway.deliver(sent.body, sent.headers)).status_code == 200

        (verdict,) = await system.verdicts(operation)
        assert verdict["verdict"] == "VERIFIED", log_tail(system.log)


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGKILL], ids=lambda one: one.name)
async def test_no_end_loses_a_delivery_that_was_answered_200(system: System, ended_by: signal.Signals):
    async with running_gateway(system) as gateway:
        taken: list[bytes] = []
        answers: list[int] = []
        numbers = itertools.count()

        async def provider() -> None:
            while True:
                body = orjson.dumps({"id": next(numbers)})
                try:
                    answer = await gateway.deliver(body)
                except httpx.TransportError:
                    return  # it listens no more: a provider comes again
                answers.append(answer.status_code)
                if answer.is_success:
                    taken.append(body)

        providers = [asyncio.create_task(provider()) for _ in range(16)]
        await asyncio.sleep(0.5)
        gateway.process.send_signal(ended_by)
        code = await asyncio.wait_for(gateway.process.wait(), 15)
        await asyncio.wait_for(asyncio.gather(*providers), 15)

        assert code == (0 if ended_by == signal.SIGTERM else -ended_by), log_tail(system.log)
        assert len(taken) > 100
        assert set(answers) == {200}
        found = values(await gateway.records(len(taken)))
        assert set(taken) <= set(found)
        assert len(found) == len(set(found))
