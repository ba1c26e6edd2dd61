"""What the demo's exit code rests on: exactly the expected verdicts, in sequence, and nothing more."""

from typing import Any

import pytest

from streams.demo.board import Board, Expected, seconds_after_start

VERIFIED = Expected("VERIFIED", "completion")
DUPLICATE = Expected("CONTRADICTED", "duplicate_refund_present")


def record(number: int, expected: Expected, operation_id: str = "twice", **changes: Any) -> dict[str, Any]:
    return {
        "verdict_id": f"{operation_id}-{number}",
        "operation_id": operation_id,
        "sequence": number,
        "supersedes": f"{operation_id}-{number - 1}" if number > 1 else None,
        "verdict": expected.verdict,
        "rule": expected.rule,
        **changes,
    }


@pytest.fixture
def board() -> Board:
    return Board({"twice": (VERIFIED, DUPLICATE)})


def fill(board: Board, *records: dict[str, Any]) -> None:
    for one in records:
        board.add_verdict(one)
    board.add_refusal("not_authentic", "the signature does not match")


def test_it_is_over_once_everything_expected_is_there(board: Board) -> None:
    assert board.add_verdict(record(1, VERIFIED))
    assert board.decided["twice"].is_set()
    assert board.add_verdict(record(2, DUPLICATE))
    assert not board.over.is_set()
    board.add_refusal("not_authentic", "the signature does not match")
    assert board.over.is_set()
    assert board.differences() == []


def test_a_repeated_record_is_the_same_record(board: Board) -> None:
    assert board.add_verdict(record(1, VERIFIED))
    assert not board.add_verdict(record(1, VERIFIED))
    fill(board, record(2, DUPLICATE))
    assert board.differences() == []


@pytest.mark.parametrize(
    "records",
    [
        [record(1, VERIFIED)],
        [record(1, DUPLICATE), record(2, VERIFIED)],
        [record(1, VERIFIED), record(2, Expected("CONTRADICTED", "refund_amount_mismatch"))],
        [record(1, VERIFIED), record(2, Expected("FAILED", "duplicate_refund_present"))],
        [record(1, VERIFIED), record(2, DUPLICATE), record(3, VERIFIED)],
        [record(1, VERIFIED), record(2, DUPLICATE, supersedes=None)],
        [record(1, VERIFIED), record(2, DUPLICATE, sequence=3)],
    ],
    ids=["missing", "order", "rule", "verdict", "more", "supersedes", "sequence"],
)
def test_a_difference_is_told(board: Board, records: list[dict[str, Any]]) -> None:
    fill(board, *records)
    [difference] = board.differences()
    assert difference.about == "twice"
    assert difference.expected == "VERIFIED by completion, then CONTRADICTED by duplicate_refund_present"


def test_an_operation_that_nobody_published_is_a_difference(board: Board) -> None:
    fill(board, record(1, VERIFIED), record(2, DUPLICATE), record(1, VERIFIED, "another"))
    [difference] = board.differences()
    assert (difference.about, difference.expected, difference.seen) == ("another", "nothing", "VERIFIED by completion")


@pytest.mark.parametrize("classes", [[], ["internal_error"], ["not_authentic", "not_authentic"]])
def test_dead_letters_are_the_forged_delivery_and_no_more(board: Board, classes: list[str]) -> None:
    board.add_verdict(record(1, VERIFIED))
    board.add_verdict(record(2, DUPLICATE))
    for class_ in classes:
        board.add_refusal(class_, "a reason")
    [difference] = board.differences()
    assert (difference.about, difference.expected) == ("dead letters", "1 not_authentic")


def test_seconds_count_from_the_operations_start() -> None:
    times = {"created_at": "2026-03-12T15:42:17.900Z", "decided_at": "2026-03-12T15:42:38.000Z"}
    assert seconds_after_start(times) == pytest.approx(20.1)
