"""Work that does not end before a test is done with it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from tests.faults.trial import Trial

_OPERATIONS = 10
_SPAN_S = 1.0


@contextlib.asynccontextmanager
async def steady_work(trial: Trial) -> AsyncIterator[None]:
    """Have operations begin for as long as the block runs, so that there is always work left; then see all through.

    New ones begin while the earlier ones go on: between two loads there would be moments at which all is done.
    """
    loads: list[asyncio.Task[None]] = []

    async def work() -> None:
        while True:
            loads.append(asyncio.create_task(trial.world.live(_OPERATIONS, within_s=_SPAN_S)))
            await asyncio.sleep(_SPAN_S)

    working = asyncio.create_task(work())
    try:
        yield
        assert await trial.left() > 0, "there was nothing left to do: it proved nothing"
    finally:
        working.cancel()
        await asyncio.gather(*loads)
