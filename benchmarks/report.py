"""What a run of the benchmark came to: as a table for a terminal, and as JSON."""

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from benchmarks.contender import NAMES, PARTITIONS
from benchmarks.latency import Latency, RoundTrips
from benchmarks.open_operations import OpenOperations
from benchmarks.throughput import Throughput

_DISTRIBUTIONS = ("faust-streaming", "aiokafka", "quixstreams", "confluent-kafka", "uvloop", "orjson", "pydantic")
_TIMES_FAUST = 5
_ROUND_TRIPS = 3


@dataclass(slots=True)
class Report:
    """Everything that was measured, by contender where there are several."""

    operations: int
    open_operations: int
    when: datetime = field(default_factory=lambda: datetime.now(UTC))
    round_trips: RoundTrips | None = None
    throughput: dict[str, Throughput] = field(default_factory=dict)
    steady: dict[str, Latency] = field(default_factory=dict)
    idle: dict[str, Latency] = field(default_factory=dict)
    open: OpenOperations | None = None
    failures: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Target:
    """What the worker is to reach; ``holds`` is None where this run does not tell."""

    name: str
    holds: bool | None
    figures: str


def targets(report: Report) -> list[Target]:
    """Compare the worker with what it is to reach.

    A rate of ours counts only where everything came out right. The others' count as they are: Faust as it comes loses
    deliveries, and its rate is of those that it took.
    """
    right = {name: one for name, one in report.throughput.items() if name != "proofstream" or not one.problems}
    rates = {name: one.per_s for name, one in right.items()}
    recoveries = _recoveries(right)
    p99 = {name: one.p99 for name, one in report.steady.items() if name in right}
    found = [
        _at_least("as many deliveries a second as Quix Streams", rates, "quix", 1),
        _at_least(f"{_TIMES_FAUST} times as many deliveries a second as Faust", rates, "faust", _TIMES_FAUST),
        _at_least(f"recovery {_TIMES_FAUST} times as fast as Faust's", recoveries, "faust", _TIMES_FAUST),
    ]
    name = "99th percentile at a steady rate no worse than under Quix Streams"
    if {"proofstream", "quix"} <= p99.keys():
        ours, theirs = p99["proofstream"], p99["quix"]
        found.append(Target(name, ours <= theirs, f"{ours:.0f} ms and {theirs:.0f} ms"))
    else:
        found.append(Target(name, None, "not measured"))
    name = f"an idle worker's verdict within {_ROUND_TRIPS} round trips"
    if report.round_trips is not None and "proofstream" in report.idle:
        took, trip = report.idle["proofstream"].p50, report.round_trips.consume_p50
        found.append(Target(name, took <= _ROUND_TRIPS * trip, f"{took:.1f} ms, a round trip takes {trip:.1f} ms"))
    else:
        found.append(Target(name, None, "not measured"))
    return found


def _recoveries(throughput: Mapping[str, Throughput]) -> dict[str, float]:
    """Return how fast each recovers; the plain loop is given its rows, and has no recovery."""
    return {name: one.recovery_per_s for name, one in throughput.items() if name != "aiokafka"}


def _at_least(name: str, values: dict[str, float], other: str, times: float) -> Target:
    if "proofstream" not in values or other not in values:
        return Target(name, None, "not measured, or a run went wrong")
    ratio = values["proofstream"] / values[other]
    return Target(name, ratio >= times, f"{values['proofstream']:,.0f} and {values[other]:,.0f}: {ratio:.2f} times")


def show(report: Report, console: Console) -> None:
    """Print a report."""
    table = Table(title=f"{report.operations:,} operations, 5 % of their deliveries repeated")
    for heading in ("", *report.throughput):
        table.add_column(heading, justify="left" if not heading else "right")

    def row(heading: str, values: dict[str, Any], form: str) -> None:
        table.add_row(heading, *(form.format(values[name]) if name in values else "-" for name in report.throughput))

    row("deliveries a second", {name: one.per_s for name, one in report.throughput.items()}, "{:,.0f}")
    for other in ("quix", "faust"):
        if other in report.throughput:
            base = report.throughput[other].per_s
            row(f"  beside {other}", {name: one.per_s / base for name, one in report.throughput.items()}, "{:.2f}")
    row("recovered records a second", _recoveries(report.throughput), "{:,.0f}")
    for heading, found in (("at 1,000 a second", report.steady), ("idle, 5 a second", report.idle)):
        for share in ("p50", "p90", "p99", "max"):
            row(f"{heading}: {share}, ms", {name: getattr(one, share) for name, one in found.items()}, "{:,.0f}")
    row("kept up with 1,000 a second", {name: "yes" if one.held else "no" for name, one in report.steady.items()}, "{}")
    console.print(table)
    _show_rest(report, console)


def _show_rest(report: Report, console: Console) -> None:
    if (trips := report.round_trips) is not None:
        console.print(
            f"A round trip: {trips.produce_p50:.1f} ms to the acknowledgement, {trips.consume_p50:.1f} ms to a consumer"
            f" (p99 {trips.produce_p99:.1f} and {trips.consume_p99:.1f} ms)."
        )
    if (found := report.open) is not None:
        console.print(
            f"{found.operations:,} open operations: {found.bytes_an_operation:,.0f} bytes of memory each (rows of"
            f" {found.row_bytes:,.0f} bytes), recovered in {found.recovery_s:.1f} s ({found.recovery_per_s:,.0f} rows a"
            f" second). {found.ticks:,} ticks at {found.ticks_per_s:,} a second, late by p50 {found.late_p50:.0f}, p99"
            f" {found.late_p99:.0f}, max {found.late_max:.0f} ms; {found.missing_ticks:,} did not come."
        )
    for target in targets(report):
        mark = {True: "[green]holds[/]", False: "[red]does not hold[/]", None: "unknown"}[target.holds]
        console.print(f"{mark}: {target.name} ({target.figures})")
    for name, problem in problems(report):
        console.print(f"[red]{name}[/]: {problem}")


def problems(report: Report) -> list[tuple[str, str]]:
    """Return what makes a contender's figures doubtful."""
    found = [(name, problem) for name, one in report.throughput.items() for problem in one.problems]
    return found + list(report.failures.items())


def write(report: Report, path: Path) -> None:
    """Write a report as JSON."""
    names = NAMES

    def by_contender(values: dict[str, Any]) -> dict[str, Any]:
        return {name: values.get(name) for name in names}

    latency = {
        name: {"steady": asdict(report.steady[name]), "idle": asdict(report.idle[name])}
        for name in names
        if name in report.steady
    }
    document = {
        "when": report.when.isoformat(timespec="seconds"),
        "machine": {"cpus": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()},
        "versions": {name: version(name) for name in _DISTRIBUTIONS},
        "work": {"operations": report.operations, "open_operations": report.open_operations, "partitions": PARTITIONS},
        "throughput_per_s": by_contender({name: round(one.per_s, 1) for name, one in report.throughput.items()}),
        "latency_ms": by_contender(latency),
        "recovery_per_s": by_contender({name: round(one) for name, one in _recoveries(report.throughput).items()}),
        "open_operations": by_contender({"proofstream": asdict(report.open) if report.open is not None else None}),
        "round_trip_ms": asdict(report.round_trips) if report.round_trips is not None else None,
        "runs": {name: asdict(one) for name, one in report.throughput.items()},
        "targets": [asdict(one) for one in targets(report)],
        "problems": [{"contender": name, "problem": problem} for name, problem in problems(report)],
    }
    path.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
