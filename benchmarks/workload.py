"""What is to be done: refunds at Shopify and PayPal, half and half, as operations, as deliveries and as read answers.

Operation ``i`` is of Shopify where ``i`` is even, of PayPal where it is odd. Its delivery verifies it, provided that it
is known and its read has been answered. The contracts are the built-in ones with a schedule of a single read, so that
nothing falls due while something else is measured.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import orjson
import yaml

from benchmarks.kafka import Message
from contracts.instants import to_rfc3339
from contracts.model import Contract
from streams.simulation import paypal, shopify
from verifiers.answers import classify
from verifiers.reads import Answer

SHOP: Final = "acme-verify.myshopify.com"
SECRET: Final = "a shop's secret of the benchmark"  # noqa: S105 - it opens nothing
CATALOGUE: Final = Path(__file__).parent.parent / "contracts" / "catalog"
REPEAT_EVERY: Final = 20
"""One delivery in so many is repeated: 5 %."""

_DAY_MS = 86_400_000
INITIAL_DELAY_MS: Final = 1000
_TIMING = {
    "initial_delay_ms": INITIAL_DELAY_MS,
    "poll_interval_ms": _DAY_MS,
    "backoff": {"kind": "exponential", "factor": 2, "max_ms": _DAY_MS},
    "timeout_ms": 7 * _DAY_MS,
    "max_attempts": 2,
}
_FIRST_NUMBER = 1_000_000_000
_BORN_AFTER_MS = 200
_AMOUNT = "42.50"


@dataclass(frozen=True, slots=True)
class Workload:
    """Operations of one moment. ``created_ms``: when they started; a read is due a second later."""

    created_ms: int

    @property
    def born(self) -> datetime:
        """When the providers made the refunds. Both show whole seconds, so it is not in the second of the start."""
        return datetime.fromtimestamp(self.created_ms / 1000, UTC) + timedelta(seconds=1, milliseconds=_BORN_AFTER_MS)

    def operation(self, index: int) -> Message:
        """Return the message for `operations`."""
        number = refund_number(index)
        if index % 2 == 0:
            contract, connection = "bench.shopify.refund.created", "acme"
            inputs = {"order_id": f"gid://shopify/Order/{number}", "amount": _AMOUNT}
            result: dict[str, Any] = {"refundCreate": {"refund": {"id": f"gid://shopify/Refund/{number}"}}}
        else:
            contract, connection = "bench.paypal.refund.recorded", "pp"
            inputs = {"capture_id": f"CAP{number}", "amount": _AMOUNT, "currency_code": "USD"}
            result = {"id": f"REF{number}"}
        operation = {
            "operation_id": operation_id(index),
            "contract": contract,
            "connection": connection,
            "created_at": to_rfc3339(self.created_ms),
            "input": inputs,
            "action": {"result": result},
        }
        return operation_id(index).encode(), orjson.dumps(operation), ()

    def delivery(self, index: int) -> Message:
        """Return the message for `webhooks`, signed where the provider signs. Its key is the operation's id."""
        number, born = refund_number(index), self.born
        if index % 2 == 0:
            refund = shopify.Refund(number=number, order_number=number, amount=_AMOUNT, created_at=born)
            request = shopify.refund_created(refund, shop=SHOP, secret=SECRET, sent_at=born)
            connection = "acme"
        else:
            payment = paypal.Refund(f"REF{number}", f"CAP{number}", _AMOUNT, born)
            request = paypal.capture_refunded(payment, webhook_id="WH-BENCH", sent_at=born)
            connection = "pp"
        return operation_id(index).encode(), request.body, request.kafka_headers(connection, born)

    def deliveries(self, indexes: Iterable[int]) -> Iterator[Message]:
        """Return the deliveries of operations; one in twenty comes a second time, twenty deliveries later."""
        again: list[Message] = []
        for index in indexes:
            message = self.delivery(index)
            yield message
            if index % REPEAT_EVERY == 0:
                again.append(message)
            if index % REPEAT_EVERY == REPEAT_EVERY - 1 and again:
                yield again.pop()
        yield from again

    def answer(self, contract: Contract, channel: str, inputs: Mapping[str, str]) -> Answer:
        """Answer a read as the provider would, without HTTP."""
        template = contract.readings.requests[channel]
        body = self._shopify(inputs["id"]) if template.graphql is not None else self._paypal(inputs["refund_id"])
        return classify(template, contract.paths_of(channel), 200, {}, orjson.dumps(body))

    def _shopify(self, refund_id: str) -> dict[str, Any]:
        number = refund_id.rpartition("/")[2]
        refund = {
            "id": refund_id,
            "createdAt": f"{self.born:%Y-%m-%dT%H:%M:%SZ}",
            "order": {"id": f"gid://shopify/Order/{number}"},
            "totalRefundedSet": {"shopMoney": {"amount": "42.5", "currencyCode": "USD"}},
            "transactions": {"nodes": [{"status": "SUCCESS", "errorCode": None}]},
        }
        return {"data": {"refund": refund}}

    def _paypal(self, refund_id: str) -> dict[str, Any]:
        money = {"value": _AMOUNT, "currency_code": "USD"}
        return {
            "id": refund_id,
            "status": "COMPLETED",
            "amount": money,
            "create_time": f"{self.born:%Y-%m-%dT%H:%M:%SZ}",
        }


def operation_id(index: int) -> str:
    """Name an operation; all names have the same length."""
    return f"op-{index:010}"


def refund_number(index: int) -> int:
    """Return the number that a provider has given to an operation's refund; all have the same length."""
    return _FIRST_NUMBER + index


def dealt_out(messages: Iterable[Message], partitions: int) -> dict[int, list[Message]]:
    """Deal messages out to partitions, one after the other."""
    dealt: dict[int, list[Message]] = {partition: [] for partition in range(partitions)}
    for number, message in enumerate(messages):
        dealt[number % partitions].append(message)
    return dealt


def write_configuration(directory: Path) -> dict[str, str]:
    """Write connections and contracts.

    Returns:
        The environment in which every contender finds them.
    """
    connections = [
        {
            "id": "acme",
            "provider": "shopify",
            "shop": SHOP,
            "credentials": {"access_token": {"env": "BENCH_TOKEN"}},
            "webhook_auth": {"hmac_secrets": [{"env": "BENCH_SECRET"}]},
        },
        {
            "id": "pp",
            "provider": "paypal",
            "credentials": {"client_id": {"env": "BENCH_TOKEN"}, "client_secret": {"env": "BENCH_TOKEN"}},
            "webhook_auth": "trusted",
        },
    ]
    (directory / "connections.yaml").write_text(yaml.safe_dump({"connections": connections}))
    (directory / "contracts").mkdir()
    for found in CATALOGUE.rglob("*.yaml"):
        contract = yaml.safe_load(found.read_text())
        contract["id"] = f"bench.{contract['id']}"
        contract["timing"] |= _TIMING
        (directory / "contracts" / f"{contract['id']}.yaml").write_text(yaml.safe_dump(contract))
    return {
        "BENCH_TOKEN": "token",
        "BENCH_SECRET": SECRET,
        "PROOFSTREAM_CONNECTIONS_FILE": str(directory / "connections.yaml"),
        "PROOFSTREAM_CONTRACT_DIRECTORIES": str(directory / "contracts"),
        "PROOFSTREAM_LOG_LEVEL": "WARNING",
    }
