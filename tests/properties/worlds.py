"""Random small worlds for properties: an order, some refunds of it, an operation, and what the shop answers."""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from contracts.catalogue import Catalogue
from contracts.instants import parse_instant, to_rfc3339
from streams.intake import Context
from streams.policy import Policy
from streams.replay.history import History, ProviderScript, ScriptedAnswer, Step, Webhook
from streams.replay.runner import Outcome, replay
from verifiers.connection import INLINE_SECRETS
from verifiers.connections import parse_connection

CONTEXT = Context(Catalogue.load(), {}, Policy())
SECRET = "a secret of the tests"
START_MS = parse_instant("2026-03-12T15:42:17.900Z").start_ms
SHOP = parse_connection(
    {"id": "acme", "provider": "shopify", "shop": "acme.test", "webhook_auth": {"hmac_secrets": [SECRET]}},
    "test",
    INLINE_SECRETS,
)
OPERATION = {
    "operation_id": "op-1",
    "contract": "shopify.refund.created",
    "connection": "acme",
    "created_at": to_rfc3339(START_MS),
    "input": {"order_id": "69", "amount": "42.50"},
    "action": {"result": {"refundCreate": {"refund": {"id": "gid://shopify/Refund/1"}}}},
}


def delivery(refund: int, born_s: int = 1, order: int = 69, delivery_id: str = "d") -> Webhook:
    """A signed `refunds/create` delivery of a refund that was made so many seconds after the operation's start."""
    body = json.dumps({"id": refund, "order_id": order, "created_at": to_rfc3339(START_MS + born_s * 1000)[:19] + "Z"})
    signature = base64.b64encode(hmac.digest(SECRET.encode(), body.encode(), hashlib.sha256)).decode()
    headers = {
        "X-Shopify-Topic": "refunds/create",
        "X-Shopify-Shop-Domain": "acme.test",
        "X-Shopify-Hmac-Sha256": signature,
        "X-Shopify-Event-Id": f"e{refund}",
        "X-Shopify-Webhook-Id": delivery_id,
    }
    return Webhook(connection="acme", headers=headers, body=body)


def refund_answer(amount: str = "42.5", order: int = 69, status: str = "SUCCESS", born_s: int = 1) -> ScriptedAnswer:
    """What the Admin API answers for refund 1."""
    refund = {
        "id": "gid://shopify/Refund/1",
        "createdAt": to_rfc3339(START_MS + born_s * 1000)[:19] + "Z",
        "order": {"id": f"gid://shopify/Order/{order}"},
        "totalRefundedSet": {"shopMoney": {"amount": amount, "currencyCode": "USD"}},
        "transactions": {"nodes": [{"status": status}]},
    }
    return ScriptedAnswer(status=200, body={"data": {"refund": refund}})


NOTHING = ScriptedAnswer(status=200, body={"data": {"refund": None}})
BROKEN = ScriptedAnswer(status=503, text="unavailable")
ANSWERS = [
    refund_answer(),
    refund_answer(amount="42.05"),
    refund_answer(amount="0.0", status="PENDING"),
    refund_answer(amount="0.0", status="FAILURE"),
    refund_answer(order=70),
    refund_answer(born_s=-60),
    NOTHING,
    BROKEN,
]
answers = st.sampled_from(ANSWERS)
deliveries = st.builds(
    delivery,
    refund=st.sampled_from([1, 1, 2, 3]),
    born_s=st.sampled_from([-30, 0, 1, 2]),
    order=st.sampled_from([69, 69, 69, 70]),
    delivery_id=st.sampled_from(["d1", "d2"]),
)


@dataclass(frozen=True)
class World:
    """What happens, each thing at so many milliseconds after the operation's start."""

    acts: tuple[tuple[int, Any], ...]
    answer: ScriptedAnswer

    def run(self) -> Outcome:
        """Replay it to its end."""
        script = ProviderScript(connection="acme", channel="refund_readback", answer=self.answer)
        steps = [Step(START_MS, script, 0)]
        steps += [Step(START_MS + after, act, 0) for after, act in sorted(self.acts, key=lambda one: one[0])]
        return replay(History(Path("world"), {"acme": SHOP}, tuple(steps), ()), CONTEXT)

    def with_acts(self, *more: tuple[int, Any]) -> "World":
        """Add things that happen."""
        return replace(self, acts=(*self.acts, *more))


def consistent(webhooks: list[Webhook]) -> list[Webhook]:
    """Keep one birth and one order for each refund: a provider does not contradict itself about them."""
    first: dict[int, Webhook] = {}
    for one in webhooks:
        first.setdefault(json.loads(one.body or "")["id"], one)
    return [first[json.loads(one.body or "")["id"]] for one in webhooks]


worlds = st.builds(
    lambda hooks, times, answer: World(tuple(zip(times, consistent(hooks), strict=False)), answer),
    st.lists(deliveries, max_size=5),
    st.lists(st.integers(0, 120_000), min_size=5, max_size=5),
    answers,
)
