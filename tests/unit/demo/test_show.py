"""What a person sees of the demo."""

import io
from typing import Any

import orjson
import pytest
from rich.console import Console

from streams.demo.board import Board
from streams.demo.cases import CASES
from streams.demo.run import new_board
from streams.demo.show import _table, show_lines, why


def record(operation_id: str, verdict: str, rule: str, **changes: Any) -> dict[str, Any]:
    return {
        "verdict_id": f"{operation_id}-{verdict}",
        "operation_id": operation_id,
        "sequence": 1,
        "supersedes": None,
        "verdict": verdict,
        "rule": rule,
        "reason": "A sentence of the contract.",
        "created_at": "2026-03-12T15:42:17.900Z",
        "decided_at": "2026-03-12T15:42:38.000Z",
        "evidence": {"conditions": [], "contradictions": [], "verdict_map": [], "channels": {}},
        **changes,
    }


MISMATCH = {"id": "refund_amount_mismatch", "actual": "42.05", "operator": "ne", "expected": "42.50"}
CONTRADICTED = record("shopify-amount", "CONTRADICTED", "refund_amount_mismatch")
CONTRADICTED["evidence"]["contradictions"] = [MISMATCH]


@pytest.fixture
def board() -> Board:
    return new_board()


def test_a_contradiction_shows_what_was_compared() -> None:
    assert why(CONTRADICTED) == "refund_amount_mismatch: A sentence of the contract. (42.05 ne 42.50)"


def test_a_timeout_shows_what_the_channels_lacked() -> None:
    lost = record("paypal-lost", "UNVERIFIABLE", "timeout", reason="evidence_unavailable_before_timeout")
    lost["evidence"]["channels"] = {
        "refund_readback": {"reads": 3, "last_error": "not_found", "last_status": 404},
        "capture_refunded_events": {"count": 0},
    }
    assert why(lost) == (
        "timeout: evidence_unavailable_before_timeout"
        " (refund_readback: 3 reads, not_found, capture_refunded_events: 0 events)"
    )


def test_without_a_terminal_each_verdict_is_a_line(board: Board, capsys: pytest.CaptureFixture[str]) -> None:
    with show_lines(board) as show:
        board.add_verdict(CONTRADICTED)
        show(orjson.dumps(CONTRADICTED))
        board.add_refusal("not_authentic", "the signature does not match")
        show(None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == (
        " 20.1 s  CONTRADICTED  shopify-amount   refund of 42.50, the shop recorded 42.05"
        "  refund_amount_mismatch: A sentence of the contract. (42.05 ne 42.50)"
    )
    assert lines[2].strip() == "1 forged delivery refused: not_authentic: the signature does not match"
    assert lines[-1] == "This is not what must come out."


def test_the_table_fits_into_eighty_columns(board: Board) -> None:
    for case in CASES:
        for expected in case.expected:
            board.add_verdict(record(case.operation_id, expected.verdict, expected.rule))
    board.add_refusal("not_authentic", "the signature does not match")
    out = io.StringIO()
    Console(file=out, width=80).print(_table(board, 12.0))
    text = out.getvalue()
    assert all(len(line) <= 80 for line in text.splitlines())
    for case in CASES:
        [row] = [line for line in text.splitlines() if line.startswith(f"{case.operation_id} ")]
        assert case.story in row
        assert case.expected[0].verdict in row
        assert row.endswith("20.1 s")


def test_the_table_says_how_it_ended(board: Board) -> None:
    def state() -> str:
        out = io.StringIO()
        Console(file=out, width=80).print(_table(board, 12.0))
        return out.getvalue().splitlines()[0]

    assert state().startswith("Starting")
    board.add_verdict(CONTRADICTED)
    assert state().startswith("Waiting for more verdicts … 12 s")
    board.over.set()
    assert state().startswith("This is not what must come out.")
