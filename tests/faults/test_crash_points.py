"""A worker is killed, or paused past its session, at each step of a batch, and nothing is lost or doubled."""

import asyncio
import signal

import pytest

from tests.faults.load import steady_work
from tests.faults.trial import Trial
from tests.integration.system import until

pytestmark = pytest.mark.timeout(240)

POINTS = [
    "intake:batch_read",
    "intake:outputs_sent",
    "intake:outputs_acked",
    "decide:batch_read",
    "decide:outputs_sent",
    "decide:outputs_acked",
    "decide:state_sent",
    "decide:state_acked",
    "commit:before",
    "commit:after",
]
SESSION_S = 2.0


async def test_killed_at_each_step_of_a_batch(trial: Trial):
    plans = [f"{point}:{1 if point.startswith('commit') else 2}" for point in POINTS]
    worker = await trial.fleet.join(*plans)

    async with asyncio.TaskGroup() as loads:
        for life in range(1, len(plans) + 1):
            # Each life has work of its own, so that it reaches the point that it is to end at.
            loads.create_task(trial.world.live(6, within_s=0.2))
            await worker.ended(times=life)

    assert worker.ends == [-signal.SIGKILL] * len(plans)  # each in the middle of a batch, or it would not have ended
    assert await trial.verify() == []


@pytest.mark.parametrize("point", ["decide:batch_read", "decide:outputs_acked", "decide:state_sent"])
async def test_paused_past_its_session_at_a_step_of_a_batch(trial: Trial, point: str):
    sleeper = await trial.fleet.join(f"{point}:20:stop")
    await sleeper.ready()
    async with steady_work(trial):
        await until(sleeper.is_stopped, within_s=30)
        successor = await trial.fleet.join()
        await successor.ready()
        await asyncio.sleep(2 * SESSION_S)  # the sleeper's partitions are the successor's by now, and it works on them
        sleeper.send(signal.SIGCONT)
        await asyncio.sleep(SESSION_S)

    assert await trial.verify() == []
    assert successor.ends == []
