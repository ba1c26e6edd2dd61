"""The demo from its start to its end."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

import orjson

from streams.demo.board import Board, Difference
from streams.demo.cases import CASES
from streams.demo.stage import Stage
from streams.demo.world import World, demo_world
from streams.embedded.processes import log_tail
from streams.transport.clients import follow
from streams.transport.topics import DEAD_LETTERS, VERDICTS

Show = Callable[[bytes | None], None]

WITHIN_S: Final = 45.0
_NOTHING_MORE_S = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What differs from what must come out; nothing, if all is well. With what became of the worker."""

    differences: list[Difference]
    worker: str


def new_board() -> Board:
    """Return a board that expects what the cases say."""
    return Board({case.operation_id: case.expected for case in CASES})


async def run_demo(board: Board, show: Show) -> Outcome:
    """Run the demo until everything expected is there, the time is over, or the worker has ended.

    Args:
        board: what is seen is noted there.
        show: called for each new verdict with its record as published, and with None for a dead letter; the board
            has it by then.

    Returns:
        How what came out differs from what must.

    Raises:
        streams.embedded.BrokerError: the embedded broker is not installed, or does not start.
    """
    async with demo_world() as world:
        stage = Stage(world, board)
        await _while_not_over(
            board,
            *(case.play(stage, case.operation_id) for case in CASES),
            _watch_verdicts(world, board, show),
            _watch_dead_letters(world, board, show),
            _watch_worker(world, board),
        )
        code = world.worker.returncode
        state = "The worker ran to the end." if code is None else f"The worker ended with exit code {code}."
        return Outcome(board.differences(), f"{state} {log_tail(world.log)}")


async def _while_not_over(board: Board, *work: Coroutine[Any, Any, None]) -> None:
    """Do some work until the board is full, or for as long as may be."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one) for one in work]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(board.over.wait(), WITHIN_S)
            await asyncio.sleep(_NOTHING_MORE_S)  # what must not come gets the time to come
        board.over.set()
        for task in tasks:
            task.cancel()


async def _watch_verdicts(world: World, board: Board, show: Show) -> None:
    async for record in follow(world.settings, VERDICTS, from_beginning=True):
        if board.add_verdict(orjson.loads(record.value)):
            show(record.value)


async def _watch_dead_letters(world: World, board: Board, show: Show) -> None:
    async for record in follow(world.settings, DEAD_LETTERS, from_beginning=True):
        headers = {name: value.decode() for name, value in record.headers if name.startswith("dead_letter_")}
        board.add_refusal(headers["dead_letter_class"], headers["dead_letter_reason"])
        show(None)


async def _watch_worker(world: World, board: Board) -> None:
    await world.worker.wait()
    board.over.set()
