"""Readbacks: each read that is due is made once, and answered to the case that asked."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from casework import (
    CATALOGUE,
    CHANNEL,
    ORDER_KEY,
    POLICY,
    T0,
    Rec,
    account,
    sample,
)

from streams.intake import Context
from streams.messages import ReadAnswered, ReadRequest, decode_case_message, encode
from streams.outputs import Output, Refused, ToCase
from streams.readback import Readbacks, read_back
from verifiers.http import HttpVerifier

SHOP = account(id="acme", provider="shopify", shop="acme-verify.myshopify.com", webhook_auth="trusted")
BODY = sample("shopify_readback_success_nodes.json")


def request(**changes: Any) -> ReadRequest:
    fields: dict[str, Any] = {
        "operation_id": "op-1",
        "case_key": ORDER_KEY,
        "contract": "shopify.refund.created",
        "version": "1.0.0",
        "connection": "acme",
        "channel": CHANNEL,
        "attempt": 3,
        "asked_ms": T0,
        "inputs": {"id": "gid://shopify/Refund/1900000000001"},
    }
    return ReadRequest(**(fields | changes))


def record(value: bytes | ReadRequest | None, key: bytes = b"acme", offset: int = 7) -> Rec:
    return Rec("readbacks", 2, offset, T0, key, encode(value) if isinstance(value, ReadRequest) else value)


async def read(one: Rec, handler: Callable[..., Any] | None = None, now: int = T0 + 100) -> list[Output]:
    """Make a read at one moment; by default the shop answers that the refund is there."""
    answer = handler or (lambda _: httpx.Response(200, content=BODY))
    async with HttpVerifier({"acme": SHOP}, lambda _: httpx.MockTransport(answer)) as verifier:
        return await read_back(one, verifier, Context(CATALOGUE, {"acme": SHOP}, POLICY), lambda: now)


def answered(outputs: list[Output]) -> ReadAnswered:
    (output,) = outputs
    assert isinstance(output, ToCase), output
    assert isinstance(output.message, ReadAnswered)
    assert decode_case_message(encode(output.message)) == output.message
    return output.message


def refusal(output: Output) -> tuple[str, str]:
    assert isinstance(output, Refused), output
    assert (output.stage, output.topic, output.partition, output.offset) == ("readback", "readbacks", 2, 7)
    return output.class_, output.reason


async def test_an_answer_goes_to_the_case_that_asked_under_the_number_of_its_read() -> None:
    outputs = await read(record(request()))
    message = answered(outputs)
    assert [one.key for one in outputs if isinstance(one, ToCase)] == [ORDER_KEY]
    assert (message.operation_id, message.channel, message.attempt) == ("op-1", CHANNEL, 3)
    assert (message.asked_ms, message.at) == (T0, T0 + 100)
    assert message.answer.error is None
    assert message.answer.values["$observed.refund_readback.data.refund.id"] == "gid://shopify/Refund/1900000000001"


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (503, b"down", "server_error"),
        (401, b"{}", "unauthorized"),
        (200, b"<html>", "not_json"),
        (200, b"{}", "absent"),
    ],
)
async def test_no_evidence_is_an_answer_too(status: int, body: bytes, error: str) -> None:
    message = answered(await read(record(request()), lambda _: httpx.Response(status, content=body)))
    assert (message.answer.error, message.answer.values) == (error, {})


async def test_a_read_of_a_connection_that_is_gone_is_answered() -> None:
    message = answered(await read(record(request(connection="gone"))))
    assert message.answer.error == "unknown_connection"


@pytest.mark.parametrize(
    ("after", "made"), [(0, True), (POLICY.lost_after_ms - 1, True), (POLICY.lost_after_ms, False)]
)
async def test_a_request_that_counts_as_lost_is_not_made(after: int, made: bool) -> None:
    """Its case has asked again or given up by then."""
    calls = []
    outputs = await read(record(request()), lambda one: calls.append(one) or httpx.Response(404), T0 + after)
    assert (len(calls), len(outputs)) == ((1, 1) if made else (0, 0))


@pytest.mark.parametrize(
    ("value", "class_", "said"),
    [
        (None, "malformed_message", "the record has no value"),
        (b"", "malformed_message", "value: Invalid JSON"),
        (b"{}", "malformed_message", "operation_id: Field required"),
        (
            request(channel="order_refund_events"),
            "malformed_message",
            "channel: shopify.refund.created has no",
        ),
        (request(channel="nothing"), "malformed_message", "channel: shopify.refund.created has no"),
        (request(contract="shopify.refund.gone"), "unknown_contract", "There is no contract shopify.refund.gone."),
        (request(version="9.9.9"), "unknown_contract", "There is no version 9.9.9 of shopify.refund.created"),
    ],
)
async def test_what_is_no_read_is_refused(value: Any, class_: str, said: str) -> None:
    (output,) = await read(record(value))
    word, sentence = refusal(output)
    assert word == class_
    assert sentence.startswith(said)


@pytest.mark.parametrize("inputs", [{}, {"other": "x"}])
async def test_a_read_that_cannot_be_made_is_refused_and_its_case_goes_on(inputs: dict[str, str]) -> None:
    refused, answer = await read(record(request(inputs=inputs)))
    assert refusal(refused)[0] == "internal_error"
    message = answered([answer])
    assert (message.answer.status, message.answer.error) == (None, "internal_error")


async def test_an_unforeseen_fault_costs_one_read() -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise ZeroDivisionError("division by zero")

    refused, answer = await read(record(request()), fail)
    assert refusal(refused) == ("internal_error", "ZeroDivisionError: division by zero")
    assert answered([answer]).answer.error == "internal_error"


# -- reads under way


class Outbox:
    """Where outputs go; the test looks at them, or lets the delivery fail."""

    def __init__(self, error: Exception | None = None) -> None:
        self.delivered: list[Output] = []
        self.error = error

    async def deliver(self, outputs: Any, stage: str) -> None:
        if self.error is not None:
            raise self.error
        self.delivered += outputs


class Provider:
    """A provider that answers when it is let go; counts how many reads are under way at once."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.now: dict[str, int] = {}
        self.most: dict[str, int] = {}

    async def __call__(self, asked: httpx.Request) -> httpx.Response:
        host = asked.url.host
        self.now[host] = self.now.get(host, 0) + 1
        self.most[host] = max(self.most.get(host, 0), self.now[host])
        try:
            await self.go.wait()
        finally:
            self.now[host] -= 1
        return httpx.Response(200, content=BODY)


def readbacks(provider: Provider, outbox: Outbox, concurrency: int = 2) -> Readbacks:
    other = account(id="other", provider="shopify", shop="other.myshopify.com", webhook_auth="trusted")
    connections = {"acme": SHOP, "other": other}
    verifier = HttpVerifier(connections, lambda _: httpx.MockTransport(provider))
    context = Context(CATALOGUE, connections, POLICY)
    return Readbacks(verifier, context, outbox, lambda: T0, concurrency)  # type: ignore[arg-type]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0)


async def test_a_batch_is_begun_and_not_waited_for() -> None:
    provider, outbox = Provider(), Outbox()
    reads = readbacks(provider, outbox)
    reads.begin([record(request(attempt=number)) for number in range(5)])
    assert outbox.delivered == []
    provider.go.set()
    await until(lambda: len(outbox.delivered) == 5)
    assert sorted(one.message.attempt for one in outbox.delivered if isinstance(one, ToCase)) == list(range(5))  # type: ignore[union-attr]
    await reads.stop()


async def test_reads_of_one_connection_are_bounded_and_do_not_hold_up_another() -> None:
    provider, outbox = Provider(), Outbox()
    reads = readbacks(provider, outbox, concurrency=2)
    reads.begin([record(request(attempt=number)) for number in range(6)])
    reads.begin([record(request(connection="other"), b"other")])
    await until(lambda: provider.now.get("other.myshopify.com") == 1 and provider.now.get(SHOP.url[8:]) == 2)
    provider.go.set()
    await until(lambda: len(outbox.delivered) == 7)
    assert provider.most == {"acme-verify.myshopify.com": 2, "other.myshopify.com": 1}
    await reads.stop()


async def test_an_answer_that_cannot_be_delivered_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[tuple[str, BaseException]] = []
    monkeypatch.setattr("streams.readback.end_process", lambda stage, error: ended.append((stage, error)))
    provider, error = Provider(), ConnectionError("no broker")
    provider.go.set()
    reads = readbacks(provider, Outbox(error))
    reads.begin([record(request())])
    await until(lambda: bool(ended))
    assert ended == [("readback", error)]


async def test_reads_that_do_not_end_are_given_up_when_the_worker_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.readback._STOP_AFTER_S", 0.05)
    ended: list[Any] = []
    monkeypatch.setattr("streams.readback.end_process", lambda *given: ended.append(given))
    provider, outbox = Provider(), Outbox()
    reads = readbacks(provider, outbox)
    reads.begin([record(request())])
    await until(lambda: bool(provider.now))
    await reads.stop()
    await until(lambda: not reads._tasks)
    assert (outbox.delivered, ended) == ([], [])


async def test_stopping_without_reads_is_nothing() -> None:
    await readbacks(Provider(), Outbox()).stop()
