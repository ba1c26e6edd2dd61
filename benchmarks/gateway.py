"""The gateway beside a bare endpoint: ``python -m benchmarks.gateway``.

The bare one is Starlette on uvicorn, reads the body and answers 200: no signature, no Kafka. Both get one core and the
same load, in turns; Kafka and the load share the other cores. What a delivery costs is told by the ratio, since other
work on the machine slows both.
"""

import asyncio
import contextlib
import os
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import click
import uvicorn
import uvloop
import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.gateway_load import SECRET, SHOP, Load, as_fast_as_it_goes, at_a_rate, requests
from benchmarks.kafka import Reader, start_broker
from streams.embedded.broker import HOST, free_port
from streams.embedded.processes import Process, log_tail, start_child, stop_child
from streams.settings import Settings
from streams.transport.topics import WEBHOOKS, ensure_topics

_START_WITHIN_S = 20
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@click.group(invoke_without_command=True, context_settings={"show_default": True})
@click.option("--seconds", default=8.0, help="How long each turn takes.")
@click.option("--rounds", default=5, help="How many turns each has.")
@click.option("--connections", default=32, help="Connections that are kept busy.")
@click.option("--rate", default=1000, help="Deliveries a second of the steady load.")
@click.option("--steady-s", default=60.0, help="How long the steady load takes.")
@click.pass_context
def main(context: click.Context, seconds: float, rounds: int, connections: int, rate: int, steady_s: float) -> None:
    """Measure the gateway beside a bare Starlette endpoint, in front of a real Kafka on this machine."""
    if context.invoked_subcommand is None:
        uvloop.run(_measure(seconds, rounds, connections, rate, steady_s))


@main.command("bare", hidden=True)
@click.argument("port", type=int)
def bare(port: int) -> None:
    """Serve the bare endpoint."""

    async def take(request: Request) -> Response:
        await request.body()
        return Response()

    app = Starlette(routes=[Route("/webhooks/{connection}", take, methods=["POST"])])
    uvicorn.run(app, host=HOST, port=port, http="h11", loop="uvloop", log_level="warning", access_log=False)


async def _measure(seconds: float, rounds: int, connections: int, rate: int, steady_s: float) -> None:
    deliveries = requests(2000)
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="proofstream-bench-gateway-") as name:
        directory = Path(name)
        os.sched_setaffinity(0, cores[1:] or cores)  # the load's, and Kafka's, which inherits it
        async with start_broker() as bootstrap:
            settings = Settings(bootstrap_servers=bootstrap)
            await ensure_topics(settings)
            environment = _environment(bootstrap, directory)
            ports = {"bare": free_port(), "gateway": free_port()}
            commands = {
                "bare": ("-m", "benchmarks.gateway", "bare", str(ports["bare"])),
                "gateway": ("-m", "streams.cli", "gateway", "--port", str(ports["gateway"])),
            }
            async with contextlib.AsyncExitStack() as stack:
                served = {
                    one: await stack.enter_async_context(
                        _served(command, directory / one, ports[one], environment, cores[0])
                    )
                    for one, command in commands.items()
                }
                acknowledged = await _in_turns(served, ports, deliveries, connections, rounds, seconds)
                acknowledged += await _steadily(served["gateway"], ports["gateway"], deliveries, rate, steady_s)
                async with Reader(bootstrap) as reader:
                    found = await reader.count(WEBHOOKS, settings.partitions)
                click.echo(f"{acknowledged} answered 200, {found} on the topic")
                if acknowledged != found:
                    raise click.ClickException("the two differ")


async def _in_turns(
    served: Mapping[str, Process],
    ports: Mapping[str, int],
    deliveries: Sequence[bytes],
    connections: int,
    rounds: int,
    seconds: float,
) -> int:
    rates: dict[str, list[float]] = {name: [] for name in served}
    acknowledged = 0
    for number in range(rounds + 1):
        for name, process in served.items():
            before = _busy_s(process)
            warming = number == 0
            load = await as_fast_as_it_goes(ports[name], deliveries, connections, 2 if warming else seconds)
            acknowledged += load.answers.get(200, 0) if name == "gateway" else 0
            if not warming:
                rates[name].append(load.per_s)
                click.echo(f"{number} {name:<8} {_figures(load)}, {_cost(load, _busy_s(process) - before)}")
    ratios = [ours / theirs for ours, theirs in zip(rates["gateway"], rates["bare"], strict=True)]
    click.echo(
        f"gateway {statistics.median(rates['gateway']):.0f}/s, bare {statistics.median(rates['bare']):.0f}/s:"
        f" {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    )
    return acknowledged


async def _steadily(process: Process, port: int, deliveries: Sequence[bytes], rate: int, seconds: float) -> int:
    before = _busy_s(process)
    load = await at_a_rate(port, deliveries, 64, rate, seconds)
    cost = _cost(load, _busy_s(process) - before)
    click.echo(f"{rate}/s for {seconds:.0f} s: {_figures(load)}, {cost}, answers {load.answers}")
    return load.answers.get(200, 0)


def _figures(load: Load) -> str:
    return f"{load.per_s:6.0f}/s, p50 {load.percentile(50):.1f} ms, p99 {load.percentile(99):.1f} ms"


def _cost(load: Load, busy_s: float) -> str:
    return f"{busy_s / load.took_s:.0%} of a core, {busy_s * 1000 / len(load.latencies_ms):.2f} ms each"


def _busy_s(process: Process) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def _environment(bootstrap: str, directory: Path) -> dict[str, str]:
    connection = {
        "id": "acme",
        "provider": "shopify",
        "shop": SHOP,
        "credentials": {"access_token": {"env": "BENCH_TOKEN"}},
        "webhook_auth": {"hmac_secrets": [{"env": "BENCH_SECRET"}]},
    }
    file = directory / "connections.yaml"
    file.write_text(yaml.safe_dump({"connections": [connection]}))
    return {
        "BENCH_TOKEN": "no token",
        "BENCH_SECRET": SECRET,
        "PROOFSTREAM_BOOTSTRAP_SERVERS": bootstrap,
        "PROOFSTREAM_CONNECTIONS_FILE": str(file),
    }


@contextlib.asynccontextmanager
async def _served(
    command: Sequence[str], log: Path, port: int, environment: Mapping[str, str], core: int
) -> AsyncIterator[Process]:
    """Run a server on one core until the block ends."""
    process = await start_child(sys.executable, *command, log=log, environment=environment)
    os.sched_setaffinity(process.pid, {core})
    try:
        async with asyncio.timeout(_START_WITHIN_S):
            while True:
                if process.returncode is not None:
                    raise click.ClickException(log_tail(log))
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection(HOST, port)
                    writer.close()
                    break
                await asyncio.sleep(0.05)
        await asyncio.sleep(1)  # the gateway is with Kafka by now
        yield process
    finally:
        await stop_child(process)


if __name__ == "__main__":
    main()
