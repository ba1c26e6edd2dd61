"""What was observed of one refund at each provider, as facts and channels, to be changed a little by a test."""

from typing import Any

from contracts.catalogue import Catalogue
from contracts.evaluation import Evaluation, evaluate
from contracts.judgement import ChannelState, Decided, Undecided, judge
from contracts.model import Contract

CATALOGUE = Catalogue.load()
SHOPIFY = CATALOGUE.get("shopify.refund.created")
PAYPAL = CATALOGUE.get("paypal.refund.recorded")
GONE = object()

READ = ChannelState(observed=True, settled=True)
STALE_READ = ChannelState(observed=True, settled=False)
NO_READ = ChannelState(observed=False, settled=False)
EVENTS = ChannelState(observed=True, settled=True)
NO_EVENTS = ChannelState(observed=False, settled=True)

_REFUND = "$observed.refund_readback.data.refund"
_READ = "$observed.refund_readback"
SHORT = {
    "refund": f"{_REFUND}.id",
    "order": f"{_REFUND}.order.id",
    "created": f"{_REFUND}.createdAt",
    "amount": f"{_REFUND}.totalRefundedSet.shopMoney.amount",
    "status": f"{_REFUND}.transactions[0].status",
    "own_events": "$observed.refund_events.count",
    "order_events": "$observed.order_refund_events.count",
    "action_refund": "$action.result.refundCreate.refund.id",
    "paypal_id": f"{_READ}.id",
    "value": f"{_READ}.amount.value",
    "currency": f"{_READ}.amount.currency_code",
    "create_time": f"{_READ}.create_time",
    "events": "$observed.capture_refunded_events.count",
    "action_id": "$action.result.id",
    "started": "$operation.created_at",
    "asked": "$input.amount",
}


def shopify_facts(**changes: Any) -> dict[str, Any]:
    """The facts of a Shopify refund that is as it was asked for; change them by their short names, GONE drops one."""
    return _changed(
        {
            "$input.order_id": "gid://shopify/Order/69",
            "$input.amount": "42.50",
            "$operation.created_at": "2026-03-12T15:42:18.200Z",
            SHORT["action_refund"]: "gid://shopify/Refund/1",
            SHORT["refund"]: "gid://shopify/Refund/1",
            SHORT["order"]: "gid://shopify/Order/69",
            SHORT["created"]: "2026-03-12T15:42:18Z",
            SHORT["amount"]: "42.5",
            SHORT["status"]: "SUCCESS",
            SHORT["own_events"]: 1,
            SHORT["order_events"]: 1,
        },
        changes,
    )


def paypal_facts(**changes: Any) -> dict[str, Any]:
    """The same of a PayPal refund."""
    return _changed(
        {
            "$input.capture_id": "2GG279541U471931P",
            "$input.amount": "60.00",
            "$input.currency_code": "USD",
            "$operation.created_at": "2026-03-12T15:42:17.900Z",
            SHORT["action_id"]: "1JU08902781691411",
            SHORT["paypal_id"]: "1JU08902781691411",
            SHORT["value"]: "60.00",
            SHORT["currency"]: "USD",
            SHORT["create_time"]: "2026-03-12T08:42:18-07:00",
            SHORT["events"]: 1,
        },
        changes,
    )


def _changed(facts: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    for short, value in changes.items():
        facts[SHORT[short]] = value
    return {path: value for path, value in facts.items() if value is not GONE}


def truths(contract: Contract, facts: dict[str, Any]) -> dict[str, str]:
    """Each rule's id → what it says."""
    evaluation: Evaluation = evaluate(contract, facts)
    results = (*evaluation.conditions, *evaluation.contradictions, *evaluation.verdict_map)
    return {one.id: one.result.value for one in results}


def verdict(contract: Contract, facts: dict[str, Any], **channels: ChannelState) -> Decided | Undecided:
    """Judge facts; channels that are not named have shown something that is not stale."""
    states = dict.fromkeys(contract.channels, READ) | channels
    return judge(contract, evaluate(contract, facts), states)


def said(judgement: Decided | Undecided) -> tuple[str, str] | frozenset[str]:
    """The verdict and its rule, or the channels that are to be read again."""
    return (judgement.verdict, judgement.rule) if isinstance(judgement, Decided) else judgement.stale
