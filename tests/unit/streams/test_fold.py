"""The fold: a batch of records applied to rows, each row read and written once."""

import json
import logging
from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest
from casework import (
    ABSENT,
    CONTEXT,
    DAY,
    MINUTE,
    ORDER_KEY,
    T0,
    Rec,
    found,
    refunded,
    start,
    submission,
)
from hypothesis import given
from hypothesis import strategies as st

from streams.cases import Case, Registration, decode_row, registration_key
from streams.decide import decide
from streams.fold import Folded, fold
from streams.messages import CaseMessage, ReadAnswered, Source, Tick, encode
from streams.outputs import Output, Refused, ToCase, ToReadback, Verdict
from streams.publish import to_records
from streams.transport.topics import REVIEWS

KEY = ORDER_KEY.encode()
OTHER = b"case/acme/order_id/gid://shopify/Order/70"


class Table:
    """Rows, and how often each was read."""

    def __init__(self, rows: dict[bytes, bytes] | None = None) -> None:
        self.rows = dict(rows or {})
        self.reads: list[bytes] = []

    def read(self, key: bytes) -> bytes | None:
        self.reads.append(key)
        return self.rows.get(key)

    def fold(self, records: Iterable[Rec], *, write: bool = True) -> Folded:
        """Fold a batch; unless the worker dies before it, write what came of it."""
        folded = fold(records, self.read, CONTEXT, T0)
        if write:
            for key, value in folded.rows.items():
                if value is None:
                    self.rows.pop(key, None)
                else:
                    self.rows[key] = value
        return folded

    def case(self, key: bytes = KEY) -> Case:
        row = decode_row(self.rows[key])
        assert isinstance(row, Case)
        return row


def record(offset: int, message: CaseMessage | bytes | None, key: bytes | None = KEY) -> Rec:
    value = message if isinstance(message, bytes) or message is None else encode(message)
    return Rec("cases", 3, offset, T0, key, value, (("h", b"1"),))


def kinds(outputs: Iterable[Output]) -> list[str]:
    return [type(one).__name__ for one in outputs]


def refusals(folded: Folded) -> list[tuple[int, str]]:
    return [(one.offset, one.class_) for one in folded.outputs if isinstance(one, Refused)]


def _life() -> list[Rec]:
    """The messages of an operation from its start to a contradiction."""
    messages: list[CaseMessage] = [
        start(),
        Tick(T0 + 1000),
        ReadAnswered(T0 + 1200, "op-1", "refund_readback", 1, T0 + 1000, found()),
        refunded(2000),
        refunded(2500),
        refunded(3000, 2),
    ]
    return [record(offset, message) for offset, message in enumerate(messages, 100)]


LIFE = _life()


# -- batches


def test_a_batch_reads_and_writes_each_row_once() -> None:
    table = Table()
    folded = table.fold([*LIFE, record(106, start(), OTHER), record(107, Tick(T0 + 4000))])
    assert table.reads == [KEY, OTHER]
    assert list(folded.rows) == [KEY, OTHER]
    assert kinds(folded.outputs) == ["ToReadback", "Verdict", "Verdict"]


def test_a_batch_comes_to_the_same_as_its_records_one_by_one() -> None:
    at_once, one_by_one = Table(), Table()
    folded = at_once.fold(LIFE)
    outputs = [output for one in LIFE for output in one_by_one.fold([one]).outputs]
    assert folded.outputs == outputs
    assert at_once.rows == one_by_one.rows


@pytest.mark.parametrize("split", range(7))
def test_where_a_batch_is_cut_does_not_matter(split: int) -> None:
    whole, parts = Table(), Table()
    records = LIFE
    outputs = whole.fold(records).outputs
    assert parts.fold(records[:split]).outputs + parts.fold(records[split:]).outputs == outputs
    assert parts.rows == whole.rows


_HAPPENS = st.sampled_from(
    [
        *(start(operation_id=one) for one in ("op-1", "op-2")),
        *(Tick(T0 + after) for after in (1000, 7 * DAY, 7 * DAY + MINUTE, 8 * DAY)),
        *(ReadAnswered(T0 + 1200, "op-1", "refund_readback", one, T0 + 1000, found()) for one in (1, 2)),
        *(refunded(after, refund) for after in (0, 2000, 7 * DAY + 2 * MINUTE) for refund in (1, 2)),
    ]
)


@given(messages=st.lists(_HAPPENS, max_size=12), cuts=st.sets(st.integers(1, 11)))
def test_what_is_published_and_kept_does_not_depend_on_where_batches_are_cut(
    messages: list[CaseMessage], cuts: set[int]
) -> None:
    """To the byte, and as it is when the whole batch is through: outputs are written out at its end."""
    records = [record(offset, message) for offset, message in enumerate(messages)]
    edges = [0, *sorted(one for one in cuts if one < len(records)), len(records)]
    whole, parts = Table(), Table()
    published = to_records(whole.fold(records).outputs)
    assert [
        one for begin, end in pairwise(edges) for one in to_records(parts.fold(records[begin:end]).outputs)
    ] == published
    assert parts.rows == whole.rows


def test_a_review_says_what_was_late_when_it_was_written() -> None:
    later = 7 * DAY + MINUTE
    happens = [start(), Tick(T0 + 7 * DAY), Tick(T0 + later), refunded(later + 1), refunded(later + 2, 2)]
    folded = Table().fold([record(offset, message) for offset, message in enumerate(happens)])
    reviews = [json.loads(one.value or b"") for one in to_records(folded.outputs) if one.topic == REVIEWS]
    assert [len(one["late_evidence"]) for one in reviews] == [0, 1, 2]


def test_the_due_time_of_each_changed_row_is_told() -> None:
    table = Table()
    folded = table.fold([record(1, start())])
    assert folded.dues == {KEY: T0 + 1000}
    row = registration_key("op-1").encode()
    assert table.fold([record(2, submission(), row)]).dues == {row: T0 + 7 * DAY + CONTEXT.policy.keep_ms + DAY}


def test_a_row_that_goes_is_deleted_and_has_no_timer() -> None:
    table = Table()
    table.fold([record(1, refunded(0))])
    folded = table.fold([record(2, Tick(T0 + 3 * DAY))])
    assert folded.rows == {KEY: None}
    assert folded.dues == {KEY: None}
    assert table.rows == {}


def test_a_row_may_go_and_come_back_within_one_batch() -> None:
    table = Table()
    records = [record(1, refunded(0)), record(2, Tick(T0 + 3 * DAY)), record(3, refunded(3 * DAY + 1, 2))]
    table.fold(records)
    assert [one.event.resource_id for one in table.case().ledger.values()] == ["gid://shopify/Refund/2"]
    assert table.case().position == 3


def test_an_empty_batch_is_nothing() -> None:
    assert fold([], Table().read, CONTEXT, T0) == Folded()


# -- position


def test_a_row_knows_the_last_offset_that_it_has_applied() -> None:
    table = Table()
    table.fold(LIFE)
    assert table.case().position == 105


def test_a_batch_that_comes_again_changes_and_says_nothing() -> None:
    table = Table()
    table.fold(LIFE)
    before = dict(table.rows)
    folded = table.fold(LIFE)
    assert (folded.outputs, folded.rows, folded.dues) == ([], {}, {})
    assert table.rows == before


@pytest.mark.parametrize("applied", range(1, 6))
def test_what_was_applied_before_a_crash_is_skipped_and_the_rest_is_not(applied: int) -> None:
    whole, crashed = Table(), Table()
    records = LIFE
    outputs = whole.fold(records).outputs
    before = crashed.fold(records[:applied]).outputs
    after = crashed.fold(records).outputs
    assert before + after == outputs
    assert crashed.rows == whole.rows


def test_a_crash_before_the_rows_are_written_repeats_the_outputs_and_nothing_else() -> None:
    table = Table()
    first = table.fold(LIFE, write=False)
    second = table.fold(LIFE)
    assert first.outputs == second.outputs
    assert first.rows == second.rows
    verdicts = [[one.verdict_id for one in folded.outputs if isinstance(one, Verdict)] for folded in (first, second)]
    assert verdicts[0] == verdicts[1]


def test_each_row_skips_by_its_own_position() -> None:
    table = Table()
    table.fold([record(5, start()), record(6, start(operation_id="op-2"), OTHER)])
    folded = table.fold([record(5, start()), record(6, start(operation_id="op-2"), OTHER), record(7, refunded(500))])
    assert list(folded.rows) == [KEY]
    assert table.case(OTHER).position == 6


def test_a_delivery_that_was_forwarded_twice_is_one_and_one_that_was_published_twice_is_two() -> None:
    table = Table()
    place = Source("webhooks", 0, 7)
    forwarded = refunded(100, at_source=place)
    table.fold(
        [record(1, forwarded), record(2, forwarded), record(3, refunded(100, at_source=Source("webhooks", 0, 8)))]
    )
    (recorded,) = table.case().ledger.values()
    assert recorded.deliveries == 2


# -- records that cannot be applied


@pytest.mark.parametrize(
    ("poison", "class_"),
    [
        (lambda: record(103, b"{"), "malformed_message"),
        (lambda: record(103, b""), "malformed_message"),
        (lambda: record(103, None), "malformed_message"),
        (lambda: record(103, b"[]"), "malformed_message"),
        (lambda: record(103, b'{"kind": "stop", "at": 1}'), "malformed_message"),
        (lambda: record(103, b'{"kind": "tick", "at": "now"}'), "malformed_message"),
        (lambda: record(103, b'{"kind": "tick", "at": -1}'), "malformed_message"),
        (lambda: record(103, Tick(T0), None), "malformed_message"),
        (lambda: record(103, Tick(T0), b"\xff"), "malformed_message"),
        (lambda: record(103, start(operation_id="op-9", version="9.9.9")), "unknown_contract"),
        (lambda: record(103, submission()), "wrong_row"),
        (lambda: record(103, Tick(T0), b"elsewhere"), "wrong_row"),
        (lambda: record(103, start(), b"operation/op-1"), "wrong_row"),
    ],
)
def test_a_poisonous_record_in_a_batch_costs_one_refusal(poison: Callable[[], Rec], class_: str) -> None:
    clean, poisoned = Table(), Table()
    records = LIFE
    with_poison = [*records[:3], poison(), *(Rec(**(vars(one) | {"offset": one.offset + 1})) for one in records[3:])]
    outputs = clean.fold(records).outputs
    folded = poisoned.fold(with_poison)
    assert refusals(folded) == [(103, class_)]
    assert [one for one in folded.outputs if not isinstance(one, Refused)] == outputs
    left, right = clean.case(), poisoned.case()
    left.position = right.position = 0
    assert left == right
    assert list(poisoned.rows) == [KEY]


def test_a_refusal_holds_the_record_as_it_came() -> None:
    (refused,) = Table().fold([record(7, b"{", b"\xffkey")]).outputs
    assert isinstance(refused, Refused)
    assert (refused.topic, refused.partition, refused.offset, refused.stage) == ("cases", 3, 7, "decide")
    assert (refused.key, refused.value, refused.headers) == (b"\xffkey", b"{", (("h", b"1"),))


def test_poison_alone_writes_no_row() -> None:
    table = Table()
    folded = table.fold([record(1, start(version="9.9.9")), record(2, b"{")])
    assert (folded.rows, folded.dues) == ({}, {})
    assert len(refusals(folded)) == 2


def test_a_message_that_fails_halfway_leaves_the_row_as_if_it_had_not_been_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`decide` may have changed the row before it raised: what it changed must not be written."""

    def decide_or_fail(key: str, row: object, message: CaseMessage, *more: object) -> object:
        decision = decide(key, row, message, *more)  # type: ignore[arg-type]
        if getattr(message, "at", 0) == T0 + 2500:
            raise ZeroDivisionError("halfway")
        return decision

    monkeypatch.setattr("streams.fold.decide", decide_or_fail)
    table = Table()
    folded = table.fold(LIFE)
    assert refusals(folded) == [(104, "internal_error")]
    ledger = table.case().ledger
    assert [one.deliveries for one in ledger.values()] == [1, 1]
    assert kinds(folded.outputs) == ["ToReadback", "Verdict", "Refused", "Verdict"]
    assert table.case().position == 105


def test_the_first_message_of_a_row_may_be_the_one_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_once(key: str, row: object, message: CaseMessage, *more: object) -> object:
        if isinstance(message, Tick):
            raise ZeroDivisionError("first")
        return decide(key, row, message, *more)  # type: ignore[arg-type]

    monkeypatch.setattr("streams.fold.decide", fail_once)
    table = Table()
    folded = table.fold([record(1, Tick(T0)), record(2, start())])
    assert refusals(folded) == [(1, "internal_error")]
    assert table.case().operations.keys() == {"op-1"}


def test_a_row_that_cannot_be_read_refuses_its_messages_and_stays_as_it_is() -> None:
    table = Table({KEY: b'{"row": "case", "operations": 7}'})
    folded = table.fold([record(1, start()), record(2, start(), OTHER)])
    assert refusals(folded) == [(1, "malformed_message")]
    (refused,) = (one for one in folded.outputs if isinstance(one, Refused))
    assert refused.reason.startswith("the table's row cannot be read")
    assert list(folded.rows) == [OTHER]
    assert table.rows[KEY] == b'{"row": "case", "operations": 7}'


def test_a_million_of_digits_is_refused_and_not_raised() -> None:
    folded = Table().fold([record(1, b'{"kind": "tick", "at": ' + b"9" * 1_000_000 + b"}")])
    assert refusals(folded) == [(1, "malformed_message")]


# -- one operation through both rows


def test_a_submission_and_its_start_make_a_case() -> None:
    table = Table()
    row = registration_key("op-1").encode()
    (handed,) = table.fold([record(1, submission(), row)]).outputs
    assert isinstance(handed, ToCase)
    table.fold([record(2, handed.message, handed.key.encode())])
    (read,) = table.fold([record(3, Tick(T0 + 1000), handed.key.encode())]).outputs
    assert isinstance(read, ToReadback)
    request = read.request
    answered = ReadAnswered(T0 + 1100, "op-1", request.channel, request.attempt, request.asked_ms, ABSENT)
    assert table.fold([record(4, answered, request.case_key.encode())]).outputs == []
    assert isinstance(decode_row(table.rows[row]), Registration)


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        Table().fold([*LIFE, record(200, b"{")])
    assert caplog.records == []
