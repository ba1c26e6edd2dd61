"""The benchmark's command: ``python -m benchmarks``, or ``scripts/bench``."""

import asyncio
import logging
import os
import tempfile
import time
from pathlib import Path

import click
from rich.console import Console

from benchmarks.contender import NAMES, PARTITIONS, Contender, Unfinished
from benchmarks.kafka import Reader, start_broker
from benchmarks.latency import measure_latency, measure_round_trips
from benchmarks.open_operations import measure_open_operations
from benchmarks.plot import plot
from benchmarks.report import Report, show, write
from benchmarks.throughput import measure_throughput
from benchmarks.workload import Workload, dealt_out, write_configuration
from streams.settings import Settings
from streams.transport.topics import ensure_topics

DOCS = Path(__file__).parent.parent / "docs"
_STARTED_BEFORE_S = 10
_STEADY_PER_S = 1000
_IDLE_PER_S = 5


@click.command(context_settings={"show_default": True})
@click.option(
    "--operations", type=click.IntRange(min=100), default=100_000, help="Deliveries in the backlog, less the repeats."
)
@click.option(
    "--open", "open_", type=click.IntRange(min=4000), default=1_000_000, help="Open operations in one worker."
)
@click.option("--quick", is_flag=True, help="5,000 and 20,000, in two minutes; says little.")
@click.option("--only", multiple=True, type=click.Choice(NAMES), help="Leave the other contenders out.")
@click.option("--output", type=click.Path(path_type=Path), default=DOCS, help="Where the results go.")
def main(operations: int, open_: int, quick: bool, only: tuple[str, ...], output: Path) -> None:
    """Measure our worker beside Quix Streams, Faust as it comes and plain aiokafka, on a real Kafka on this machine."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    if quick:
        operations, open_ = 5_000, 20_000
    report = asyncio.run(run(operations, open_, only or NAMES, steady_s=5 if quick else 20))
    show(report, Console())
    output.mkdir(parents=True, exist_ok=True)
    write(report, output / "benchmarks.json")
    plot(report, output / "benchmarks.svg")


async def run(operations: int, open_operations: int, names: tuple[str, ...], steady_s: int) -> Report:
    """Measure contenders, one after another.

    Args:
        operations: how many deliveries make the backlog, less the repeats.
        open_operations: how many operations are open in our worker at last.
        names: the contenders.
        steady_s: how long the measurements at a steady rate take, in seconds.
    """
    console = Console(stderr=True)
    report = Report(operations, open_operations)
    steady, idle = _STEADY_PER_S * steady_s, _IDLE_PER_S * steady_s
    with tempfile.TemporaryDirectory(prefix="proofstream-bench-") as temporary:
        directory = Path(temporary)
        environment = write_configuration(directory)
        os.environ.update(environment)
        workload = Workload((int(time.time()) - _STARTED_BEFORE_S) * 1000)
        environment["BENCH_CREATED_MS"] = str(workload.created_ms)
        backlog = dealt_out(workload.deliveries(range(operations)), PARTITIONS)
        async with start_broker() as bootstrap, Reader(bootstrap) as reader:
            await ensure_topics(Settings(bootstrap_servers=bootstrap, topic_prefix="warm-up-", app_id="warm-up"))
            report.round_trips = await measure_round_trips(bootstrap, "warm-up-operations")

            async def measure(contender: Contender) -> None:
                name, known = contender.name, operations + steady + idle
                report.throughput[name] = await measure_throughput(
                    contender, reader, known, workload.created_ms, backlog
                )
                report.idle[name] = await measure_latency(contender, reader, operations + steady, idle, _IDLE_PER_S)
                report.steady[name] = await measure_latency(contender, reader, operations, steady, _STEADY_PER_S)

            for name in names:
                console.print(f"{name}: {operations} operations …", style="dim")
                contender = Contender(name, bootstrap, directory / name, environment)
                try:
                    await measure(contender)
                except Unfinished as unfinished:
                    report.failures[name] = str(unfinished)
                finally:
                    await contender.stop()
            if "proofstream" in names:
                console.print(f"proofstream: {open_operations} open operations …", style="dim")
                contender = Contender("proofstream", bootstrap, directory / "open", environment, prefix="open")
                try:
                    report.open = await measure_open_operations(contender, reader, open_operations)
                except Unfinished as unfinished:
                    report.failures["open operations"] = str(unfinished)
                finally:
                    await contender.stop()
    return report


if __name__ == "__main__":
    main()
