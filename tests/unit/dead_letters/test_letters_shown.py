"""Letters as text."""

import pytest
from letters import AT, TOPICS, refusal, written

from streams.dead_letters.letter import Letter, LetterId, contents_of, parse_letter
from streams.dead_letters.requeue import PutBack
from streams.dead_letters.show import document_of, line_of, page_of, printable, value_text
from streams.outputs import Refused
from streams.transport.topics import MAX_RECORD_BYTES

MARK = PutBack(LetterId(3, 17), AT + 1000, "t-operations/2/100")


def letter_of(refused: Refused) -> Letter:
    letter = parse_letter(written(refused), TOPICS)
    assert letter is not None
    return letter


def test_a_line_names_everything():
    assert line_of(letter_of(refusal()), MARK) == (
        "3/17      2026-03-12T15:42:18.200Z  intake    not_json            t-operations/2/99  the reason"
        "  (put back 2026-03-12T15:42:19.200Z)"
    )


def test_an_object_is_for_machines():
    assert document_of(letter_of(refusal(b'{"operation_id": "op-1"}')), MARK) == {
        "id": "3/17",
        "at": "2026-03-12T15:42:18.200Z",
        "stage": "intake",
        "class": "not_json",
        "reason": "the reason",
        "topic": "t-operations",
        "partition": 2,
        "offset": 99,
        "operation_id": "op-1",
        "bytes": 24,
        "cut": False,
        "put_back": {"at": "2026-03-12T15:42:19.200Z", "to": "t-operations/2/100"},
    }
    assert document_of(letter_of(refusal()), None)["put_back"] is None


def test_a_page_shows_the_record():
    refused = refusal(b'{"a":1}', headers=(("h", b"1"), ("longer", None), ("raw", b"\xff")))
    page = page_of(letter_of(refused), contents_of(written(refused)), None)
    assert page.splitlines() == [
        "dead letter: 3/17",
        "refused at:  2026-03-12T15:42:18.200Z",
        "stage:       intake",
        "class:       not_json",
        "reason:      the reason",
        "came from:   t-operations/2/99",
        "operation:   -",
        "put back:    no",
        "",
        "key: key",
        "headers:",
        "  h:      1",
        "  longer: (null)",
        "  raw:    0xff",
        "",
        "value, 7 bytes:",
        "{",
        '  "a": 1',
        "}",
    ]


def test_a_page_says_where_the_whole_of_a_cut_letter_lies():
    refused = refusal(b"x" * (2 * MAX_RECORD_BYTES))
    page = page_of(letter_of(refused), contents_of(written(refused)), MARK)
    assert "; the whole lies at t-operations/2/99 until that topic drops it" in page
    assert "put back:    2026-03-12T15:42:19.200Z, to t-operations/2/100" in page
    assert "value, the first 65536 bytes:" in page


def test_a_value_is_shown_as_what_it_is():
    assert value_text(None) == "(null)"
    assert value_text(b"") == ""
    assert value_text("größe\tx".encode()) == "größe\tx"
    assert value_text(b"\x00\xffAZ" + b"." * 14).splitlines() == [
        "00000000  00 ff 41 5a 2e 2e 2e 2e 2e 2e 2e 2e 2e 2e 2e 2e  ..AZ............",
        f"00000010  {'2e 2e':<48} ..",
    ]


def test_nothing_that_a_sender_wrote_steers_the_terminal():
    assert printable("a\x1b[31m\x07\u202eb\n") == "a\\x1b[31m\\x07\\u202eb\n"
    reason = "one\n\x1b[2Jtwo"
    class_ = "not\x1b_\njson"  # somebody else's letter
    refused = Refused(class_, reason, b"\x1b", b"\x1b", ((reason, b"\x1b"),), "t-operations", 2, 99, "intake", AT)
    letter, contents = letter_of(refused), contents_of(written(refused))
    assert "\n" not in line_of(letter, None)
    assert "\x1b" not in line_of(letter, None) + page_of(letter, contents, None)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b'{"amount":42.50,"id":99999999999999999999}', '{\n  "amount": 42.50,\n  "id": 99999999999999999999\n}'),
        (b'{"a":"1, {2}: \\"", "a" : [] }', '{\n  "a": "1, {2}: \\"",\n  "a": []\n}'),
        (b"[{}, [1,\n2]]", "[\n  {},\n  [\n    1,\n    2\n  ]\n]"),
    ],
)
def test_json_is_indented_and_nothing_in_it_is_written_otherwise(value: bytes, shown: str):
    assert value_text(value) == shown


def test_json_of_any_depth_is_shown():
    value = b"[" * 300 + b"1" + b"]" * 300
    assert "".join(value_text(value).split()) == value.decode()
