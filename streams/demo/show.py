"""What a person sees of the demo: a live table in a terminal, else one line for each verdict; or bare records."""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from streams.demo.board import Board, Difference, Record, seconds_after_start
from streams.demo.cases import CASES, DemoCase
from streams.demo.contract import HASTY, TIMEOUT_S
from streams.demo.run import Show

_COLOURS = {
    "VERIFIED": "bold green",
    "CONTRADICTED": "bold red",
    "FAILED": "bold yellow",
    "UNVERIFIABLE": "bold magenta",
}
_STORIES = {case.operation_id: case.story for case in CASES}
_NOTES = (
    "Seconds are since each operation's start, while the worker was starting up.",
    "shopify-amount: reads can be stale, so it is read again after 20 s.",
    f"paypal-lost: {HASTY} is PayPal's contract cut to {TIMEOUT_S} s.",
)
STARTING = "Starting an embedded broker, a simulated Shopify and PayPal, and a worker …"


def why(record: Record) -> str:
    """Say in a line why a verdict fell: the rule, its reason, and what the rule compared or the channels lacked."""
    evidence = record["evidence"]
    rules = [one for one in (*evidence["contradictions"], *evidence["verdict_map"]) if one["id"] == record["rule"]]
    text = f"{record['rule']}: {record['reason']}"
    if rules:
        text += f" ({rules[0]['actual']} {rules[0]['operator']} {_plain(rules[0]['expected'])})"
    if record["verdict"] == "UNVERIFIABLE":
        text += f" ({', '.join(_showed(name, one) for name, one in evidence['channels'].items())})"
    return text


def _plain(value: Any) -> str:
    return "/".join(str(one) for one in value) if isinstance(value, list) else str(value)


def _showed(name: str, channel: dict[str, Any]) -> str:
    if "count" in channel:
        return f"{name}: {channel['count']} events"
    return f"{name}: {channel['reads']} reads, {channel['last_error'] or channel['last_status']}"


def refusals(board: Board) -> list[str]:
    """Say in a line each what was refused, and how often."""
    lines = []
    for (class_, reason), count in Counter(board.refusals).items():
        what = "forged delivery" if class_ == "not_authentic" else "record"
        lines.append(f"{count} {what}{'s' if count > 1 else ''} refused: {class_}: {reason}")
    return lines


def conclusion(board: Board) -> str:
    """Say whether all came out as it must."""
    return "This is not what must come out." if board.differences() else "Every refund came out as it must."


@contextmanager
def show_records(board: Board) -> Iterator[Show]:
    """Print each verdict record as it is published, one a line."""

    def show(published: bytes | None) -> None:
        if published is not None:
            sys.stdout.buffer.write(published + b"\n")
            sys.stdout.buffer.flush()

    yield show


@contextmanager
def show_lines(board: Board) -> Iterator[Show]:
    """Print a line for each verdict, and for the forged delivery."""

    def show(published: bytes | None) -> None:
        if published is None:
            _line(f"{'':>7}  {refusals(board)[-1]}")
        else:
            record = orjson.loads(published)
            _line(
                f"{seconds_after_start(record):>5.1f} s  {record['verdict']:<12}  {record['operation_id']:<15}"
                f"  {_STORIES.get(record['operation_id'], '?')}  {why(record)}"
            )

    _line(STARTING)
    yield show
    for line in (*_NOTES, conclusion(board)):
        _line(line)


def _line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


@contextmanager
def show_table(board: Board) -> Iterator[Show]:
    """Show a table that fills as the verdicts fall."""
    started = time.monotonic()

    def table() -> RenderableType:
        return _table(board, time.monotonic() - started)

    with Live(get_renderable=table, refresh_per_second=4) as live:
        yield lambda _: live.refresh()


def _table(board: Board, elapsed: float) -> RenderableType:
    rows = [row for case in CASES for row in _rows(case, board.verdicts.get(case.operation_id, []))]
    refused = [Text(line, style="cyan") for line in refusals(board)]
    notes = [Text(note, style="dim") for note in _NOTES]
    return Group(Text(_state(board, elapsed), style="bold"), Text(), *rows, Text(), *refused, *notes)


def _state(board: Board, elapsed: float) -> str:
    if board.over.is_set():
        return conclusion(board)
    return f"{'Waiting for more verdicts …' if board.verdicts else STARTING} {elapsed:.0f} s"


def _rows(case: DemoCase, records: list[Record]) -> Iterator[RenderableType]:
    missing = len(case.expected) - len(records)
    yield _row(case.operation_id, case.story, records[0] if records else None)
    if records:
        yield _indented(why(records[0]))
    for record in records[1:]:
        yield _row("", "supersedes the verdict before", record)
        yield _indented(why(record))
    if records and missing > 0:
        yield _row("", "one more is to come", None)


def _row(name: str, story: str, record: Record | None) -> Table:
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(width=15, no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_column(width=12, no_wrap=True)
    grid.add_column(width=6, justify="right", no_wrap=True)
    if record is None:
        grid.add_row(Text(name, "bold"), story, Text("waiting", "dim"), "")
    else:
        verdict = record["verdict"]
        seconds = f"{seconds_after_start(record):.1f} s"
        grid.add_row(Text(name, "bold"), story, Text(verdict, _COLOURS.get(verdict, "bold")), seconds)
    return grid


def _indented(text: str) -> Padding:
    return Padding(Text(text, "dim"), (0, 0, 0, 2))


def show_differences(differences: list[Difference], worker: str) -> None:
    """Print on standard error what came out differently, and what became of the worker."""
    table = Table("", "expected", "seen", title="This is not what must come out")
    for one in differences:
        table.add_row(one.about, one.expected, one.seen)
    console = Console(stderr=True)
    console.print(table)
    console.print(Text(worker), soft_wrap=True)
