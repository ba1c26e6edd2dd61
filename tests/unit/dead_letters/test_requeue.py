"""What goes back: the record as it came, and where it lay first."""

import pytest
from letters import AT, TOPICS, Consumed, refusal, written

from contracts.instants import to_rfc3339
from streams.dead_letters.letter import LetterId, contents_of, parse_letter
from streams.dead_letters.requeue import PutBack, headers_of, mark_headers, parse_mark
from streams.records import Headers
from streams.requeued import REQUEUED_HEADER

PLACE = (REQUEUED_HEADER, b"t-operations/2/99")


def put_back(headers: Headers, topic: str = "t-operations", **more) -> Headers:
    record = written(refusal(headers=headers, topic=topic, **more))
    letter = parse_letter(record, TOPICS)
    assert letter is not None
    return headers_of(letter, contents_of(record), TOPICS[topic])


def test_the_headers_are_as_they_came_with_the_place_behind_them():
    own: Headers = (("a", b"1"), ("a", None), ("dead_letter_at", b"a sender's own"))
    assert put_back(own) == (*own, PLACE)


def test_what_is_put_back_for_the_second_time_keeps_its_first_place():
    first = (REQUEUED_HEADER, b"t-operations/0/4")
    assert put_back((("a", b"1"), first)) == (("a", b"1"), first)


@pytest.mark.parametrize(
    "wrong",
    [
        ((REQUEUED_HEADER, b"?"),),
        ((REQUEUED_HEADER, None),),
        ((REQUEUED_HEADER, b"t-webhooks/0/4"),),
        ((REQUEUED_HEADER, b"t-operations/0/4"), (REQUEUED_HEADER, b"t-operations/0/5")),
    ],
)
def test_a_place_that_cannot_be_read_gives_way_to_the_true_one(wrong):
    assert put_back((*wrong, ("a", b"1"))) == (("a", b"1"), PLACE)


@pytest.mark.parametrize(
    ("timestamp", "stamp"),
    [(AT - 5000, AT - 5000), (AT + 1, AT), (2**62, AT), (0, AT), (-1, AT), (None, AT)],
)
def test_a_delivery_that_no_gateway_stamped_keeps_the_time_of_its_record(timestamp, stamp):
    headers = put_back((("connection_id", b"acme"),), "t-webhooks", timestamp=timestamp)
    assert headers == (
        ("connection_id", b"acme"),
        ("arrived_at", to_rfc3339(stamp).encode()),
        (REQUEUED_HEADER, b"t-webhooks/2/99"),
    )


@pytest.mark.parametrize("name", ["arrived_at", "Arrived_At"])
def test_a_delivery_that_was_stamped_keeps_its_stamp(name):
    headers = put_back(((name, b"then"),), "t-webhooks")
    assert headers == ((name, b"then"), (REQUEUED_HEADER, b"t-webhooks/2/99"))


def test_a_mark_is_read_as_it_was_written_and_is_no_letter():
    mark = PutBack(LetterId(3, 17), AT, "t-operations/2/1042")
    record = Consumed(headers=mark_headers(mark))
    assert parse_mark(record) == mark
    assert parse_letter(record, TOPICS) is None


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("dead_letter_requeued", b"3/17"),),
        (("dead_letter_requeued", b"x"), ("dead_letter_requeued_to", b""), ("dead_letter_requeued_at", b"x")),
    ],
)
def test_anything_else_is_no_mark(headers):
    assert parse_mark(Consumed(headers=headers)) is None
