"""Records that were put back: told by the place they lay in first, taken once, in any order."""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest
from casework import CAPTURE_KEY, CONTEXT, ORDER_KEY, SECOND, T0, CaseWork, Rec, refunded, start, submission
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.cases import Case, decode_row, encode_row
from streams.fold import fold
from streams.intake import Context, take_delivery, take_operation
from streams.messages import Events, ReadAnswered, Source, Submission, Tick, encode
from streams.outputs import Refused, ToCase
from streams.publish import to_record
from streams.records import Headers
from streams.requeued import REQUEUED_HEADER, RequeuedHeaderError, as_requeued, first_place
from verifiers.reads import Answer

NOW = T0 + 60 * SECOND
DELIVERY: Headers = (("connection_id", b"pay"), ("arrived_at", b"2026-03-12T15:42:30Z"))
PUT_BACK: Headers = ((REQUEUED_HEADER, b"webhooks/0/5"),)


def capture_refunded(refund: int) -> bytes:
    """A PayPal delivery about one of the refunds of one capture."""
    link = {"rel": "up", "href": "https://api.paypal.com/v2/payments/captures/CAP1"}
    resource = {
        "id": f"R{refund}",
        "status": "COMPLETED",
        "amount": {"value": "60.00", "currency_code": "USD"},
        "create_time": "2026-03-12T15:42:19Z",
        "links": [link],
    }
    event = {"id": f"WH-{refund}", "event_type": "PAYMENT.CAPTURE.REFUNDED", "create_time": "2026-03-12T15:42:20Z"}
    return orjson.dumps(event | {"resource_type": "refund", "resource": resource})


def delivery(offset: int, refund: int = 1, headers: Headers = ()) -> Rec:
    return Rec("webhooks", 0, offset, T0, None, capture_refunded(refund), (*DELIVERY, *headers))


def taken(record: Rec, context: Context = CONTEXT) -> Any:
    (output,) = take_delivery(record, context, NOW)
    return output


# -- the header


def test_what_was_put_back_is_told_by_its_first_place():
    assert first_place("webhooks", PUT_BACK) == Source("webhooks", 0, 5, requeued=True)
    assert first_place("webhooks", (("a", b"1"),)) is None


@pytest.mark.parametrize(
    ("headers", "class_"),
    [
        (PUT_BACK + PUT_BACK, "ambiguous_header"),
        (((REQUEUED_HEADER, None),), "malformed_message"),
        (((REQUEUED_HEADER, b""),), "malformed_message"),
        (((REQUEUED_HEADER, b"webhooks/0"),), "malformed_message"),
        (((REQUEUED_HEADER, b"webhooks/0/-5"),), "malformed_message"),
        (((REQUEUED_HEADER, b"webhooks/0/9999999999999999999"),), "malformed_message"),
        (((REQUEUED_HEADER, b"webhooks/0/5\n"),), "malformed_message"),
        (((REQUEUED_HEADER, b"operations/0/5"),), "malformed_message"),
    ],
)
def test_a_header_that_does_not_say_is_refused_at_every_stage(headers, class_):
    with pytest.raises(RequeuedHeaderError) as raised:
        first_place("webhooks", headers)
    assert raised.value.class_ == class_
    assert REQUEUED_HEADER in str(raised.value)

    refused = taken(delivery(9, headers=headers))
    assert isinstance(refused, Refused)
    assert (refused.stage, refused.class_) == ("intake", class_)
    renamed = tuple((name, value and value.replace(b"webhooks", b"cases")) for name, value in headers)
    folded = fold([Rec("cases", 3, 1, T0, ORDER_KEY.encode(), encode(Tick(T0)), renamed)], lambda _: None, CONTEXT, T0)
    (refused,) = folded.outputs
    assert isinstance(refused, Refused)
    assert (refused.stage, refused.class_) == ("decide", class_)


@pytest.mark.parametrize("name", ["requeued_from", "Requeued_From", "requeued-from", "REQUEUED FROM", "requeuedfrom"])
def test_no_http_header_gives_a_delivery_another_place(name):
    token = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # RFC 9110, section 5.6.2
    assert re.fullmatch(token, REQUEUED_HEADER) is None
    output = taken(delivery(9, headers=((name, b"webhooks/0/5"),)))
    assert isinstance(output, ToCase)
    assert isinstance(output.message, Events)
    assert output.message.source == Source("webhooks", 0, 9)


# -- intake


def test_intake_tells_an_operation_that_was_put_back_by_its_first_place():
    value = orjson.dumps(
        {
            "operation_id": "op-1",
            "contract": "shopify.refund.created",
            "connection": "acme",
            "created_at": "2026-03-12T15:42:18.200Z",
            "input": {"order_id": "69", "amount": "42.50"},
        }
    )
    first = Rec("operations", 2, 7, T0, b"op-1", value, (("h", b"1"),))
    again = replace(first, offset=40, headers=(*first.headers, (REQUEUED_HEADER, b"operations/2/7")))
    (one,), (two,) = (take_operation(record, CONTEXT, NOW) for record in (first, again))
    assert isinstance(one, ToCase)
    assert isinstance(two, ToCase)
    assert isinstance(one.message, Submission)
    assert isinstance(two.message, Submission)
    assert one.message.source == Source("operations", 2, 7)
    assert two.message.source == Source("operations", 2, 7, requeued=True)
    assert to_record(one) != to_record(two)


def test_the_header_does_not_make_an_operation_too_large():
    padding = b"x" * (256 * 1024 - 1)
    first = Rec("operations", 0, 1, T0, None, padding, (("h", b""),))
    again = replace(first, offset=2, headers=(*first.headers, (REQUEUED_HEADER, b"operations/0/1")))
    for record in (first, again):
        (refused,) = take_operation(record, CONTEXT, NOW)
        assert isinstance(refused, Refused)
        assert refused.class_ == "malformed_operation"


# -- the rows


def test_a_delivery_that_was_put_back_twice_counts_once():
    work = CaseWork(key=ORDER_KEY)
    work.send(refunded(100, at_source=Source("webhooks", 0, 5, requeued=True)))
    work.send(refunded(200, at_source=Source("webhooks", 0, 5, requeued=True)))
    (recorded,) = work.case.ledger.values()
    assert recorded.deliveries == 1


def test_a_delivery_that_was_put_back_behind_later_ones_is_not_taken_for_seen():
    work = CaseWork(key=ORDER_KEY)
    work.send(refunded(100, 1, at_source=Source("webhooks", 0, 9)))
    work.send(refunded(200, 2, at_source=Source("webhooks", 0, 5, requeued=True)))
    work.send(refunded(300, 3, at_source=Source("webhooks", 0, 10)))
    assert len(work.case.ledger) == 3
    assert work.case.sources == {"webhooks/0": 10, "webhooks/0/5": 5}


@pytest.mark.parametrize("message", [refunded(1), start(), submission()])
def test_a_message_that_was_put_back_on_cases_is_a_stream_of_its_own(message):
    marked = as_requeued(message)
    assert marked == replace(message, source=replace(message.source, requeued=True))


def test_ticks_and_answers_have_no_source():
    for message in (Tick(T0), ReadAnswered(T0, "op-1", "c", 1, T0, Answer(None, "error", None))):
        assert as_requeued(message) is message


def on_cases(offset: int, message: Events, first: int | None = None) -> Rec:
    headers = () if first is None else ((REQUEUED_HEADER, f"cases/3/{first}".encode()),)
    return Rec("cases", 3, offset, T0, ORDER_KEY.encode(), encode(message), headers)


def test_a_message_that_a_case_refused_is_applied_behind_later_ones_and_once():
    late = refunded(100, 2, at_source=Source("webhooks", 0, 5))
    twice_forwarded = [on_cases(3, late, first=1), on_cases(4, late, first=1), on_cases(5, late, first=0)]
    records = [on_cases(2, refunded(50, 1, at_source=Source("webhooks", 0, 9))), *twice_forwarded]
    folded = fold(records, lambda _: None, CONTEXT, T0)
    row = decode_row(folded.rows[ORDER_KEY.encode()] or b"")
    assert isinstance(row, Case)
    assert [one.deliveries for one in row.ledger.values()] == [1, 1]


def test_an_operation_that_is_refused_again_is_refused_each_time_and_leaves_nothing():
    work = CaseWork(key="operation/op-1")
    work.send(submission())
    before = encode_row(work.registration)
    place = Source("operations", 0, 7, requeued=True)
    for _ in range(2):
        (refused,) = work.send(submission(at_source=place, refund="2")).outputs
        assert isinstance(refused, Refused)
        assert (refused.class_, refused.topic, refused.partition, refused.offset) == (
            "action_changed",
            "operations",
            0,
            7,
        )
    assert encode_row(work.registration) == before


def test_an_operation_that_is_put_back_twice_is_handed_over_once():
    work = CaseWork(key="operation/op-1")
    place = Source("operations", 0, 7, requeued=True)
    assert len(work.send(submission(at_source=place)).outputs) == 1
    assert work.send(submission(at_source=place)).outputs == []


# -- everything together


def ledger_after(records: Iterable[Rec]) -> Case:
    """What the case is once deliveries have gone through intake and decide, in batches."""
    rows: dict[bytes, bytes | None] = {}
    for offset, record in enumerate(records):
        output = taken(record)
        assert isinstance(output, ToCase)
        forwarded = Rec("cases", 3, offset, T0, output.key.encode(), encode(output.message))
        rows |= fold([forwarded], rows.get, CONTEXT, T0).rows
    row = decode_row(rows[CAPTURE_KEY.encode()] or b"")
    assert isinstance(row, Case)
    row.position = 0
    return row


def counts(case: Case) -> dict[str, int]:
    return {name: one.deliveries for name, one in case.ledger.items()}


@settings(deadline=None)
@given(
    refunds=st.lists(st.integers(1, 3), min_size=1, max_size=5),
    others=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    data=st.data(),
)
def test_however_letters_are_put_back_it_comes_to_each_of_them_once(
    refunds: Sequence[int], others: Sequence[int], data: st.DataObject
):
    def put_back(which: int, offset: int) -> Rec:
        return delivery(offset, refunds[which], ((REQUEUED_HEADER, f"webhooks/0/{which}".encode()),))

    order = data.draw(st.permutations(range(len(refunds))))
    repeats = data.draw(st.lists(st.sampled_from(order), max_size=6))
    regular = [delivery(100 + number, refund) for number, refund in enumerate(others)]

    once = [put_back(which, 200 + number) for number, which in enumerate(order)]
    again = [put_back(which, 300 + number) for number, which in enumerate(repeats)]
    straight = [delivery(which, refund) for which, refund in enumerate(refunds)]
    # Repeats come anywhere, and what is not put back keeps its own order.
    place = random.Random(data.draw(st.integers(0, 2**16)))
    mixed = [*regular]
    for record in (*once, *again):
        mixed.insert(place.randint(0, len(mixed)), record)

    assert counts(ledger_after(mixed)) == counts(ledger_after([*straight, *regular]))
    assert ledger_after([*regular, *once, *again]) == ledger_after([*regular, *once])
