"""A repair in the middle of faults: the cause of some dead letters is mended, and letters are put back, twice at once.

What can be processed now must be processed once, and what is still no good must become a new letter each time. The
checker tells by the place that a record lay in first, see `checks/sources.py` and `checks/letters.py`.
"""

import asyncio
import os
import random
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT

import yaml

from streams.requeued import REQUEUED_HEADER
from tests.faults.expected import LATER, Place
from tests.faults.topics import Contents, letters_of
from tests.faults.trial import Trial

_STRANGERS = 4
_OTHERS = 20
_AT_ONCE = 2
_PATIENCE_S = 120.0


class Repair:
    """One repair. There is one in a trial: afterwards the connection is known that nobody knew before."""

    def __init__(self, trial: Trial, chance: random.Random) -> None:
        self._trial = trial
        self._chance = chance

    async def carry_out(self) -> None:
        """Publish what is refused, mend the cause, and have two people put the letters back at once."""
        world = self._trial.world
        strangers, _ = await asyncio.gather(world.strangers(_STRANGERS), world.poison())
        mended = {place for place in strangers if world.expected.fates[place].mended}
        contents = await self._refused(mended)
        await self._mend()
        names, others = [], []
        for name, place, record in letters_of(contents, self._trial.system.prefix):
            if place in mended:
                names.append(name)
            elif REQUEUED_HEADER not in dict(record.headers):  # a wrong one is mended by putting the record back
                others.append(name)
        names += self._chance.sample(others, min(_OTHERS, len(others)))
        async with asyncio.TaskGroup() as people:
            for _ in range(_AT_ONCE):
                people.create_task(self._put_back(self._chance.sample(names, len(names))))
            await asyncio.sleep(self._chance.uniform(0.5, 2.5))
            self._chance.choice(self._trial.fleet.workers).send(signal.SIGKILL)

    async def _refused(self, places: set[Place]) -> Contents:
        """Wait until all of them are refused, and done with: nobody will take them again when the cause is mended."""
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                contents = await self._trial.contents()
                lettered = {place for _, place, _ in letters_of(contents, self._trial.system.prefix)}
                done = all(contents.committed.get(place[:2], 0) > place[2] for place in places)
                if done and places <= lettered:
                    return contents
                await asyncio.sleep(0.3)

    async def _mend(self) -> None:
        """Configure the connection, and start every worker anew."""
        file = self._trial.system.directory / "connections.yaml"
        document = yaml.safe_load(file.read_text())
        document["connections"].append(document["connections"][0] | {"id": LATER})
        file.write_text(yaml.safe_dump(document))
        self._trial.read_context()
        for worker in self._trial.fleet.workers:
            lives = len(worker.ends) + 1
            while len(worker.ends) < lives:  # it may be about to begin
                worker.send(signal.SIGKILL)
                await asyncio.sleep(0.1)

    async def _put_back(self, names: list[str]) -> None:
        """Give the command, and give it again as long as Kafka is not there or a letter cannot be read."""
        said = ""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                while True:
                    command = (sys.executable, "-m", "streams.cli", "dead-letters", "requeue", *names)
                    environment = os.environ | self._trial.system.environment
                    process = await asyncio.create_subprocess_exec(
                        *command, stdout=PIPE, stderr=STDOUT, env=environment
                    )
                    said = (await process.communicate())[0].decode()
                    if process.returncode == 0:
                        return
        except TimeoutError:
            raise AssertionError(f"the letters could not be put back: {said[-1000:]}") from None
