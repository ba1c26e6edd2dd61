"""When a Faust app recovers: our worker's, and Faust's as it comes."""

import asyncio
from typing import Any

import faust
from faust.types import TP

from benchmarks.contenders.status import say


def watch_recovery(app: faust.App) -> None:
    """Have a Faust app say when partitions are assigned to it, and when its tables are recovered."""

    @app.on_partitions_assigned.connect(weak=False)
    async def assigned(app: faust.App, _: set[TP], **__: Any) -> None:
        say("recovering")
        watching.append(asyncio.create_task(recovered(app)))

    async def recovered(app: faust.App) -> None:
        tables: Any = app.tables
        while app.rebalancing or not tables.recovery.completed.is_set():  # noqa: ASYNC110 - Faust tells nobody
            await asyncio.sleep(0.005)
        say("ready")

    watching: list[asyncio.Task[None]] = []  # a task that nobody holds may be collected
