"""Rounds of faults: a world, two workers, faults by seed while it lives, and the checker's word at the end."""

import asyncio
import random
from collections import Counter
from pathlib import Path

from tests.brokers import RunningKafka
from tests.faults.checker import Violation
from tests.faults.nemesis import Nemesis, Tell
from tests.faults.trial import trial_on
from tests.faults.upstream import CODECS

OPERATIONS = 30
SPREAD_S = 6.0
_KINDS = ("review", "late evidence", "dead letter")


async def run_round(
    kafka: RunningKafka, directory: Path, seed: int, faults: int, tell: Tell, *, long: bool = False
) -> tuple[list[Violation], Counter[str]]:
    """Run one round.

    Args:
        kafka: a Kafka that may be stopped and killed.
        directory: where logs and data go.
        seed: everything that is left to chance follows from it, but for the moments at which processes get to run.
        faults: how many are injected.
        tell: is told of each.
        long: whether there may be faults that take minutes.

    Returns:
        What is not as it must be, and how often each fault was injected.
    """
    chance = random.Random(seed)
    async with trial_on(kafka.bootstrap, f"r{seed}-", directory, seed) as trial:
        for _ in range(chance.randint(1, 2)):
            await trial.fleet.join()
        nemesis = Nemesis(trial, kafka, chance, tell)
        for fault in nemesis.plan(faults, seed, long=long):
            # Each fault has work of its own, so that none strikes when all is done.
            load = asyncio.create_task(trial.world.live(OPERATIONS, SPREAD_S))
            await asyncio.sleep(chance.uniform(0.5, 4))
            await nemesis.strike(fault)
            await load
        violations = await trial.verify(within_s=180)
        said, published = len(trial.world.expected.verdicts), trial.world.expected.published
        came_to = ", ".join(f"{name} {count}" for name, count in sorted(trial.came_to.items()))
        tell(f"checked: {said} operations, {published} records published, {len(violations)} wrong; {came_to}")
        # There must be something of each kind, or the round has shown less than it says.
        wanted = (*_KINDS, "put back") if long else _KINDS
        assert violations or all(trial.came_to[one] for one in wanted), f"not all of {wanted}"
        assert all(trial.upstream.used[codec] for codec in CODECS), f"not every codec: {trial.upstream.used}"
        return violations, nemesis.injected
