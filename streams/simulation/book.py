"""What a simulated provider holds, and how it behaves next. A scenario changes both while the provider runs."""

import asyncio
from collections import Counter, deque
from typing import Generic, Protocol, TypeVar

from starlette.responses import Response

from streams.simulation.faults import Answers, Cuts, Fault, Hangs, Truncated


class HasId(Protocol):
    """Anything that a provider holds under an id."""

    @property
    def id(self) -> str:
        """The id that reads name it by."""


R = TypeVar("R", bound=HasId)


class Book(Generic[R]):
    """A provider's refunds by their ids, and the faults that its next reads meet.

    Attributes:
        requests: how often each kind of request was made: ``read``, and ``token`` where there are tokens.
    """

    def __init__(self) -> None:
        self._refunds: dict[str, R] = {}
        self._faults: deque[Fault] = deque()
        self.requests: Counter[str] = Counter()

    def add(self, refund: R) -> R:
        """Hold a refund, in place of the one of the same id if there is one."""
        self._refunds[refund.id] = refund
        return refund

    def find(self, refund_id: str) -> R | None:
        """Return the refund of this id, None where there is none."""
        return self._refunds.get(refund_id)

    def fail_next(self, fault: Fault, times: int = 1) -> None:
        """Let the next reads meet a fault, after those that are to meet one already."""
        self._faults.extend([fault] * times)

    async def begin_read(self) -> Response | None:
        """Count a read, and let it meet its fault.

        Returns:
            The answer that the fault gives, None where the true one is to be given.
        """
        self.requests["read"] += 1
        match self._faults.popleft() if self._faults else None:
            case Answers(status, body, headers):
                return Response(body, status, dict(headers))
            case Hangs(seconds):
                await asyncio.sleep(seconds)
            case Cuts():
                return Truncated()
        return None
