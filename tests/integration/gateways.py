"""A gateway as a provider finds it: the real command in a process of its own, spoken to over HTTP."""

import asyncio
import base64
import contextlib
import hmac
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any

import httpx
from aiokafka import ConsumerRecord
from system import SECRET, SHOP, System

from streams.embedded.broker import HOST, free_port
from streams.embedded.processes import Process, log_tail
from streams.settings import Settings
from streams.transport.topics import ensure_topics

ANSWERS_WITHIN_S = 4.0


def signed(body: bytes, secret: str = SECRET) -> dict[str, str]:
    """Headers that Shopify sends with a body."""
    return {
        "X-Shopify-Topic": "refunds/create",
        "X-Shopify-Shop-Domain": SHOP,
        "X-Shopify-Hmac-Sha256": base64.b64encode(hmac.digest(secret.encode(), body, "sha256")).decode(),
        "Content-Type": "application/json",
    }


@dataclass
class Gateway:
    """A running gateway."""

    system: System
    process: Process
    port: int
    client: httpx.AsyncClient

    async def deliver(self, body: bytes, headers: Any = None, to: str = "acme") -> httpx.Response:
        headers = signed(body) if headers is None else headers
        return await self.client.post(f"/webhooks/{to}", content=body, headers=headers)

    async def until_ready(self, ready: bool = True, within_s: float = 20) -> None:
        """Wait until the gateway says that it is, or that it is not."""
        async with asyncio.timeout(within_s):
            while True:
                assert self.process.returncode is None, log_tail(self.system.log)
                with contextlib.suppress(httpx.ConnectError):
                    if (await self.client.get("/readyz")).is_success == ready:
                        return
                await asyncio.sleep(0.05)

    async def stop(self) -> int:
        """Send SIGTERM, and return the exit code."""
        self.process.terminate()
        return await asyncio.wait_for(self.process.wait(), 15)

    async def records(self, count: int) -> list[ConsumerRecord]:
        """Read the topic `webhooks` until it holds so many records, and a little longer."""
        return await self.system.read("webhooks", lambda found: len(found) >= count)


@contextlib.asynccontextmanager
async def running_gateway(system: System, **settings: Any) -> AsyncIterator[Gateway]:
    """Run a gateway in a system. It is ready: the topics are there."""
    environment = system.environment
    await ensure_topics(
        Settings(
            bootstrap_servers=system.bootstrap,
            broker=environment["PROOFSTREAM_BROKER"],
            topic_prefix=system.prefix,
            app_id=environment["PROOFSTREAM_APP_ID"],
            partitions=int(environment["PROOFSTREAM_PARTITIONS"]),
        )
    )
    port = free_port()
    given = {f"gateway_{name}": str(value) for name, value in settings.items()}
    process = await system.run("gateway", "--host", HOST, "--port", str(port), **given)
    system.workers.append(process)  # what still runs at the end is ended with it
    async with httpx.AsyncClient(base_url=f"http://{HOST}:{port}", timeout=10, trust_env=False) as client:
        gateway = Gateway(system, process, port, client)
        await gateway.until_ready()
        yield gateway


def values(records: Iterable[ConsumerRecord]) -> list[bytes]:
    return [one.value for one in records]
