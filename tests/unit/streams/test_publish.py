"""Outputs as Kafka records: their keys, their CloudEvents headers, and dead letters."""

import json
from dataclasses import replace
from typing import Any

import pytest
from casework import (
    ABSENT,
    CAPTURE_KEY,
    CHANNEL,
    DAY,
    HOUR,
    MINUTE,
    ORDER_KEY,
    PAYPAL,
    T0,
    at,
    case,
    found,
    refunded,
    start,
    submission,
)

from contracts.instants import parse_instant
from streams.messages import ReadAnswered, ReadRequest, Source, Tick, decode_case_message, decode_read_request
from streams.outputs import Forgotten, Ignored, Output, Refused, Review, ToCase, ToReadback, Verdict
from streams.publish import to_record, to_records
from streams.records import OutRecord
from streams.transport.topics import MAX_RECORD_BYTES, MAX_REQUEST_BYTES

REQUEST = ReadRequest("op-1", ORDER_KEY, "shopify.refund.created", "1.0.0", "acme", CHANNEL, 3, T0, {"id": "x"})
REFUSED = Refused(
    "not_json",
    "the body is not JSON",
    b"key",
    b"\xffbody",
    (("h", b"1"), ("none", None)),
    "webhooks",
    5,
    99,
    "intake",
    T0,
)


def made(output: Output) -> OutRecord:
    record = to_record(output)
    assert record is not None
    return record


def headers(record: OutRecord) -> dict[str, str]:
    """The CloudEvents attributes and the content type, as text."""
    return {name: value.decode() for name, value in record.headers if value is not None and "dead" not in name}


def told_by(work: Any, kind: type) -> list[Any]:
    return [one for one in work.told if isinstance(one, kind)]


def verified() -> Any:
    work = case(start(), refunded(300))
    work.answer(600, found())
    return work


def timed_out() -> Any:
    work = case(start(contract=PAYPAL), key=CAPTURE_KEY)
    work.run(15 * MINUTE + 1)
    return work


@pytest.mark.parametrize(
    ("output", "topic", "key", "type_"),
    [
        (ToCase(ORDER_KEY, Tick(T0)), "cases", ORDER_KEY, "proofstream.case.tick"),
        (ToCase(ORDER_KEY, start()), "cases", ORDER_KEY, "proofstream.case.start"),
        (ToCase(ORDER_KEY, refunded(0)), "cases", ORDER_KEY, "proofstream.case.events"),
        (ToCase("operation/op-1", submission()), "cases", "operation/op-1", "proofstream.case.submission"),
        (
            ToCase(ORDER_KEY, ReadAnswered(T0, "op-1", CHANNEL, 1, T0, ABSENT)),
            "cases",
            ORDER_KEY,
            "proofstream.case.answer",
        ),
        (ToReadback(REQUEST), "readbacks", "acme", "proofstream.read.requested"),
        (Verdict("op-1", "v-1", T0, {"a": 1}), "verdicts", "op-1", "proofstream.verdict.reached"),
        (Review("op-1", "v-1/review/0", T0, {"a": 1}), "reviews", "op-1", "proofstream.review.wanted"),
        (Verdict("é/日", "v-1", T0, {}), "verdicts", "é/日", "proofstream.verdict.reached"),
    ],
)
def test_each_output_has_its_topic_its_key_and_the_attributes_of_cloudevents(
    output: Output, topic: str, key: str, type_: str
) -> None:
    record = made(output)
    assert (record.topic, record.key) == (topic, key.encode())
    attributes = headers(record)
    assert attributes.pop("ce_id")
    assert attributes == {
        "content-type": "application/json",
        "ce_specversion": "1.0",
        "ce_type": type_,
        "ce_source": "/proofstream",
        "ce_time": "2026-03-12T15:42:18.200Z",
    }
    assert record.value is not None
    json.loads(record.value)


def test_the_time_of_an_event_is_rfc_3339() -> None:
    assert parse_instant(headers(made(ToCase("case/x", Tick(0))))["ce_time"]).start_ns == 0


def test_values_are_read_as_they_were_written() -> None:
    message = start()
    assert decode_case_message(made(ToCase(ORDER_KEY, message)).value) == message
    assert decode_read_request(made(ToReadback(REQUEST)).value) == REQUEST


def test_a_verdict_is_its_record_as_json() -> None:
    (output,) = told_by(verified(), Verdict)
    record = made(output)
    assert record.value is not None
    assert json.loads(record.value) == output.record
    assert headers(record)["ce_id"] == output.record["verdict_id"]


def test_repeated_records_bear_the_same_id() -> None:
    for output in verified().told:
        assert made(output) == made(output)
    one, again = (ToReadback(replace(REQUEST, asked_ms=asked)) for asked in (T0, T0 + 30_000))
    assert headers(made(one))["ce_id"] == headers(made(again))["ce_id"]


def test_different_events_bear_different_ids() -> None:
    answer = ReadAnswered(T0, "op-1", CHANNEL, 1, T0, ABSENT)
    delivery = refunded(0, at_source=Source("webhooks", 0, 1))
    outputs: list[Output] = [
        ToCase("case/acme/order_id/1", Tick(T0)),
        ToCase("case/acme/order_id/2", Tick(T0)),
        ToCase("case/acme/order_id/1", Tick(T0 + 1)),
        ToCase("case/acme/order_id/1", answer),
        ToCase("case/acme/order_id/2", answer),
        ToCase("case/acme/order_id/1", delivery),
        ToCase("case/acme/order_id/2", delivery),
        ToCase("case/acme/order_id/1", refunded(0, at_source=Source("webhooks", 1, 1))),
        ToCase("case/acme/order_id/1", refunded(0, at_source=Source("webhooks", 0, 2))),
        ToReadback(REQUEST),
        ToReadback(replace(REQUEST, attempt=4)),
        ToReadback(replace(REQUEST, channel="other")),
        ToReadback(replace(REQUEST, operation_id="op-2")),
    ]
    ids = [headers(one)["ce_id"] for one in to_records(outputs)]
    assert len(set(ids)) == len(outputs)


def test_answers_of_two_operations_of_one_case_in_one_millisecond_are_two_events() -> None:
    answers = [ReadAnswered(T0, f"op-{number}", CHANNEL, 1, T0, ABSENT) for number in (1, 2)]
    ids = {headers(made(ToCase(ORDER_KEY, one)))["ce_id"] for one in answers}
    assert len(ids) == 2


def test_a_review_its_verdict_and_each_of_its_updates_are_different_events() -> None:
    """A consumer may drop what repeats an id and source (CloudEvents 1.0, section 3.1.1)."""
    work = timed_out()
    work.send(refunded(HOUR, 1, contract=PAYPAL))
    work.send(refunded(HOUR, 2, contract=PAYPAL))
    records = [made(one) for one in told_by(work, Verdict) + told_by(work, Review)]
    assert [record.topic for record in records] == ["verdicts", "reviews", "reviews", "reviews"]
    assert len({headers(record)["ce_id"] for record in records}) == 4


def test_a_superseding_verdict_is_another_event() -> None:
    work = verified()
    work.send(refunded(DAY, 2))
    first, second = told_by(work, Verdict)
    assert headers(made(first))["ce_id"] != headers(made(second))["ce_id"]


# -- dead letters


def test_a_dead_letter_is_the_record_as_it_came_and_says_why() -> None:
    record = made(REFUSED)
    assert (record.topic, record.key, record.value) == ("dead-letters", b"key", b"\xffbody")
    assert record.headers == (
        ("h", b"1"),
        ("none", None),
        ("dead_letter_stage", b"intake"),
        ("dead_letter_class", b"not_json"),
        ("dead_letter_reason", b"the body is not JSON"),
        ("dead_letter_topic", b"webhooks"),
        ("dead_letter_partition", b"5"),
        ("dead_letter_offset", b"99"),
        ("dead_letter_at", at(0).encode()),
    )


def test_a_reason_of_any_characters_and_length_can_be_written() -> None:
    record = made(replace(REFUSED, reason="\ud800é\n" + "x" * 1_000_000))
    reason = dict(record.headers)["dead_letter_reason"]
    assert reason is not None
    assert reason.decode().startswith("?é\n")
    assert len(reason) < 4000


@pytest.mark.parametrize(
    "refused",
    [
        replace(REFUSED, value=b"x" * MAX_RECORD_BYTES),
        replace(REFUSED, value=b"x" * (MAX_RECORD_BYTES - 10), key=b"k"),
        replace(REFUSED, value=b"x", headers=(("h", b"x" * (MAX_RECORD_BYTES - 10)),)),
        replace(REFUSED, value=b"x", key=b"k" * (MAX_RECORD_BYTES - 10)),
        replace(REFUSED, value=b"x" * MAX_RECORD_BYTES, headers=(("h", b"x" * 1_000_000),)),
        replace(REFUSED, value=b"x" * 1000, headers=tuple((f"h{one}", b"") for one in range(200_000))),
    ],
    ids=["value", "value and key", "header", "key", "too much of all", "many headers"],
)
def test_a_dead_letter_of_any_record_can_be_produced(refused: Refused) -> None:
    record = made(refused)
    size = len(record.key or b"") + len(record.value or b"")
    size += sum(len(name) + len(value or b"") + 10 for name, value in record.headers)
    assert size <= MAX_REQUEST_BYTES
    assert dict(record.headers)["dead_letter_offset"] == b"99"


def test_a_tombstone_that_is_refused_stays_one() -> None:
    record = made(replace(REFUSED, key=None, value=None))
    assert (record.key, record.value) == (None, None)


# -- what is only counted


@pytest.mark.parametrize("output", [Ignored("ORDERS_UPDATED"), Forgotten(3)])
def test_what_is_only_counted_is_no_record(output: Output) -> None:
    assert to_record(output) is None


def test_records_keep_the_order_of_their_outputs() -> None:
    outputs: list[Output] = [Ignored("X"), ToReadback(REQUEST), Forgotten(1), REFUSED, ToCase(ORDER_KEY, Tick(T0))]
    assert [record.topic for record in to_records(outputs)] == ["readbacks", "dead-letters", "cases"]
