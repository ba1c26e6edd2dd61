"""Intake of operations: what goes on to its registration, and how everything else is refused."""

import base64
import json
from typing import Any

import pytest
from casework import (
    CONTEXT,
    DAY,
    ORDER_KEY,
    POLICY,
    SECOND,
    SHOPIFY,
    STARTED,
    T0,
    Rec,
    operation_record,
    published,
    sample,
)

from streams.intake import MAX_OPERATION_BYTES, Context, take_all, take_operation
from streams.messages import Source, Submission, decode_case_message, encode
from streams.outputs import Output, Refused, ToCase
from streams.registration import unpack_bytes

NOW = T0 + 10 * SECOND


def submitted(document: Any, context: Context = CONTEXT) -> Submission:
    """What an operation becomes; it must be readable on the other side."""
    (output,) = take_operation(operation_record(document), context, NOW)
    assert isinstance(output, ToCase), output
    assert isinstance(output.message, Submission)
    assert decode_case_message(encode(output.message)) == output.message
    return output.message


def refusal(outputs: list[Output]) -> tuple[str, str]:
    (output,) = outputs
    assert isinstance(output, Refused), output
    assert output.stage == "intake"
    return output.class_, output.reason


def refused_operation(document: Any) -> tuple[str, str]:
    return refusal(take_operation(operation_record(document), CONTEXT, NOW))


# -- operations


def test_an_operation_goes_to_its_registration_in_normal_form() -> None:
    record = operation_record(published(), offset=7, headers=[("trace", b"1")])
    (output,) = take_operation(record, CONTEXT, NOW)
    assert isinstance(output, ToCase)
    assert output.key == "operation/op-1"
    message = output.message
    assert isinstance(message, Submission)
    assert (message.at, message.operation_id, message.source) == (NOW, "op-1", Source("operations", 0, 7))
    intent = message.intent
    assert (intent.contract, intent.version, intent.connection) == (SHOPIFY, "1.0.0", "acme")
    assert (intent.created_at, intent.created_ms) == (STARTED, T0)
    assert intent.input == {"order_id": "gid://shopify/Order/69", "amount": "42.50"}
    assert message.action == {"$action.result.refundCreate.refund.id": "gid://shopify/Refund/1"}
    assert message.case_key == ORDER_KEY
    assert unpack_bytes(message.original.value) == record.value
    assert unpack_bytes(message.original.key) == b"op-1"
    assert message.original.headers == [("trace", base64.b64encode(b"1").decode())]


def test_a_paypal_operation_belongs_to_its_capture() -> None:
    document = json.loads(sample("paypal_operation.json"))
    given = published(
        contract="paypal.refund.recorded",
        connection="pay",
        created_at=document["operation"]["created_at"],
        input=document["input"],
        action=document["action"],
    )
    message = submitted(given)
    assert message.case_key == "case/pay/capture_id/7CAP00001TEST001A"
    assert message.action == {"$action.result.id": "8REF00001TEST001A"}


@pytest.mark.parametrize("order", [69, "69", "gid://shopify/Order/69"])
def test_an_order_by_number_and_by_global_id_is_one_case(order: Any) -> None:
    message = submitted(published(input={"order_id": order, "amount": "42.50"}))
    assert message.case_key == ORDER_KEY
    assert message.intent.input["order_id"] == "gid://shopify/Order/69"


@pytest.mark.parametrize(
    "action",
    [
        ...,
        None,
        {},
        {"result": None},
        {"error": {"message": "declined"}},
        {"result": {"refundCreate": {"refund": None, "userErrors": [{"message": "no"}]}}},
        {"result": {"refundCreate": {"refund": {"id": None}}}},
        {"result": {"refundCreate": {"refund": {"id": 1.5}}}},
        {"result": {"refundCreate": {"refund": {"id": ["x"]}}}},
        {"result": {"refundCreate": {"refund": {"id": {}}}}},
        {"result": []},
        {"result": "done"},
    ],
)
def test_an_action_that_names_no_refund_is_no_obstacle(action: Any) -> None:
    assert submitted(published(action=action)).action == {}


def test_an_operation_of_whole_seconds_keeps_the_text_that_it_was_published_with() -> None:
    message = submitted(published(created_at="2026-03-12T08:42:18-07:00"))
    assert (message.intent.created_at, message.intent.created_ms) == ("2026-03-12T08:42:18-07:00", T0 - 200)


def test_what_an_operation_says_beyond_the_format_is_left_out() -> None:
    message = submitted(published(note="x", input={"order_id": "69", "amount": "42.50", "extra": [1]}))
    assert message.intent.input == {"order_id": "gid://shopify/Order/69", "amount": "42.50"}


@pytest.mark.parametrize(("version", "given"), [(..., False), (None, False), ("1.0.0", True)])
def test_a_version_that_is_not_asked_for_is_the_newest(version: Any, given: bool) -> None:
    message = submitted(published(contract_version=version))
    assert (message.intent.version, message.version_given) == ("1.0.0", given)


@pytest.mark.parametrize(
    ("document", "class_", "said"),
    [
        (b"", "malformed_operation", "the value is not JSON: "),
        (b"\xff", "malformed_operation", "the value is not JSON: "),
        (b"{", "malformed_operation", "the value is not JSON: "),
        (b'{"operation_id": "\\ud800"}', "malformed_operation", "the value is not JSON: "),
        (b'{"operation_id": NaN}', "malformed_operation", "the value is not JSON: "),
        (b"[" * 5000, "malformed_operation", "the value is not JSON: "),
        (b"null", "malformed_operation", "value: "),
        (b"[]", "malformed_operation", "value: "),
        (b'"op-1"', "malformed_operation", "value: "),
        (published(operation_id=...), "malformed_operation", "operation_id: Field required"),
        (published(operation_id=""), "malformed_operation", "operation : operation_id: "),
        (published(operation_id=7), "malformed_operation", "operation_id: "),
        (published(operation_id="a\nb"), "malformed_operation", "operation a\nb: operation_id: "),
        (published(operation_id="x" * 201), "malformed_operation", "operation " + "x" * 201 + ": operation_id: "),
        (published(contract=...), "malformed_operation", "operation op-1: contract: Field required"),
        (published(contract=7), "malformed_operation", "operation op-1: contract: "),
        (published(contract_version=1), "malformed_operation", "operation op-1: contract_version: "),
        (published(connection=...), "malformed_operation", "operation op-1: connection: Field required"),
        (published(created_at=...), "malformed_operation", "operation op-1: created_at: Field required"),
        (published(created_at=1773330138), "malformed_operation", "operation op-1: created_at: "),
        (published(input=...), "malformed_operation", "operation op-1: input: Field required"),
        (published(input=[]), "malformed_operation", "operation op-1: input: "),
        (published(action="done"), "malformed_operation", "operation op-1: action: "),
        (
            published(contract="shopify.refund.craeted"),
            "unknown_contract",
            "operation op-1: contract: There is no contract shopify.refund.craeted. Did you mean",
        ),
        (
            published(contract_version="9.9.9"),
            "unknown_version",
            "operation op-1: contract_version: There is no version 9.9.9 of shopify.refund.created; there is 1.0.0.",
        ),
        (
            published(connection="acme2"),
            "unknown_connection",
            "operation op-1: connection: there is no connection 'acme2'",
        ),
        (
            published(connection="pay"),
            "wrong_provider",
            "operation op-1: connection: 'pay' is of paypal, shopify.refund.created is about shopify",
        ),
        (
            published(created_at="2026-13-12T15:42:18Z"),
            "impossible_date",
            "operation op-1: created_at: '2026-13-12T15:42:18Z' is an impossible date-time",
        ),
        (
            published(created_at="2026-03-12T15:42:18"),
            "impossible_date",
            "operation op-1: created_at: '2026-03-12T15:42:18' is not an RFC 3339 date-time with an offset",
        ),
        (
            published(created_at="2026-03-13T15:42:28.201Z"),
            "impossible_date",
            "operation op-1: created_at: 2026-03-13T15:42:28.201Z lies in the future; it is 2026-03-12T15:42:28.200Z",
        ),
        (published(created_at="1960-01-01T00:00:00Z"), "impossible_date", "operation op-1: created_at: "),
        (published(created_at="0001-01-01T00:00:00+23:59"), "impossible_date", "operation op-1: created_at: "),
        (
            published(input={"amount": "42.50"}),
            "missing_input",
            "operation op-1: input.order_id: missing; shopify.refund.created needs it",
        ),
        (
            published(input={"order_id": "69", "amount": 42.5}),
            "wrong_input_type",
            "operation op-1: input.amount: must be text, not a JSON number",
        ),
        (
            published(input={"order_id": 2**70, "amount": "42.50"}),
            "wrong_input_type",
            "operation op-1: input.order_id: ",
        ),
    ],
)
def test_each_operation_that_cannot_be_taken_is_refused_with_its_word_and_sentence(
    document: Any, class_: str, said: str
) -> None:
    word, sentence = refused_operation(document)
    assert word == class_
    assert sentence.startswith(said)


def test_an_operation_without_a_value_is_refused() -> None:
    outputs = take_operation(Rec("operations", value=None), CONTEXT, NOW)
    assert refusal(outputs) == ("malformed_operation", "the record has no value")


def test_an_operation_may_lie_a_day_in_the_future_by_our_clock() -> None:
    assert POLICY.future_ms == DAY
    message = submitted(published(created_at="2026-03-13T15:42:28.200Z"))
    assert message.intent.created_ms == NOW + DAY


@pytest.mark.parametrize(
    "record",
    [
        operation_record(published(note="x" * MAX_OPERATION_BYTES)),
        Rec("operations", key=b"k" * MAX_OPERATION_BYTES, value=json.dumps(published()).encode()),
        Rec("operations", value=json.dumps(published()).encode(), headers=[("h", b"x" * MAX_OPERATION_BYTES)]),
    ],
    ids=["value", "key", "header"],
)
def test_an_operation_that_would_not_fit_when_it_is_forwarded_is_refused(record: Rec) -> None:
    class_, sentence = refusal(take_operation(record, CONTEXT, NOW))
    assert class_ == "too_large"
    assert f"more than {MAX_OPERATION_BYTES} are not taken" in sentence


def test_an_action_value_of_any_length_is_not_taken_in() -> None:
    """A case keeps it for each of its operations."""
    action = {"result": {"refundCreate": {"refund": {"id": "gid://shopify/Refund/" + "1" * 1000}}}}
    class_, sentence = refused_operation(published(action=action))
    assert class_ != "internal_error"
    assert "$action.result.refundCreate.refund.id" in sentence


def test_a_refusal_keeps_the_record_as_it_came() -> None:
    record = Rec("operations", 5, 99, T0, b"\xffkey", b"\xffvalue", [("h", None), ("h", b"\xff")])
    (output,) = take_operation(record, CONTEXT, NOW)
    assert isinstance(output, Refused)
    assert (output.topic, output.partition, output.offset, output.at) == ("operations", 5, 99, NOW)
    assert (output.key, output.value, output.headers) == (record.key, record.value, (("h", None), ("h", b"\xff")))


def test_one_bad_record_costs_only_itself() -> None:
    records = [operation_record(one, offset) for offset, one in enumerate([published(), b"{", published(), b""])]
    outputs = take_all(take_operation, records, CONTEXT, NOW)
    assert [type(one).__name__ for one in outputs] == ["ToCase", "Refused", "ToCase", "Refused"]


def test_a_fault_of_our_own_costs_only_its_record() -> None:
    def take(record: Any, context: Context, now: int) -> list[Output]:
        if record.offset == 1:
            raise ZeroDivisionError("division by zero")
        return take_operation(record, context, now)

    records = [operation_record(published(), offset) for offset in range(3)]
    outputs = take_all(take, records, CONTEXT, NOW)
    assert [type(one).__name__ for one in outputs] == ["ToCase", "Refused", "ToCase"]
    assert refusal(outputs[1:2]) == ("internal_error", "ZeroDivisionError: division by zero")
