"""Membership in the consumer group: whether a batch's partition is still this worker's.

Kafka gives a worker's partitions to another one when it has not heard from it for a session's length; a process that
was paused does not notice. So the membership is a lease: it is renewed by each heartbeat that the group's coordinator
has answered, and while it is not, nothing is written until it is known again whose the partitions are.
"""

import asyncio
from time import monotonic
from typing import Any

from aiokafka import AIOKafkaConsumer

_PAUSE_S = 0.05


class PartitionsLost(Exception):
    """The batch belongs to somebody else by now: its new owner works on it, from the last commit on."""


class Membership:
    """A lease on the assigned partitions, for one session's length from the last heartbeat on."""

    def __init__(self, session_timeout_s: float) -> None:
        self._session_timeout_s = session_timeout_s
        self._renewed = monotonic()
        self._coordinator: Any = None
        self._confirmed = 0

    def watch(self, consumer: AIOKafkaConsumer) -> None:
        """Be told of each heartbeat that a consumer, which has been started, gets an answer to."""
        coordinator: Any = consumer._coordinator  # noqa: SLF001 - aiokafka tells of its heartbeats nowhere else
        if not hasattr(coordinator, "_do_heartbeat"):
            return  # a consumer without a group
        beat = coordinator._do_heartbeat  # noqa: SLF001

        async def observed() -> bool:
            sent = monotonic()
            answered: bool = await beat()
            if answered:
                self._renewed = sent
            return answered

        coordinator._do_heartbeat = observed  # noqa: SLF001
        self._coordinator = coordinator

    def renew(self) -> None:
        """Note that partitions were assigned just now."""
        self._renewed = monotonic()

    async def confirm(self, generation: int) -> None:
        """Return once it is certain that what was assigned in a generation of the group is still this worker's.

        Does not wait, and lets nothing else run, while the lease holds.

        Raises:
            PartitionsLost: it is not.
        """
        while True:
            if self._coordinator is not None and self._coordinator.generation != generation:
                raise PartitionsLost(f"generation {generation} of the group is over")
            if monotonic() - self._renewed < self._session_timeout_s:
                self._confirmed = generation
                return
            await asyncio.sleep(_PAUSE_S)

    async def confirm_again(self) -> None:
        """Confirm once more what was confirmed last: some time may have passed, and the process may have been paused.

        Raises:
            PartitionsLost: it is not this worker's any more.
        """
        await self.confirm(self._confirmed)
