"""An ASGI app on a free port of 127.0.0.1, served in this process's event loop."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn
from starlette.types import ASGIApp

HOST = "127.0.0.1"
_STOP_WITHIN_S = 1


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the process, which has more to clean up than a server."""
        yield


@contextlib.asynccontextmanager
async def serve(app: ASGIApp) -> AsyncIterator[str]:
    """Serve an app for as long as the block runs. Requests that still hang at its end are broken off.

    Yields:
        The base URL, ``http://127.0.0.1:PORT``.
    """
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        log_level="critical",  # a connection cut on purpose is no news
        access_log=False,
        timeout_keep_alive=60,  # longer than a client keeps an idle connection, so that none is closed under a read
        timeout_graceful_shutdown=_STOP_WITHIN_S,
    )
    server = _Server(config)
    with socket.create_server((HOST, 0)) as listening:
        # The socket listens already: whoever connects before uvicorn has started waits in its backlog.
        serving = asyncio.create_task(server.serve([listening]))
        try:
            yield f"http://{HOST}:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving
