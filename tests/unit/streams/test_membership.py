"""A lease on partitions: it holds, it runs out, it is renewed, it is lost."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from streams.transport.membership import Membership, PartitionsLost


class Coordinator:
    def __init__(self) -> None:
        self.generation = 7
        self.answers = True

    async def _do_heartbeat(self) -> bool:
        return self.answers


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()


def member_of(coordinator: Any, session_timeout_s: float) -> Membership:
    membership = Membership(session_timeout_s)
    membership.watch(SimpleNamespace(_coordinator=coordinator))  # type: ignore[arg-type]
    return membership


async def test_it_holds_for_a_session(coordinator: Coordinator):
    await member_of(coordinator, 30.0).confirm(7)


async def test_another_generation_is_a_loss_at_once(coordinator: Coordinator):
    with pytest.raises(PartitionsLost):
        await member_of(coordinator, 30.0).confirm(6)


async def test_after_a_session_without_a_heartbeat_it_waits_for_one(coordinator: Coordinator):
    membership = member_of(coordinator, 0.05)
    await asyncio.sleep(0.1)
    waiting = asyncio.create_task(membership.confirm(7))
    coordinator.answers = False
    assert await coordinator._do_heartbeat() is False
    await asyncio.sleep(0.1)
    assert not waiting.done()

    membership._session_timeout_s = 30.0
    coordinator.answers = True
    assert await coordinator._do_heartbeat() is True
    await asyncio.wait_for(waiting, 1)


async def test_while_it_waits_it_may_turn_out_to_be_lost(coordinator: Coordinator):
    membership = member_of(coordinator, 0.01)
    await asyncio.sleep(0.05)
    waiting = asyncio.create_task(membership.confirm(7))
    await asyncio.sleep(0.1)
    coordinator.generation = -1
    with pytest.raises(PartitionsLost):
        await asyncio.wait_for(waiting, 1)
