"""The load for the gateway's benchmark: signed deliveries over connections that stay open, by hand on plain sockets.

A library would take as long for a request as the server does, and the two cores of a small machine would measure it.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import cycle

from streams.simulation import shopify

SHOP, SECRET = "acme-verify.myshopify.com", "a secret of the benchmark"


@dataclass(slots=True)
class Load:
    """What came of a load: the answers by status, how long each took, and how long it all took."""

    answers: dict[int, int] = field(default_factory=dict)
    latencies_ms: list[float] = field(default_factory=list)
    took_s: float = 0

    @property
    def per_s(self) -> float:
        """Deliveries answered 200, a second."""
        return self.answers.get(200, 0) / self.took_s

    def percentile(self, percent: float) -> float:
        """Return a percentile of the latencies, in milliseconds."""
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def requests(count: int) -> list[bytes]:
    """Write so many refunds' deliveries as they go over the wire."""
    now, written = datetime.now(UTC), []
    for number in range(1, count + 1):
        made = shopify.refund_created(
            shopify.Refund(number, number, "42.50", now), shop=SHOP, secret=SECRET, sent_at=now
        )
        head = {"Host": "gateway", **made.headers, "Accept": "*/*", "Content-Length": str(len(made.body))}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        written.append(f"POST /webhooks/acme HTTP/1.1\r\n{lines}\r\n".encode() + made.body)
    return written


async def as_fast_as_it_goes(port: int, deliveries: Sequence[bytes], connections: int, seconds: float) -> Load:
    """Keep every connection busy: each sends its next delivery when the last one is answered."""
    load, turns = Load(), cycle(deliveries)
    started = time.perf_counter()

    async def keep_busy() -> None:
        async with asyncio.timeout(seconds + 30):
            talk = await _Talk.open(port)
            while time.perf_counter() - started < seconds:
                await talk.deliver(next(turns), load, time.perf_counter())
            talk.close()

    await asyncio.gather(*(keep_busy() for _ in range(connections)))
    load.took_s = time.perf_counter() - started
    return load


async def at_a_rate(port: int, deliveries: Sequence[bytes], connections: int, per_s: int, seconds: float) -> Load:
    """Send at a steady rate, whatever is answered. A delivery's time begins when it is due, waiting included."""
    load, turns = Load(), cycle(deliveries)
    started = time.perf_counter()
    due: Iterator[float] = (started + number / per_s for number in range(int(per_s * seconds)))

    async def take_turns() -> None:
        talk = await _Talk.open(port)
        for at in due:
            await asyncio.sleep(max(0.0, at - time.perf_counter()))
            await talk.deliver(next(turns), load, at)
        talk.close()

    await asyncio.gather(*(take_turns() for _ in range(connections)))
    load.took_s = time.perf_counter() - started
    return load


class _Talk:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> "_Talk":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def deliver(self, delivery: bytes, load: Load, since: float) -> None:
        self._writer.write(delivery)
        head = await self._reader.readuntil(b"\r\n\r\n")
        status = int(head[9:12])
        if status != 200:  # noqa: PLR2004
            length = head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]
            await self._reader.readexactly(int(length))
        load.answers[status] = load.answers.get(status, 0) + 1
        load.latencies_ms.append((time.perf_counter() - since) * 1000)

    def close(self) -> None:
        self._writer.close()
