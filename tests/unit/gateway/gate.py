"""A gateway without Kafka and without a network: its app, called as a server calls it."""

import asyncio
import base64
import hmac
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from aiokafka.structs import ConsumerRecord, RecordMetadata, TopicPartition

from streams.gateway.app import create_app
from streams.gateway.headers import KafkaHeaders
from streams.gateway.publisher import NotAcknowledged
from streams.gateway.settings import GatewaySettings
from verifiers.connection import INLINE_SECRETS
from verifiers.connections import parse_connection

SHOP = "acme-verify.myshopify.com"
SECRET = "a shop's secret of the tests"
TOKEN = "a-token-of-the-tests-0123456789"
RawHeaders = Sequence[tuple[bytes, bytes]]
CONNECTIONS = {
    one["id"]: parse_connection(one, "tests", INLINE_SECRETS)
    for one in (
        {"id": "acme", "provider": "shopify", "shop": SHOP, "webhook_auth": {"hmac_secrets": ["an old one", SECRET]}},
        {"id": "believed", "provider": "shopify", "shop": SHOP, "webhook_auth": "trusted"},
    )
}


class Kafka:
    """Stands in for the publisher: what it was given, and how it behaves."""

    def __init__(self) -> None:
        self.records: list[tuple[bytes, KafkaHeaders]] = []
        self.ready = True
        self.error: Exception | None = None
        self.silent = False
        self.answers = asyncio.Event()
        self.answers.set()

    async def publish(self, value: bytes, headers: KafkaHeaders, deadline: float) -> RecordMetadata:
        self.records.append((value, headers))
        try:
            async with asyncio.timeout_at(deadline):
                await self.answers.wait()
        except TimeoutError:
            raise NotAcknowledged("Kafka did not acknowledge it in time") from None
        if self.error is not None:
            raise self.error
        return RecordMetadata("webhooks", 0, TopicPartition("webhooks", 0), len(self.records) - 1, 0, 0, 0)


@dataclass
class Gate:
    """The app, and the Kafka behind it."""

    settings: GatewaySettings
    kafka: Kafka = field(default_factory=Kafka)

    def __post_init__(self) -> None:
        self.app: Any = create_app(self.settings, CONNECTIONS, self.kafka)  # type: ignore[arg-type]

    async def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
            return await client.request(method, path, **more)

    async def deliver(
        self, body: bytes | AsyncIterator[bytes], headers: RawHeaders = (), to: str = "acme"
    ) -> httpx.Response:
        return await self.request("POST", f"/webhooks/{to}", content=body, headers=list(headers))


def consumed(value: bytes, headers: KafkaHeaders) -> ConsumerRecord:
    """What a worker gets of a record."""
    return ConsumerRecord("webhooks", 0, 0, 0, 0, None, value, None, -1, len(value), headers)


def make_gate(**settings: Any) -> Gate:
    return Gate(GatewaySettings(_env_file=None, **settings))


def signature(body: bytes, secret: str = SECRET) -> bytes:
    return base64.b64encode(hmac.digest(secret.encode(), body, "sha256"))


def signed(body: bytes, secret: str = SECRET, more: Iterable[tuple[bytes, bytes]] = ()) -> list[tuple[bytes, bytes]]:
    return [
        (b"X-Shopify-Topic", b"refunds/create"),
        (b"X-Shopify-Shop-Domain", SHOP.encode()),
        (b"X-Shopify-Hmac-Sha256", signature(body, secret)),
        *more,
    ]
