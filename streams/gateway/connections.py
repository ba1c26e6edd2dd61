"""One HTTP connection: uvicorn's, with an end to its patience.

uvicorn waits for ever for the headers of a request that has begun, and for the rest of a body that is answered already.
"""

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from streams.gateway.problems import CLOSE, MEDIA_TYPE, Problem, too_slow, try_again
from streams.gateway.settings import GatewaySettings

REST_WITHIN_S: Final = 2.0


class Connection(H11Protocol):
    """A connection that is cut when nothing comes of it. While a request is answered, the app keeps the time."""

    def __init__(self, settings: GatewaySettings, **options: Any) -> None:
        super().__init__(**options)
        self._settings = settings
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, or turn it away where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self._settings.max_connections:
            self._turn_away(try_again("busy", "Too many connections."))
            return
        self._wait(self._settings.head_within_s)

    def data_received(self, data: bytes) -> None:
        """Take bytes. However a request's headers trickle, they must be whole in time."""
        if self.transport.is_closing():
            return
        resting = self.conn.their_state is h11.SEND_BODY and not self._answering()
        super().data_received(data)
        if self._answering():
            self._wait(None)
        elif self.conn.their_state is h11.IDLE and (resting or self._patience is None):
            self._wait(self._settings.head_within_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._wait(None)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the next request; first for the rest of a body that was answered early, though not for long.

        To close at once would make the kernel reset the connection, and the sender might never see the answer.
        """
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY and not self._answering():
            self._wait(REST_WITHIN_S)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, and close."""
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            self._turn_away(Problem(400, "malformed_request", "Malformed request", msg, headers=CLOSE))
        else:
            self.transport.close()

    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _turn_away(self, problem: Problem) -> None:
        """Answer without an app, and close."""
        body = problem.body()
        head = [
            f"HTTP/1.1 {problem.status} {problem.title}",
            f"Content-Type: {MEDIA_TYPE}",
            f"Content-Length: {len(body)}",
            *(f"{name}: {value}" for name, value in {**problem.headers, **CLOSE}.items()),
        ]
        self.transport.write("\r\n".join([*head, "", ""]).encode("ascii") + body)
        self.transport.close()

    def _wait(self, seconds: float | None) -> None:
        if self._patience is not None:
            self._patience.cancel()
        self._patience = self.loop.call_later(seconds, self._give_up) if seconds is not None else None

    def _give_up(self) -> None:
        self._patience = None
        if self.transport.is_closing():
            return
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._turn_away(too_slow())
        else:
            self.transport.abort()
