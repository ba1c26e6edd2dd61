"""Messages, records and one case that they are applied to, for the tests of the streams."""

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contracts.catalogue import Catalogue
from contracts.instants import parse_instant, to_rfc3339
from streams.cases import Case, Operation, Registration, Row, decode_row, encode_row
from streams.decide import decide
from streams.intake import Context
from streams.messages import (
    CaseMessage,
    Events,
    Intent,
    ReadAnswered,
    ReadRequest,
    Source,
    Start,
    Submission,
    Tick,
    decode_case_message,
    encode,
)
from streams.outputs import Output, Review, ToReadback, Verdict
from streams.policy import Policy
from streams.registration import pack_record
from verifiers.connection import INLINE_SECRETS, Connection
from verifiers.connections import parse_connection
from verifiers.events import Event
from verifiers.reads import Answer

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
CATALOGUE = Catalogue.load()
SHOPIFY, PAYPAL = "shopify.refund.created", "paypal.refund.recorded"
POLICY = Policy()
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000

STARTED = "2026-03-12T15:42:18.200Z"
T0 = parse_instant(STARTED).start_ms
CHANNEL = "refund_readback"
ORDER_KEY = "case/acme/order_id/gid://shopify/Order/69"
CAPTURE_KEY = "case/pay/capture_id/CAP1"
_offsets = itertools.count()


def account(**fields: Any) -> Connection:
    """A configured account, its secrets written out."""
    return parse_connection(fields, "test", INLINE_SECRETS)


CONNECTIONS = {
    "acme": account(
        id="acme",
        provider="shopify",
        shop="acme-verify.myshopify.com",
        webhook_auth={"hmac_secrets": ["test_client_secret_do_not_use"]},
    ),
    "pay": account(id="pay", provider="paypal", webhook_auth="trusted"),
}
CONTEXT = Context(CATALOGUE, CONNECTIONS, POLICY)


@dataclass(frozen=True)
class Rec:
    """A consumed record."""

    topic: str = "cases"
    partition: int = 0
    offset: int = 0
    timestamp: int = T0
    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()


def sample(name: str) -> bytes:
    """The bytes of a sample."""
    return (SAMPLES / name).read_bytes()


# -- messages


def intent(contract: str = SHOPIFY, **changes: Any) -> Intent:
    """What an operation is meant to do, in normal form."""
    shopify = contract == SHOPIFY
    fields: dict[str, Any] = {
        "contract": contract,
        "version": "1.0.0",
        "connection": "acme" if shopify else "pay",
        "created_at": STARTED,
        "created_ms": T0,
        "input": {"order_id": "gid://shopify/Order/69", "amount": "42.50"}
        if shopify
        else {"capture_id": "CAP1", "amount": "60.00", "currency_code": "USD"},
    } | changes
    return Intent(**fields)


def action(refund: str | int | None = "1", contract: str = SHOPIFY) -> dict[str, Any]:
    """What an action's result names: refund 1, another, or with None nothing."""
    if refund is None:
        return {}
    if contract == PAYPAL:
        return {"$action.result.id": f"R{refund}"}
    return {"$action.result.refundCreate.refund.id": f"gid://shopify/Refund/{refund}"}


def source(topic: str = "webhooks", offset: int | None = None, partition: int = 0) -> Source:
    """Where a record came from; a new place each time."""
    return Source(topic, partition, next(_offsets) if offset is None else offset)


def start(
    after: int = 0, operation_id: str = "op-1", refund: str | int | None = "1", contract: str = SHOPIFY, **changes: Any
) -> Start:
    """An operation on its way to its case, so many milliseconds after its start."""
    refund_action = action(refund, contract)
    return Start(T0 + after, source("cases"), operation_id, intent(contract, **changes), refund_action)


def submission(
    after: int = 0,
    operation_id: str = "op-1",
    refund: str | int | None = "1",
    contract: str = SHOPIFY,
    *,
    at_source: Source | None = None,
    version_given: bool = False,
    **changes: Any,
) -> Submission:
    """An operation on its way to its registration."""
    key = ORDER_KEY if contract == SHOPIFY else CAPTURE_KEY
    return Submission(
        T0 + after,
        at_source or source("operations"),
        operation_id,
        intent(contract, **changes),
        version_given,
        action(refund, contract),
        key,
        pack_record(b"key", b"value", (("h", b"1"), ("none", None))),
    )


def refunded(
    after: int,
    refund: str | int = 1,
    *,
    born: str = "2026-03-12T15:42:18Z",
    arrived: int | None = None,
    contract: str = SHOPIFY,
    order: str = "gid://shopify/Order/69",
    at_source: Source | None = None,
) -> Events:
    """One delivery about one refund, taken in so many milliseconds after the operation's start."""
    if contract == SHOPIFY:
        identity = f"gid://shopify/Refund/{refund}"
        event = Event(f"e{refund}", "REFUNDS_CREATE", identity, born, {"refund_id": identity, "order_id": order})
    else:
        identifiers = {"refund_id": f"R{refund}", "capture_id": "CAP1"}
        event = Event(f"WH-{refund}", "PAYMENT.CAPTURE.REFUNDED", f"R{refund}", born, identifiers)
    return Events(T0 + after, at_source or source(), T0 + (after if arrived is None else arrived), [event])


_SHOPIFY_VALUES = {
    "id": "gid://shopify/Refund/1",
    "createdAt": "2026-03-12T15:42:18Z",
    "order.id": "gid://shopify/Order/69",
    "totalRefundedSet.shopMoney.amount": "42.5",
    "totalRefundedSet.shopMoney.currencyCode": "USD",
    "transactions[0].status": "SUCCESS",
}
_PAYPAL_VALUES = {
    "id": "R1",
    "amount.value": "60.00",
    "amount.currency_code": "USD",
    "status": "COMPLETED",
    "create_time": "2026-03-12T08:42:18-07:00",
}


def found(contract: str = SHOPIFY, **changes: Any) -> Answer:
    """An answer that holds the refund, as it was asked for or with some values changed (None: missing)."""
    short = {"amount": "totalRefundedSet.shopMoney.amount", "status": "transactions[0].status", "order": "order.id"}
    if contract == PAYPAL:
        base, values, short = f"$observed.{CHANNEL}", dict(_PAYPAL_VALUES), {"amount": "amount.value"}
    else:
        base, values = f"$observed.{CHANNEL}.data.refund", dict(_SHOPIFY_VALUES)
    values |= {short.get(name, name): value for name, value in changes.items()}
    kept = {f"{base}.{name}": value for name, value in values.items() if value is not None}
    return Answer(200, None, None, kept, "digest", "2025-07" if contract == SHOPIFY else None)


ABSENT = Answer(200, "absent", "the answer holds no data.refund", {}, "digest")
DOWN = Answer(503, "server_error", "the provider answered 503", {}, "digest")
WRONG = found(amount="42.05")


# -- one case


@dataclass
class Told:
    """What came out of one message."""

    outputs: list[Output]

    @property
    def reads(self) -> list[ReadRequest]:
        return [one.request for one in self.outputs if isinstance(one, ToReadback)]

    @property
    def verdicts(self) -> list[dict[str, Any]]:
        return [one.record for one in self.outputs if isinstance(one, Verdict)]

    @property
    def said(self) -> list[str]:
        """The verdicts and their rules, such as ``VERIFIED completion``."""
        return [f"{one['verdict']} {one['rule']}" for one in self.verdicts]

    @property
    def reviews(self) -> list[dict[str, Any]]:
        return [one.record for one in self.outputs if isinstance(one, Review)]


@dataclass
class CaseWork:
    """A case, and messages applied to it one after the other, as the worker applies them.

    Between two messages the row is written down and read again. Each message is applied twice, as after a crash: both
    times must come to the same.
    """

    key: str = ORDER_KEY
    catalogue: Catalogue = CATALOGUE
    policy: Policy = POLICY
    value: bytes | None = None
    told: list[Output] = field(default_factory=list)
    asked: list[tuple[int, int]] = field(default_factory=list)
    """(milliseconds after the start, attempt) of every read that was asked for."""

    @property
    def row(self) -> Row | None:
        return decode_row(self.value) if self.value is not None else None

    @property
    def case(self) -> Case:
        row = self.row
        assert isinstance(row, Case)
        return row

    @property
    def registration(self) -> Registration:
        row = self.row
        assert isinstance(row, Registration)
        return row

    def operation(self, operation_id: str = "op-1") -> Operation:
        return self.case.operations[operation_id]

    @property
    def due(self) -> int | None:
        """When the next timer is due, in milliseconds after the start."""
        due = self.case.due_ms if self.value is not None else None
        return None if due is None else due - T0

    def send(self, message: CaseMessage) -> Told:
        """Apply a message."""
        message = decode_case_message(encode(message))
        origin = Source("cases", 0, next(_offsets))
        results = []
        for _ in range(2):
            decision = decide(self.key, self.row, message, origin, self.catalogue, self.policy)
            results.append((encode_row(decision.row) if decision.row is not None else None, decision.outputs))
        assert results[0] == results[1]
        self.value, outputs = results[0]
        self.told += outputs
        told = Told(outputs)
        self.asked += [(one.asked_ms - T0, one.attempt) for one in told.reads]
        return told

    def tick(self, after: int) -> Told:
        """Fire a timer, so many milliseconds after the start."""
        return self.send(Tick(T0 + after))

    def answer(self, after: int, answer: Answer, attempt: int | None = None, operation_id: str = "op-1") -> Told:
        """Answer the newest read, or that of an attempt."""
        reads = self.operation(operation_id).reads[CHANNEL]
        asked_ms = reads.asked_ms if reads.asked_ms is not None else T0
        number = attempt if attempt is not None else reads.made
        return self.send(ReadAnswered(T0 + after, operation_id, CHANNEL, number, asked_ms, answer))

    def run(
        self, until: int, answers: Answer | Callable[[int], Answer | None] | None = ABSENT, takes: int = 200
    ) -> Told:
        """Fire every timer that is due before an instant, and answer each read: a function of the time, or always so.

        None is no answer at all. Returns what came out of all of it.
        """
        outputs: list[Output] = []
        waiting: list[ReadRequest] = []
        for _ in range(10_000):
            due = self.due
            if waiting:
                read = waiting.pop(0)
                asked = read.asked_ms - T0
                answer = answers(asked) if callable(answers) else answers
                if answer is None:
                    continue
                message = ReadAnswered(
                    read.asked_ms + takes, read.operation_id, CHANNEL, read.attempt, read.asked_ms, answer
                )
                told = self.send(message)
            elif due is not None and due < until:
                told = self.tick(due)
                later = self.due
                assert later is None or later > due or told.reads, f"the timer at {due} changes nothing"
            else:
                return Told(outputs)
            outputs += told.outputs
            waiting += told.reads
        raise AssertionError("the timers do not come to an end")


def case(*messages: CaseMessage, **fields: Any) -> CaseWork:
    """A case to which messages have been applied."""
    work = CaseWork(**fields)
    for message in messages:
        work.send(message)
    return work


def verified(**fields: Any) -> CaseWork:
    """A case whose refund was read back and told of by an event: VERIFIED 600 ms after the start."""
    work = case(start(), refunded(300), **fields)
    assert work.answer(600, found()).said == ["VERIFIED completion"]
    return work


def at(after: int) -> str:
    """An instant so many milliseconds after the start."""
    return to_rfc3339(T0 + after)


# -- records of the source topics


def operation_record(document: Any, offset: int = 0, headers: Sequence[tuple[str, bytes | None]] = ()) -> Rec:
    """A record of `operations`."""
    value = document if isinstance(document, bytes) else json.dumps(document).encode()
    return Rec("operations", 0, offset, T0, b"op-1", value, headers)


def published(**changes: Any) -> dict[str, Any]:
    """An operation as a producer publishes it; ``...`` drops a member."""
    document = {
        "operation_id": "op-1",
        "contract": SHOPIFY,
        "connection": "acme",
        "created_at": STARTED,
        "input": {"order_id": "69", "amount": "42.50"},
        "action": {"result": {"refundCreate": {"refund": {"id": "gid://shopify/Refund/1"}}}},
    } | changes
    return {name: value for name, value in document.items() if value is not ...}


def sample_delivery(
    name: str, connection: str | None = None, *, headers_of: str | None = None, **changes: bytes | None
) -> Rec:
    """A recorded delivery as a gateway produces it; changes of Kafka headers by name, ``None`` drops one."""
    headers: Mapping[str, str] = json.loads(sample(f"{headers_of or name}.headers.json"))
    ours = connection or ("acme" if name.startswith("shopify") else "pay")
    given: dict[str, bytes | None] = {
        key: text.encode() for key, text in headers.items() if not key.startswith("_") and isinstance(text, str)
    }
    given |= {"connection_id": ours.encode(), "arrived_at": at(2 * SECOND).encode()} | changes
    kept = [(key, value) for key, value in given.items() if value is not None]
    return Rec("webhooks", 3, 41, T0 + 5 * SECOND, None, sample(f"{name}.body"), kept)
