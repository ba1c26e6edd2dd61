"""A whole system for tests: a broker, real worker processes, simulated providers, and plain Kafka clients."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import yaml
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition

from streams.embedded.processes import Process, log_tail, start_child
from streams.simulation import paypal, shopify
from streams.simulation.server import serve
from streams.simulation.webhooks import WebhookRequest

SHOP = "acme-verify.myshopify.com"
SECRET = "a shop's secret of the tests"
TOKEN = "shpat_test"
CLIENT = ("client", "a client's secret of the tests")
QUICK = {"timeout_ms": 6000, "stale_read_window_ms": 1500, "max_attempts": 6, "poll_interval_ms": 1000}


def now_text() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def until(holds: Callable[[], bool], within_s: float) -> None:
    """Wait until something holds that nobody tells of."""
    async with asyncio.timeout(within_s):
        while not holds():
            await asyncio.sleep(0.05)


@dataclass
class System:
    """Everything a test needs. Topics, group and files are this system's own."""

    bootstrap: str
    prefix: str
    directory: Path
    environment: dict[str, str]
    kafka: AIOKafkaProducer
    shop: shopify.Book
    account: paypal.Book
    workers: list[Process] = field(default_factory=list)

    async def start_worker(self, **settings: str) -> Process:
        """Start a worker and wait until it says that it is ready."""
        self.health.unlink(missing_ok=True)
        worker = await self.run("worker", **settings)
        self.workers.append(worker)

        def ready() -> bool:
            assert worker.returncode is None, log_tail(self.log)
            return self.health.exists()

        await until(ready, within_s=40)
        return worker

    async def run(self, *arguments: str, **settings: str) -> Process:
        """Start one of the project's commands, its output in the log."""
        environment = self.environment | {f"PROOFSTREAM_{name.upper()}": value for name, value in settings.items()}
        command = (sys.executable, "-m", "streams.cli", *arguments)
        return await start_child(*command, log=self.log, environment=environment)

    @property
    def health(self) -> Path:
        return self.directory / "healthy"

    @property
    def log(self) -> Path:
        return self.directory / "log"

    async def publish(self, topic: str, value: bytes | None, key: bytes | None = None, headers: Any = ()) -> None:
        await self.kafka.send_and_wait(self.prefix + topic, value, key=key, headers=list(headers))

    async def start(self, contract: str, inputs: dict[str, Any], operation_id: str, **more: Any) -> dict[str, Any]:
        """Publish an operation that starts now."""
        operation = {
            "operation_id": operation_id,
            "contract": contract,
            "connection": "acme" if "order_id" in inputs else "pp",
            "created_at": now_text(),
            "input": inputs,
            **more,
        }
        await self.publish("operations", orjson.dumps(operation), operation_id.encode())
        return operation

    async def refund_order(
        self, number: int, contract: str = "shopify.refund.created", **refund: Any
    ) -> tuple[str, shopify.Refund]:
        """Start an operation, have the shop make the refund, and publish what the shop answered."""
        operation_id = f"op-{number}"
        asked = await self.start(contract, {"order_id": number, "amount": "42.50"}, operation_id)
        made = shopify.Refund(
            **{"number": number, "order_number": number, "amount": "42.50", "created_at": datetime.now(UTC), **refund}
        )
        self.shop.add(made)
        asked["action"] = {"result": {"refundCreate": {"refund": {"id": made.id}}}}
        await self.publish("operations", orjson.dumps(asked), operation_id.encode())
        return operation_id, made

    async def deliver(self, request: WebhookRequest, connection: str = "acme") -> None:
        headers = request.kafka_headers(connection, datetime.now(UTC))
        await self.publish("webhooks", request.body, headers=headers)

    async def deliver_refund(self, refund: shopify.Refund) -> None:
        await self.deliver(shopify.refund_created(refund, shop=SHOP, secret=SECRET, sent_at=datetime.now(UTC)), "acme")

    async def read(
        self, topic: str, enough: Callable[[list[ConsumerRecord]], bool], within_s: float = 30
    ) -> list[ConsumerRecord]:
        """Read a topic from its beginning until it holds enough, and a little longer, for what must not be there."""
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            fetch_max_wait_ms=100,
        )
        await consumer.start()
        found: list[ConsumerRecord] = []
        try:
            partitions = consumer.partitions_for_topic(self.prefix + topic) or range(4)
            consumer.assign([TopicPartition(self.prefix + topic, one) for one in partitions])
            await consumer.seek_to_beginning()
            deadline = asyncio.get_running_loop().time() + within_s
            while not enough(found):
                left = deadline - asyncio.get_running_loop().time()
                assert left > 0, f"{topic} holds only {[one.value for one in found]}\n{log_tail(self.log)}"
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    found += records
            for records in (await consumer.getmany(timeout_ms=500)).values():
                found += records
        finally:
            await consumer.stop()
        return found

    async def verdicts(self, operation_id: str, count: int = 1, within_s: float = 30) -> list[dict[str, Any]]:
        """Wait for so many different verdicts of an operation, and return them in sequence."""

        def distinct(records: list[ConsumerRecord]) -> dict[str, dict[str, Any]]:
            parsed = [orjson.loads(one.value) for one in records if one.key == operation_id.encode()]
            return {one["verdict_id"]: one for one in parsed}

        records = await self.read("verdicts", lambda found: len(distinct(found)) >= count, within_s)
        return sorted(distinct(records).values(), key=lambda one: one["sequence"])


def write_contracts(directory: Path, name: str, timing: dict[str, int]) -> Path:
    """Write the built-in contracts once more, as `{name}.…`, with another timing."""
    for found in Path("contracts/catalog").rglob("*.yaml"):
        document = yaml.safe_load(found.read_text())
        document["id"] = f"{name}.{document['id']}"
        document["timing"] |= timing
        directory.mkdir(exist_ok=True)
        (directory / f"{document['id']}.yaml").write_text(yaml.safe_dump(document))
    return directory


@contextlib.asynccontextmanager
async def running_system(bootstrap: str, prefix: str, directory: Path, kind: str) -> AsyncIterator[System]:
    """Run simulated providers and prepare everything for workers against a broker."""
    shop, account = shopify.Book(), paypal.Book()
    async with (
        serve(shopify.create_app(shop, access_token=TOKEN)) as shop_url,
        serve(paypal.create_app(account, client_id=CLIENT[0], client_secret=CLIENT[1])) as paypal_url,
    ):
        connections = [
            {"id": "acme", "provider": "shopify", "shop": SHOP, "base_url": shop_url,
             "credentials": {"access_token": {"env": "TEST_TOKEN"}},
             "webhook_auth": {"hmac_secrets": [{"env": "TEST_SECRET"}]}},
            {"id": "pp", "provider": "paypal", "base_url": paypal_url,
             "credentials": {"client_id": {"env": "TEST_CLIENT"}, "client_secret": {"env": "TEST_CLIENT_SECRET"}},
             "webhook_auth": "trusted"},
        ]  # fmt: skip
        (directory / "connections.yaml").write_text(yaml.safe_dump({"connections": connections}))
        environment = {
            "TEST_TOKEN": TOKEN,
            "TEST_SECRET": SECRET,
            "TEST_CLIENT": CLIENT[0],
            "TEST_CLIENT_SECRET": CLIENT[1],
            "PROOFSTREAM_BOOTSTRAP_SERVERS": bootstrap,
            "PROOFSTREAM_BROKER": kind,
            "PROOFSTREAM_TOPIC_PREFIX": prefix,
            "PROOFSTREAM_APP_ID": f"{prefix}app",
            "PROOFSTREAM_PARTITIONS": "4",
            "PROOFSTREAM_SESSION_TIMEOUT_S": "2",
            "PROOFSTREAM_CONNECTIONS_FILE": str(directory / "connections.yaml"),
            "PROOFSTREAM_CONTRACT_DIRECTORIES": str(write_contracts(directory / "contracts", "quick", QUICK)),
            "PROOFSTREAM_DATA_DIR": str(directory / "data"),
            "PROOFSTREAM_HEALTH_FILE": str(directory / "healthy"),
        }
        kafka = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", enable_idempotence=kind == "kafka")
        await kafka.start()
        system = System(bootstrap, prefix, directory, environment, kafka, shop, account)
        try:
            yield system
        finally:
            await kafka.stop()
            for worker in system.workers:
                if worker.returncode is None:
                    worker.kill()
                    await worker.wait()
