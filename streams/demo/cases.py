"""What happens to each refund of the demo, and what must come of it."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from streams.demo.board import Expected
from streams.demo.contract import BUILT_IN, HASTY
from streams.demo.stage import Stage
from streams.demo.world import PAYPAL, SHOP
from streams.simulation import paypal, shopify

Play = Callable[[Stage, str], Coroutine[Any, Any, None]]

_VERIFIED = Expected("VERIFIED", "completion")
_AGAIN_AFTER_S = 3.0


@dataclass(frozen=True, slots=True)
class DemoCase:
    """One operation of the demo.

    Attributes:
        operation_id: the operation's id, which is the case's name too.
        story: what happens, in plain words.
        expected: the verdicts that must come out, in sequence.
        play: makes it happen.
    """

    operation_id: str
    story: str
    expected: tuple[Expected, ...]
    play: Play


def _shopify(
    amount: str, *, recorded: str | None = None, status: shopify.Status = "SUCCESS", forged: bool = False
) -> Play:
    """Refund an order. The shop may record another amount; somebody may forge a second refund's delivery."""

    async def play(stage: Stage, operation_id: str) -> None:
        order = stage.next_number()
        await stage.start(operation_id, "shopify.refund.created", SHOP, {"order_id": order, "amount": amount})
        refund = shopify.Refund(stage.next_number(), order, recorded or amount, datetime.now(UTC), status)
        stage.world.shop.add(refund)
        await stage.finish(operation_id, {"refundCreate": {"refund": {"id": refund.id}}})
        if status == "FAILURE":
            return  # a delivery is promised for refunds without errors only
        await stage.deliver_shopify(refund)
        if forged:
            await stage.deliver_forged(shopify.Refund(stage.next_number(), order, amount, datetime.now(UTC)))

    return play


def _paypal(amount: str, *, contract: str = BUILT_IN, held: bool = True, twice: bool = False) -> Play:
    """Refund a captured payment. PayPal may not hold the refund that it answered, or be asked for it once more."""

    async def play(stage: Stage, operation_id: str) -> None:
        capture = f"7CAP{stage.next_number()}"
        inputs = {"capture_id": capture, "amount": amount, "currency_code": "USD"}
        await stage.start(operation_id, contract, PAYPAL, inputs)
        refund = paypal.Refund(f"8REF{stage.next_number()}", capture, amount, datetime.now(UTC))
        if held:
            stage.world.account.add(refund)
        await stage.finish(operation_id, {"id": refund.id, "status": refund.status})
        if not held:
            return
        await stage.deliver_paypal(refund)
        if twice:
            await stage.board.decided[operation_id].wait()
            made_at = await stage.later(_AGAIN_AFTER_S)
            again = paypal.Refund(f"8REF{stage.next_number()}", capture, amount, made_at)
            await stage.deliver_paypal(stage.world.account.add(again))

    return play


CASES: Final = (
    DemoCase("shopify-good", "refund of 42.50, all is well", (_VERIFIED,), _shopify("42.50", forged=True)),
    DemoCase(
        "shopify-pending",
        "refund of 18.00, money still on its way",
        (_VERIFIED,),
        _shopify("18.00", status="PENDING"),
    ),
    DemoCase(
        "shopify-amount",
        "refund of 42.50, the shop recorded 42.05",
        (Expected("CONTRADICTED", "refund_amount_mismatch"),),
        _shopify("42.50", recorded="42.05"),
    ),
    DemoCase(
        "shopify-failed",
        "refund of 7.00, refused by the gateway",
        (Expected("FAILED", "transaction_failed"),),
        _shopify("7.00", status="FAILURE"),
    ),
    DemoCase("paypal-good", "refund of 60.00, all is well", (_VERIFIED,), _paypal("60.00")),
    DemoCase(
        "paypal-twice",
        "refund of 25.00, and then once more",
        (_VERIFIED, Expected("CONTRADICTED", "duplicate_refund_present")),
        _paypal("25.00", twice=True),
    ),
    DemoCase(
        "paypal-lost",
        "refund of 12.00, answered but never made",
        (Expected("UNVERIFIABLE", "timeout"),),
        _paypal("12.00", contract=HASTY, held=False),
    ),
)
