"""A seeded world: refunds that were asked for, what the providers made of them, and what must be said of each.

Its contracts are the built-in ones with a timing that faults cannot outlast: what is true in the end must be said in
the end, however long a worker was dead. Only what is never seen again has a short timeout.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson
from aiokafka.structs import RecordMetadata

from streams.simulation import paypal, shopify
from streams.simulation.webhooks import WebhookRequest
from tests.integration.system import SECRET, SHOP, System, now_text, write_contracts

CALM = {"timeout_ms": 900_000, "stale_read_window_ms": 1000, "max_attempts": 60, "poll_interval_ms": 1000}
HURRIED = {"timeout_ms": 4000, "stale_read_window_ms": 1000, "max_attempts": 4, "poll_interval_ms": 1000}
KINDS = ("good", "good", "good", "early", "second", "wrong", "failed", "lost", "changed")
POISON = (None, b"", b"\xff\xfe", b"{}", b'{"kind":"tick","at":"x"}')
CONSUMED = ("operations", "webhooks", "cases", "readbacks")

Place = tuple[str, int, int]
"""Topic without the prefix, partition, offset."""


@dataclass
class Expected:
    """What must come out: the last verdict of each operation by its id, and the places of what must be refused."""

    verdicts: dict[str, str] = field(default_factory=dict)
    refused: set[Place] = field(default_factory=set)
    published: int = 0


class World:
    """Publishes operations and deliveries, each by its own plan, and knows what they come to."""

    def __init__(self, system: System, seed: int) -> None:
        self._system = system
        self._seed = seed
        self._next = 1
        self.expected = Expected()
        write_contracts(system.directory / "contracts", "calm", CALM)
        write_contracts(system.directory / "contracts", "hurried", HURRIED)

    async def live(self, operations: int, within_s: float) -> None:
        """Begin so many operations at random times within a span, and see each through; returns when all is sent."""
        numbers = range(self._next, self._next + operations)
        self._next += operations
        await asyncio.gather(*(self._see_through(number, within_s) for number in numbers))

    async def poison(self) -> None:
        """Publish what no stage can read, on every topic that one reads."""
        for topic in CONSUMED:
            for number, value in enumerate(POISON):
                key = f"case/acme/order_id/poison-{number}".encode()
                await self._send(topic, value, key, [("connection_id", b"pp")], refused=True)

    async def _see_through(self, number: int, within_s: float) -> None:
        chance = random.Random(f"{self._seed}/{number}")
        await asyncio.sleep(chance.random() * within_s)
        kind, created_at = chance.choice(KINDS), now_text()
        plan = _Refunds.of_shop if chance.random() < 0.5 else _Refunds.of_account
        made = plan(self._system, number, kind)
        contract = f"{'hurried' if kind == 'lost' else 'calm'}.{made.contract}"
        operation = {
            "operation_id": f"op-{number}",
            "contract": contract,
            "connection": made.connection,
            "created_at": created_at,
            "input": made.inputs,
        }
        self.expected.verdicts[f"op-{number}"] = made.comes_to
        deliveries = [made.deliver(one) for one in range(made.count)]
        deliveries = [one for one in deliveries for _ in range(chance.randint(1, 3))] if kind != "lost" else []
        chance.shuffle(deliveries)
        if kind == "early":
            await self._deliver(deliveries.pop(), made.connection)
        if chance.random() < 0.5:  # what came of it is known later
            await self._operation(operation)
            await asyncio.sleep(chance.random())
        told = operation | {"action": {"result": made.result}}
        for _ in range(chance.choice((1, 1, 2))):
            await self._operation(told)
        if kind == "changed":
            await self._operation(told | {"input": {**made.inputs, "amount": "1.00"}}, refused=True)
        for one in deliveries:
            await asyncio.sleep(chance.random() * 0.5)
            await self._deliver(one, made.connection)

    async def _operation(self, operation: dict[str, Any], *, refused: bool = False) -> None:
        await self._send("operations", orjson.dumps(operation), operation["operation_id"].encode(), [], refused=refused)

    async def _deliver(self, request: WebhookRequest, connection: str) -> None:
        await self._send("webhooks", request.body, None, request.kafka_headers(connection, datetime.now(UTC)))

    async def _send(self, topic: str, value: Any, key: Any, headers: Any, *, refused: bool = False) -> None:
        record = {"value": value, "key": key, "headers": headers}
        sent: RecordMetadata = await self._system.kafka.send_and_wait(self._system.prefix + topic, **record)
        self.expected.published += 1
        if refused:
            self.expected.refused.add((topic, sent.partition, sent.offset))


_COMES_TO = {
    "good": "VERIFIED",
    "early": "VERIFIED",
    "changed": "VERIFIED",
    "second": "CONTRADICTED",
    "wrong": "CONTRADICTED",
    "failed": "FAILED",
    "lost": "UNVERIFIABLE",
}


@dataclass(frozen=True)
class _Refunds:
    """What a provider made of one operation."""

    contract: str
    connection: str
    inputs: dict[str, Any]
    result: dict[str, Any]
    comes_to: str
    count: int
    deliver: Callable[[int], WebhookRequest]

    @classmethod
    def of_shop(cls, system: System, number: int, kind: str) -> "_Refunds":
        """Have the shop make an operation's refunds."""
        now = datetime.now(UTC)
        amount = "42.05" if kind == "wrong" else "42.50"
        status = "FAILURE" if kind == "failed" else "SUCCESS"
        made = [
            shopify.Refund(number=10 * number + one, order_number=number, amount=amount, created_at=now, status=status)
            for one in range(2 if kind == "second" else 1)
        ]
        for one in made if kind != "lost" else []:
            system.shop.add(one)
        return cls(
            "shopify.refund.created",
            "acme",
            {"order_id": number, "amount": "42.50"},
            {"refundCreate": {"refund": {"id": made[0].id}}},
            _COMES_TO[kind],
            len(made),
            lambda one: shopify.refund_created(made[one], shop=SHOP, secret=SECRET, sent_at=now),
        )

    @classmethod
    def of_account(cls, system: System, number: int, kind: str) -> "_Refunds":
        """Have the account make an operation's refunds."""
        now = datetime.now(UTC)
        amount = "60.01" if kind == "wrong" else "60.00"
        status = "FAILED" if kind == "failed" else "COMPLETED"
        made = [
            paypal.Refund(f"REFUND{number}N{one}", f"CAPTURE{number}", amount, now, status)
            for one in range(2 if kind == "second" else 1)
        ]
        for one in made if kind != "lost" else []:
            system.account.add(one)
        return cls(
            "paypal.refund.recorded",
            "pp",
            {"capture_id": f"CAPTURE{number}", "amount": "60.00", "currency_code": "USD"},
            {"id": made[0].id},
            "VERIFIED" if kind == "failed" else _COMES_TO[kind],  # a failed refund is recorded all the same
            len(made),
            lambda one: paypal.capture_refunded(made[one], webhook_id="W", sent_at=now),
        )
