"""The messages between the stages: written and read again, and refused where they are none."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from casework import (
    ABSENT,
    CHANNEL,
    ORDER_KEY,
    PAYPAL,
    T0,
    CaseWork,
    case,
    found,
    refunded,
    start,
    submission,
)

from contracts.values import pack
from streams.cases import decode_row, encode_row, registration_key
from streams.messages import (
    MalformedMessage,
    ReadAnswered,
    ReadRequest,
    Source,
    Tick,
    decode_case_message,
    decode_read_request,
    encode,
)
from verifiers.events import Event
from verifiers.reads import Answer

REQUEST = ReadRequest(
    "op-1", ORDER_KEY, "shopify.refund.created", "1.0.0", "acme", CHANNEL, 3, T0, {"id": "gid://shopify/Refund/1"}
)
MESSAGES = [
    submission(),
    submission(refund=None, version_given=True),
    start(),
    start(contract=PAYPAL),
    replace(start(), action={"$action.result.id": 2**63 - 1, "$action.result.paid": True}),
    refunded(0),
    replace(refunded(0), events=[]),
    Tick(T0),
    ReadAnswered(T0, "op-1", CHANNEL, 1, T0, found()),
    ReadAnswered(T0, "op-1", CHANNEL, 1, T0, ABSENT),
    ReadAnswered(T0, "op-1", CHANNEL, 1, T0, Answer(None, "timeout")),
    ReadAnswered(T0, "op-1", CHANNEL, 1, T0, Answer(200, None, None, {"$observed.x.n": pack(Decimal("60.00"))})),
    ReadAnswered(T0, "é\U0001f600\u2028", CHANNEL, 1, T0, Answer(200, None, "\x00", {"$observed.x.t": "日"})),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda one: type(one).__name__)
def test_a_message_is_read_as_it_was_written(message: Any) -> None:
    value = encode(message)
    assert decode_case_message(value) == message
    assert json.loads(value)["kind"] == message.kind


def test_a_read_request_is_read_as_it_was_written() -> None:
    assert decode_read_request(encode(REQUEST)) == REQUEST


def test_a_source_names_its_partition() -> None:
    assert Source("prefix.webhooks", 12, 5).stream == "prefix.webhooks/12"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "the record has no value"),
        (b"", "value: Invalid JSON"),
        (b"\xff", "value: Invalid JSON"),
        (b"{", "value: Invalid JSON"),
        (b"[" * 10_000, "value: Invalid JSON"),
        (b"null", "value: "),
        (b"7", "value: "),
        (b'"tick"', "value: "),
        (b"[]", "value: "),
        (b"{}", "value: Unable to extract tag"),
        (b'{"kind": null}', "value: "),
        (b'{"kind": "tock"}', "value: Input tag 'tock' found using 'kind' does not match"),
        (b'{"kind": "tick"}', "tick.at: Field required"),
    ],
)
def test_what_is_no_message_is_refused_by_its_first_wrong_field(value: bytes | None, said: str) -> None:
    with pytest.raises(MalformedMessage) as caught:
        decode_case_message(value)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("at", ["1", 1.5, "now", None, True, -1, 10**15, 10**30, [], {}])
def test_a_time_is_a_whole_number_of_milliseconds_that_can_be(at: Any) -> None:
    with pytest.raises(MalformedMessage, match=r"^tick\.at: "):
        decode_case_message(json.dumps({"kind": "tick", "at": at}).encode())


def broken(message: Any, path: str, value: Any) -> bytes:
    """A message with one member changed, or with ``...`` taken out."""
    document = json.loads(encode(message))
    *above, last = path.split(".")
    node = document
    for step in above:
        node = node[int(step)] if step.isdigit() else node[step]
    if value is ...:
        del node[last]
    else:
        node[last] = value
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("message", "path", "value"),
    [
        (start(), "operation_id", 7),
        (start(), "operation_id", ...),
        (start(), "source", None),
        (start(), "source.offset", -1),
        (start(), "source.offset", "1"),
        (start(), "source.partition", 1.0),
        (start(), "intent", {}),
        (start(), "intent.created_ms", "x"),
        (start(), "intent.created_at", "2026-13-12T15:42:18Z"),
        (start(), "intent.input", {"order_id": 69}),
        (start(), "action", []),
        (submission(), "case_key", None),
        (submission(), "version_given", "no"),
        (submission(), "original.headers", [["h"]]),
        (submission(), "original.value", 7),
        (refunded(0), "arrived_ms", None),
        (refunded(0), "events", {}),
        (refunded(0), "events.0.created_at", "2018-19-12T22:20:32.000Z"),
        (refunded(0), "events.0.created_at", None),
        (refunded(0), "events.0.resource_id", ...),
        (refunded(0), "events.0.resource_id", "x" * 100_000),
        (refunded(0), "events.0.identifiers", {"order_id": 69}),
        (ReadAnswered(T0, "op-1", CHANNEL, 1, T0, ABSENT), "attempt", True),
        (ReadAnswered(T0, "op-1", CHANNEL, 1, T0, ABSENT), "attempt", -1),
        (ReadAnswered(T0, "op-1", CHANNEL, 1, T0, ABSENT), "answer", None),
        (ReadAnswered(T0, "op-1", CHANNEL, 1, T0, ABSENT), "answer.error", ...),
        (ReadAnswered(T0, "op-1", CHANNEL, 1, T0, ABSENT), "answer.values", []),
    ],
)
def test_a_message_of_wrong_types_never_reaches_the_state(message: Any, path: str, value: Any) -> None:
    with pytest.raises(MalformedMessage) as caught:
        decode_case_message(broken(message, path, value))
    assert path.split(".", maxsplit=1)[0] in str(caught.value)


def test_the_sentence_names_the_field_and_echoes_no_value() -> None:
    with pytest.raises(MalformedMessage) as caught:
        decode_case_message(broken(start(), "intent.created_ms", "SECRET" * 1000))
    assert str(caught.value) == "start.intent.created_ms: Input should be a valid integer"


def test_of_many_faults_the_first_is_named_and_the_others_are_counted() -> None:
    with pytest.raises(MalformedMessage, match=r"^start\.at: Field required \(and 4 more\)$"):
        decode_case_message(b'{"kind": "start"}')


def test_members_that_a_newer_worker_may_add_are_no_obstacle() -> None:
    assert decode_case_message(b'{"kind": "tick", "at": 5, "why": "new"}') == Tick(5)


@pytest.mark.parametrize("value", [None, b"", b"{}", b"[]", encode(Tick(T0))])
def test_what_is_no_read_request_is_refused(value: bytes | None) -> None:
    with pytest.raises(MalformedMessage):
        decode_read_request(value)


@pytest.mark.parametrize(("path", "value"), [("attempt", "1"), ("asked_ms", -1), ("inputs", {"id": 1}), ("channel", 7)])
def test_a_read_request_of_wrong_types_is_refused(path: str, value: Any) -> None:
    with pytest.raises(MalformedMessage, match=f"^{path}"):
        decode_read_request(broken(REQUEST, path, value))


def test_an_event_of_a_long_name_is_refused_where_it_is_made() -> None:
    with pytest.raises(ValueError, match="resource_id has 256 characters"):
        Event("e", "T", "x" * 256, "2026-03-12T15:42:18Z", {})


# -- rows


def rows() -> list[Any]:
    registered = CaseWork(registration_key("op-1"))
    registered.send(submission())
    busy = case(start(), refunded(300), refunded(400))
    busy.answer(500, found())
    late = case(start(refund=None), start(operation_id="op-2"))
    late.run(8 * 86_400_000)
    return [registered.row, busy.row, late.row, case(refunded(0)).row]


@pytest.mark.parametrize("row", rows(), ids=["registration", "verified", "timed out", "waiting"])
def test_a_row_is_read_as_it_was_written(row: Any) -> None:
    assert decode_row(encode_row(row)) == row
    assert encode_row(decode_row(encode_row(row))) == encode_row(row)


@pytest.mark.parametrize(
    "value", [b"", b"{", b"null", b"[]", b"{}", b'{"row": "other"}', b'{"row": "registration"}', b'{"row": 7}']
)
def test_what_is_no_row_is_refused(value: bytes) -> None:
    with pytest.raises(MalformedMessage, match=r"^the table's row cannot be read: "):
        decode_row(value)
