"""Letters are found by stage, class, time, operation and id."""

from dataclasses import replace

import pytest
from letters import AT, TOPICS, Consumed, refusal, written

from streams.dead_letters.letter import LetterId
from streams.dead_letters.requeue import PutBack, mark_headers
from streams.dead_letters.search import Found, Wanted, parse_moment

HOUR = 3_600_000
RECORDS = [
    written(refusal(b'{"operation_id": "op-1"}', at=AT), offset=1),
    written(replace(refusal(at=AT + 1000), stage="decide", class_="case_full"), offset=2),
    written(replace(refusal(at=AT + 1000), stage="readback", class_="internal_error"), offset=0, partition=1),
    written(refusal(b'{"operation_id": "op-10"}', at=AT + 2000), offset=3),
]


def found(wanted: Wanted, *more: Consumed) -> Found:
    search = Found(wanted, TOPICS)
    for record in (*RECORDS, *more):
        search.look_at(record)
    return search


def ids(wanted: Wanted) -> list[str]:
    return [str(one.id) for one in found(wanted).newest_first()]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Wanted(), ["3/3", "1/0", "3/2", "3/1"]),
        (Wanted(stages=frozenset({"decide"})), ["3/2"]),
        (Wanted(stages=frozenset({"decide", "readback"})), ["1/0", "3/2"]),
        (Wanted(classes=frozenset({"not_json"})), ["3/3", "3/1"]),
        (Wanted(since=AT + 1000), ["3/3", "1/0", "3/2"]),
        (Wanted(until=AT + 1000), ["3/1"]),
        (Wanted(since=AT + 1000, until=AT + 2000), ["1/0", "3/2"]),
        (Wanted(operation_id="op-1"), ["3/1"]),
        (Wanted(ids=frozenset({LetterId(3, 3), LetterId(1, 0)})), ["3/3", "1/0"]),
        (Wanted(stages=frozenset({"intake"}), operation_id="op-10"), ["3/3"]),
        (Wanted(stages=frozenset({"decide"}), operation_id="op-10"), []),
    ],
)
def test_what_is_asked_for_is_found_the_newest_first(wanted, expected):
    assert ids(wanted) == expected


def test_a_mark_is_no_letter_and_says_which_was_put_back():
    mark = PutBack(LetterId(3, 2), AT + 5000, "t-cases/0/7")
    search = found(Wanted(), Consumed(offset=4, headers=mark_headers(mark)), Consumed(offset=5, value=b"?"))
    assert len(search.letters) == 4
    assert search.put_back == {LetterId(3, 2): mark}
    assert search.strangers == 1


def test_ids_that_are_no_letters_are_told():
    wanted = Wanted(ids=frozenset({LetterId(3, 3), LetterId(3, 9), LetterId(0, 0)}))
    assert [str(one) for one in found(wanted).missing()] == ["0/0", "3/9"]
    assert wanted.beginnings == {3: 3, 0: 0}
    assert Wanted().beginnings is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", AT - 90_000),
        ("30m", AT - HOUR // 2),
        ("2h", AT - 2 * HOUR),
        ("7d", AT - 168 * HOUR),
        ("2026-03-12T16:42:18.200+01:00", AT),
    ],
)
def test_a_moment_is_a_date_or_how_long_ago(text, expected):
    assert parse_moment(text, AT) == expected


@pytest.mark.parametrize("text", ["", "h", "2", "-2h", "2 h", "2w", "2026-03-12", "2026-13-12T00:00:00Z"])
def test_what_is_no_moment_is_named(text):
    with pytest.raises(ValueError, match="how long ago, such as"):
        parse_moment(text, AT)
