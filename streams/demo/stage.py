"""What a case of the demo can do: publish its operation, and have a provider send deliveries."""

import asyncio
import itertools
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from streams.demo.board import Board
from streams.demo.world import PAYPAL, SHOP, SHOP_DOMAIN, World
from streams.simulation import paypal, shopify
from streams.simulation.webhooks import WebhookRequest
from streams.transport.topics import OPERATIONS, WEBHOOKS

_SENT_AFTER_S = 1.0
_WEBHOOK_ID = "1DEMOWEBHOOK00001"


@dataclass(frozen=True, slots=True)
class Stage:
    """The world, what came of it so far, and the operations published."""

    world: World
    board: Board
    _operations: dict[str, dict[str, Any]] = field(default_factory=dict)
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(6_900_000_000_001))

    def next_number(self) -> int:
        """Return a number for an id, as long as a provider's."""
        return next(self._numbers)

    async def later(self, seconds: float) -> datetime:
        """Wait, and return the time."""
        await asyncio.sleep(seconds)
        return datetime.now(UTC)

    async def start(self, operation_id: str, contract: str, connection: str, inputs: dict[str, Any]) -> None:
        """Publish an operation, as its producer does right before its action."""
        self._operations[operation_id] = {
            "operation_id": operation_id,
            "contract": contract,
            "connection": connection,
            "created_at": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "input": inputs,
        }
        await self._publish(operation_id)

    async def finish(self, operation_id: str, result: dict[str, Any]) -> None:
        """Publish an operation once more, with what the provider answered to its action."""
        self._operations[operation_id]["action"] = {"result": result}
        await self._publish(operation_id)

    async def _publish(self, operation_id: str) -> None:
        topic = self.world.settings.topic(OPERATIONS)
        value = orjson.dumps(self._operations[operation_id])
        await self.world.kafka.send_and_wait(topic, value, key=operation_id.encode())

    async def deliver_shopify(self, refund: shopify.Refund) -> None:
        """Have the shop send a refund's delivery, a moment after the refund."""
        await self._deliver(await self._shopify_webhook(refund), SHOP)

    async def deliver_forged(self, refund: shopify.Refund) -> None:
        """Have somebody on the way change one byte, a digit of an amount, in a refund's delivery."""
        genuine, amount = await self._shopify_webhook(refund), b'"amount":"'
        await self._deliver(genuine.with_flipped_byte(genuine.body.rindex(amount) + len(amount)), SHOP)

    async def _shopify_webhook(self, refund: shopify.Refund) -> WebhookRequest:
        sent_at = await self.later(_SENT_AFTER_S)
        return shopify.refund_created(refund, shop=SHOP_DOMAIN, secret=self.world.shop_secret, sent_at=sent_at)

    async def deliver_paypal(self, refund: paypal.Refund) -> None:
        """Have PayPal send a refund's delivery, a moment after the refund."""
        sent_at = await self.later(_SENT_AFTER_S)
        await self._deliver(paypal.capture_refunded(refund, webhook_id=_WEBHOOK_ID, sent_at=sent_at), PAYPAL)

    async def _deliver(self, request: WebhookRequest, connection: str) -> None:
        """Produce a delivery as a gateway does: the raw body, its HTTP headers, and where and when it arrived."""
        topic = self.world.settings.topic(WEBHOOKS)
        headers = request.kafka_headers(connection, datetime.now(UTC))
        await self.world.kafka.send_and_wait(topic, request.body, headers=headers)
