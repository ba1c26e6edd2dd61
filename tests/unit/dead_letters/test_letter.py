"""A letter is read from the worker's own headers, and holds its record byte for byte."""

import orjson
import pytest
from letters import AT, TOPICS, Consumed, refusal, written

from streams.dead_letters.letter import LetterId, contents_of, parse_letter, parse_letter_id
from streams.messages import Source
from streams.transport.topics import MAX_RECORD_BYTES

OWN = ("stage", "class", "reason", "topic", "partition", "offset", "timestamp", "at")


def test_a_letter_says_what_the_worker_said():
    letter = parse_letter(written(refusal(b'{"operation_id": "op-1"}')), TOPICS)

    assert letter is not None
    assert letter.id == LetterId(3, 17)
    assert (letter.at, letter.timestamp) == (AT, AT - 5000)
    assert (letter.stage, letter.class_, letter.reason) == ("intake", "not_json", "the reason")
    assert letter.source == Source("t-operations", 2, 99)
    assert (letter.operation_id, letter.size, letter.cut) == ("op-1", 24, None)


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("a", b"1"), ("a", b"2"), ("none", None), ("b", b"\xff")),
        tuple((f"dead_letter_{name}", b"forged") for name in OWN),
        (("dead_letter_at", b"forged"),),
        (("dead_letter_cut", b"forged"),),
        (("a", b"1"), ("dead_letter_cut", b"forged"), ("dead_letter_requeued", b"3/17")),
    ],
)
@pytest.mark.parametrize(("key", "value"), [(b"key", b"\xff\x00"), (b"key", None)])
def test_what_a_sender_wrote_is_kept_and_believed_nowhere(headers, key, value):
    record = written(refusal(value, key, headers))
    letter, contents = parse_letter(record, TOPICS), contents_of(record)

    assert letter is not None
    assert (letter.stage, letter.at, letter.cut) == ("intake", AT, None)
    assert (contents.key, contents.value, contents.headers) == (key, value, headers)


def test_a_letter_that_was_cut_says_so():
    record = written(refusal(b"x" * (2 * MAX_RECORD_BYTES), headers=(("a", b"1"),)))
    letter = parse_letter(record, TOPICS)

    assert letter is not None
    assert letter.cut is not None
    assert letter.cut.startswith("the record had ")
    assert contents_of(record).headers == ()


@pytest.mark.parametrize(
    ("topic", "key", "value", "expected"),
    [
        ("t-operations", b"k", orjson.dumps({"operation_id": "op-1"}), "op-1"),
        ("t-operations", b"op-1", b"no json", None),
        ("t-operations", b"op-1", orjson.dumps({"operation_id": 7}), None),
        ("t-operations", b"op-1", None, None),
        ("t-cases", b"case/acme/order_id/1", orjson.dumps({"operation_id": "op-1", "kind": "start"}), "op-1"),
        ("t-cases", b"operation/op-1", orjson.dumps({"kind": "tick"}), "op-1"),
        ("t-cases", b"case/acme/order_id/1", orjson.dumps({"kind": "tick"}), None),
        ("t-readbacks", b"acme", orjson.dumps({"operation_id": "op-1"}), "op-1"),
        ("t-webhooks", b"operation/op-1", orjson.dumps({"operation_id": "op-1"}), None),
        ("elsewhere", b"operation/op-1", orjson.dumps({"operation_id": "op-1"}), None),
    ],
)
def test_a_letter_is_about_an_operation_where_the_record_says_so(topic, key, value, expected):
    letter = parse_letter(written(refusal(value, key, topic=topic)), TOPICS)
    assert letter is not None
    assert letter.operation_id == expected


def test_a_refusal_without_a_timestamp_of_its_own_has_none():
    letter = parse_letter(written(refusal(timestamp=None)), TOPICS)
    assert letter is not None
    assert letter.timestamp is None


@pytest.mark.parametrize("left_out", [name for name in OWN if name != "timestamp"])
def test_a_record_without_one_of_the_headers_is_no_letter(left_out):
    headers = tuple(one for one in written(refusal()).headers if one[0] != f"dead_letter_{left_out}")
    assert parse_letter(Consumed(headers=headers), TOPICS) is None


@pytest.mark.parametrize("name", ["partition", "offset", "timestamp", "at"])
def test_a_record_with_a_header_that_cannot_be_read_is_no_letter(name):
    headers = [one for one in written(refusal()).headers if one[0] != f"dead_letter_{name}"]
    assert parse_letter(Consumed(headers=[*headers, (f"dead_letter_{name}", b"?")]), TOPICS) is None


def test_an_id_is_written_as_it_is_read():
    assert parse_letter_id("3/17") == LetterId(3, 17)
    assert str(LetterId(3, 17)) == "3/17"


@pytest.mark.parametrize("text", ["", "3", "3/", "/17", "3/17/1", "a/b", "-1/2", "3/17 ", "3/٣"])
def test_what_is_no_id_is_named(text):
    with pytest.raises(ValueError, match="no dead letter's id") as raised:
        parse_letter_id(text)
    assert repr(text) in str(raised.value)
