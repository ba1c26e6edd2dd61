"""What the providers make of an operation: the refunds it comes to, and how they are told of."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from streams.simulation import paypal, shopify
from streams.simulation.webhooks import WebhookRequest
from tests.integration.system import SECRET, SHOP, System

KINDS: Final = (
    *("good", "good", "good", "early", "second", "wrong", "failed", "lost", "changed"),
    *("late", "late", "repeated", "many"),
)
HURRIED: Final = frozenset(("lost", "late"))
"""The kinds whose observation is to end without evidence: soon, for a test waits for it."""

_COMES_TO = {
    "good": "VERIFIED",
    "early": "VERIFIED",
    "changed": "VERIFIED",
    "repeated": "VERIFIED",
    "second": "CONTRADICTED",
    "many": "CONTRADICTED",
    "wrong": "CONTRADICTED",
    "failed": "FAILED",
    "lost": "UNVERIFIABLE",
    "late": "UNVERIFIABLE",
}
_COUNTS = {"second": 2, "many": 12}
# As many digits as the simulated shop keeps exactly, and as many characters as an amount may have.
_SHOP_AMOUNTS = (("42.50", "42.05"), ("99999999999999999999999999.50", "99999999999999999999999999.05"))
_ACCOUNT_AMOUNTS = (("60.00", "60.01"), (f"{'9' * 61}.00", f"{'9' * 61}.01"))


@dataclass(frozen=True)
class Refunds:
    """What a provider made of one operation. ``names``: each refund's id, as events name it."""

    contract: str
    connection: str
    inputs: dict[str, Any]
    other_inputs: dict[str, Any]
    result: dict[str, Any]
    other_result: dict[str, Any]
    comes_to: str
    names: list[str]
    deliver: Callable[[int], WebhookRequest]


def of_shop(system: System, number: int, kind: str, connection: str = "acme") -> Refunds:
    """Have the shop make an operation's refunds. Every fourth order's number is none that JavaScript could hold."""
    now = datetime.now(UTC)
    asked, wrong = _SHOP_AMOUNTS[number % 5 == 0]
    order = number if number % 4 else 2**62 + number
    status = "FAILURE" if kind == "failed" else "SUCCESS"
    made = [
        shopify.Refund(100 * number + one, order, wrong if kind == "wrong" else asked, now, status)
        for one in range(_COUNTS.get(kind, 1))
    ]
    for one in made if kind != "lost" else []:
        system.shop.add(one)
    named = (order, str(order), f"000{order}", f"gid://shopify/Order/{order}")[number // 4 % 4]
    return Refunds(
        "shopify.refund.created",
        connection,
        {"order_id": named, "amount": asked},
        {"order_id": f"gid://shopify/Order/{order}", "amount": "1.00"},
        {"refundCreate": {"refund": {"id": made[0].id}}},
        {"refundCreate": {"refund": {"id": f"{made[0].id}0"}}},
        _COMES_TO[kind],
        [one.id for one in made],
        lambda one: shopify.refund_created(made[one], shop=SHOP, secret=SECRET, sent_at=datetime.now(UTC)),
    )


def of_account(system: System, number: int, kind: str) -> Refunds:
    """Have the account make an operation's refunds. Every third capture's name is not ASCII."""
    now = datetime.now(UTC)
    asked, wrong = _ACCOUNT_AMOUNTS[number % 5 == 0]
    capture = f"CAPTURE{number}" if number % 3 else f"GEBÜHR%2F{number}\u200d\N{GRINNING FACE}"
    status = "FAILED" if kind == "failed" else "COMPLETED"
    made = [
        paypal.Refund(f"REFUND{number}N{one}", capture, wrong if kind == "wrong" else asked, now, status)
        for one in range(_COUNTS.get(kind, 1))
    ]
    for one in made if kind != "lost" else []:
        system.account.add(one)
    return Refunds(
        "paypal.refund.recorded",
        "pp",
        {"capture_id": capture, "amount": asked, "currency_code": "USD"},
        {"capture_id": f"{capture}0", "amount": asked, "currency_code": "USD"},
        {"id": made[0].id},
        {"id": f"{made[0].id}0"},
        "VERIFIED" if kind == "failed" else _COMES_TO[kind],  # a failed refund is recorded all the same
        [one.id for one in made],
        lambda one: paypal.capture_refunded(made[one], webhook_id="W", sent_at=datetime.now(UTC)),
    )
