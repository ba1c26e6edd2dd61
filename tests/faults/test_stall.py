"""A worker that stands still is ended, with what stands still; one that works, or has nothing to do, is not."""

import asyncio

import pytest

from tests.faults.test_negative_controls import without
from tests.faults.trial import Trial

pytestmark = pytest.mark.timeout(180)

STALL_S = 4.0


async def test_a_worker_that_stands_still_ends_and_says_what_stands_still(trial: Trial):
    trial.system.environment["PROOFSTREAM_STALL_TIMEOUT_S"] = str(STALL_S)
    worker = await trial.fleet.join(command=without("without_moving"))
    await trial.world.live(5, within_s=0.1)
    await worker.ended(times=1)

    assert worker.ends == [70]
    said = worker.log.read_text()
    assert "the watchdog failed, the process ends: Stalled('nothing was committed on " in said
    assert "although records wait there, for " in said


async def test_a_worker_that_works_or_has_nothing_to_do_is_left_alone(trial: Trial):
    trial.system.environment["PROOFSTREAM_STALL_TIMEOUT_S"] = str(STALL_S)
    worker = await trial.fleet.join()
    await worker.ready()
    await trial.world.live(40, within_s=2 * STALL_S)
    await asyncio.sleep(2 * STALL_S)

    assert worker.ends == []
    assert await trial.verify() == []
