"""The network between workers and Kafka, and between workers and providers, delays, breaks and goes silent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from streams.embedded.broker import HOST, free_port
from tests.brokers import RunningKafka, start_kafka
from tests.faults.load import steady_work
from tests.faults.proxy import BOTH, Direction, Network, network_to
from tests.faults.trial import Trial, trial_on

pytestmark = [pytest.mark.timeout(240), pytest.mark.usefixtures("kafka_tools")]

SESSION_S = 2.0
WORKERS = 2
Ways = list[tuple[int, int]]
"""For each worker the port that it connects to, and the port of Kafka that this leads to."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def node() -> AsyncIterator[tuple[RunningKafka, Ways]]:
    """A Kafka that each worker has a way of its own to, for tests to put a network into."""
    ways = [(free_port(), free_port()) for _ in range(WORKERS)]
    async with start_kafka() as kafka:
        _listen_behind(kafka.directory / "server.properties", ways)
        await kafka.restart()
        yield kafka, ways


def _listen_behind(properties: Path, ways: Ways) -> None:
    """Have a node listen once more for each way, and tell whoever comes there to connect to the way's beginning."""
    names = [f"WAY{number}" for number in range(len(ways))]
    added = {
        "listeners": "".join(f",{name}://{HOST}:{inner}" for name, (_, inner) in zip(names, ways, strict=True)),
        "advertised.listeners": "".join(
            f",{name}://{HOST}:{outer}" for name, (outer, _) in zip(names, ways, strict=True)
        ),
    }
    lines = [line + added.get(line.split("=")[0], "") for line in properties.read_text().splitlines()]
    protocols = ",".join(f"{name}:PLAINTEXT" for name in ("PLAINTEXT", "CONTROLLER", *names))
    lines.append(f"listener.security.protocol.map={protocols}")
    properties.write_text("\n".join(lines) + "\n")


@pytest.fixture
async def networks(node: tuple[RunningKafka, Ways]) -> AsyncIterator[list[Network]]:
    """Each worker's own network to Kafka."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(network_to(inner, outer)) for outer, inner in node[1]]


@pytest.fixture
async def trial(
    node: tuple[RunningKafka, Ways], networks: list[Network], topic_prefix: str, tmp_path: Path
) -> AsyncIterator[Trial]:
    """A world whose workers come to Kafka through the first network, unless a test says otherwise."""
    async with trial_on(node[0].bootstrap, topic_prefix, tmp_path, seed=2026) as prepared:
        prepared.system.environment["PROOFSTREAM_BOOTSTRAP_SERVERS"] = networks[0].address
        yield prepared


async def test_connections_to_kafka_break_again_and_again(trial: Trial, networks: list[Network]):
    [network, _] = networks
    worker = await trial.fleet.join()
    await worker.ready()

    async with steady_work(trial):
        for _ in range(8):
            await asyncio.sleep(0.8)
            network.cut()

    assert network.broken >= 8
    assert await trial.verify() == []
    assert worker.ends == []  # it goes on by itself


async def test_the_network_to_kafka_is_slow(trial: Trial, networks: list[Network]):
    [network, _] = networks
    network.delay_s = 0.1
    worker = await trial.fleet.join()
    await worker.ready()

    async with steady_work(trial):
        await asyncio.sleep(3)

    assert await trial.verify() == []
    assert worker.ends == []


async def test_kafka_takes_records_but_its_answers_are_lost(trial: Trial, networks: list[Network]):
    [network, _] = networks
    worker = await trial.fleet.join()
    await worker.ready()

    async with steady_work(trial):
        for _ in range(5):
            network.fall_silent("answers")
            await asyncio.sleep(0.6)
            network.cut()  # whether its records, rows and commits have arrived, the worker cannot know
            network.recover()
            await asyncio.sleep(0.6)

    assert network.held > 0
    assert await trial.verify() == []
    assert worker.ends == []


@pytest.mark.parametrize("directions", [BOTH, ("answers",)], ids="+".join)
async def test_a_worker_does_not_hear_from_kafka_for_longer_than_its_session(
    trial: Trial, networks: list[Network], directions: tuple[Direction, ...]
):
    [network, others] = networks
    cut_off = await trial.fleet.join()
    await cut_off.ready()

    async with steady_work(trial):
        await asyncio.sleep(2)
        network.fall_silent(*directions)
        trial.system.environment["PROOFSTREAM_BOOTSTRAP_SERVERS"] = others.address
        successor = await trial.fleet.join()
        await successor.ready()
        await asyncio.sleep(2 * SESSION_S)  # the partitions are the successor's by now, and it works on them
        assert network.held > 0
        network.recover()  # what the worker sent before arrives now

    assert await trial.verify() == []
    assert set(successor.ends) <= {70}  # it ends where rows of the other one came between its own


@pytest.fixture
async def ways_to_providers(trial: Trial) -> AsyncIterator[list[Network]]:
    """Networks between the workers and each provider."""
    path = trial.system.directory / "connections.yaml"
    configured = yaml.safe_load(path.read_text())
    async with AsyncExitStack() as stack:
        ways = []
        for connection in configured["connections"]:
            port = int(connection["base_url"].rpartition(":")[2])
            ways.append(await stack.enter_async_context(network_to(port)))
            connection["base_url"] = f"http://{ways[-1].address}"
        path.write_text(yaml.safe_dump(configured))
        yield ways


async def test_providers_do_not_answer(trial: Trial, ways_to_providers: list[Network]):
    for way in ways_to_providers:
        way.fall_silent("answers")
    worker = await trial.fleet.join()
    await worker.ready()
    await trial.world.live(40, within_s=2)
    await asyncio.sleep(6)
    assert await trial.left() > 0
    assert all(way.held > 0 for way in ways_to_providers)

    for way in ways_to_providers:
        way.cut()
        way.recover()

    assert await trial.verify(within_s=150) == []
    assert worker.ends == []
