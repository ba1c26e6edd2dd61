"""With a safeguard taken out, the checker finds what goes wrong then: so it would find it in the worker as it is."""

import asyncio
import random
import signal
import sys

import pytest

from tests.faults.load import steady_work
from tests.faults.repair import Repair
from tests.faults.trial import Trial
from tests.integration.system import until

pytestmark = pytest.mark.timeout(240)

SESSION_S = 2.0


def without(guard: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "tests.faults.crippled", guard)


@pytest.mark.parametrize(
    ("guard", "point", "kinds"),
    [
        ("without_source_offsets", "intake:outputs_acked:6", {"count"}),
        ("without_positions", "decide:state_acked:4", {"count"}),
        ("without_awaiting_outputs", "commit:after:1", {"missing", "count"}),
        ("without_awaiting_state", "commit:after:1", {"missing", "state"}),
    ],
)
async def test_a_kill_without_a_safeguard_is_noticed(trial: Trial, guard: str, point: str, kinds: set[str]):
    worker = await trial.fleet.join(point, command=without(guard))

    async with steady_work(trial):  # there is work until it has reached its end, however much it takes at once
        await worker.ended(times=1)

    assert kinds & {one.kind for one in await trial.verify(within_s=10)}


async def test_a_record_that_is_put_back_twice_without_its_first_place_is_noticed(trial: Trial):
    await trial.fleet.join(command=without("without_first_places"))

    await Repair(trial, random.Random(2026)).carry_out()

    assert {"lost", "invented", "count"} <= {one.kind for one in await trial.verify(within_s=10)}


async def test_an_error_that_is_acknowledged_is_noticed(trial: Trial):
    await asyncio.gather(trial.world.live(30, within_s=0.1), trial.world.poison())
    await trial.fleet.join(command=without("without_ending_on_errors"))

    assert "swallowed" in {one.kind for one in await trial.verify(within_s=10)}


async def test_a_zombie_without_a_lease_is_noticed(trial: Trial):
    sleeper = await trial.fleet.join("decide:outputs_acked:10:stop", command=without("without_a_lease"))
    await sleeper.ready()
    load = asyncio.create_task(trial.world.live(100, within_s=5))
    await until(sleeper.is_stopped, within_s=30)

    successor = await trial.fleet.join(command=without("without_a_lease"))
    await successor.ready()
    await load
    await asyncio.sleep(3 * SESSION_S)  # the successor has moved on from what the sleeper is about to write
    sleeper.send(signal.SIGCONT)
    await asyncio.sleep(SESSION_S)

    assert "state" in {one.kind for one in await trial.verify(within_s=20)}
