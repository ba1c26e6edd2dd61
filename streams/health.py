"""The worker's health, as a file whose age tells it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

_EVERY_S = 2.0


async def keep_healthy(ready: Callable[[], bool], path: Path | None) -> None:
    """Touch a file every 2 seconds while the worker is ready. Runs until it is cancelled."""
    while path is not None:
        if ready():
            await asyncio.to_thread(path.touch)
        await asyncio.sleep(_EVERY_S)
