"""The gateway's process: it listens, and on SIGTERM answers what is under way before it ends."""

import asyncio
import contextlib
import functools
import logging
import signal
import socket
from collections.abc import Iterator
from typing import Any, Final, cast

import uvicorn
import uvloop

from streams.gateway.app import create_app
from streams.gateway.authenticity import is_trusted
from streams.gateway.connections import Connection
from streams.gateway.publisher import Publisher
from streams.gateway.senders import load_senders
from streams.gateway.settings import GatewaySettings
from streams.settings import Settings
from verifiers.certificates import Certificates
from verifiers.connections import Connections

_BACKLOG: Final = 1024
_LEEWAY_S: Final = 2.0
# aiokafka tells of each refused connection, and at DEBUG of whole bodies; uvicorn of each malformed request.
_LEVELS: Final = {
    "aiokafka": logging.CRITICAL,
    "uvicorn": logging.ERROR,
    "asyncio": logging.WARNING,
    "httpx": logging.WARNING,
    "httpcore": logging.WARNING,
}
_log = logging.getLogger("proofstream.gateway")


class ListenError(RuntimeError):
    """The address cannot be listened on."""


def run_gateway(settings: Settings, gateway: GatewaySettings) -> None:
    """Run a gateway until SIGTERM or SIGINT.

    Raises:
        verifiers.connections.ConnectionsError: the connections' file is wrong.
        ListenError: the address is taken, or is none of this machine.
    """
    connections = load_senders(settings.connections_file)
    with _listen(gateway) as listening:
        _log_to_stderr(settings)
        _warn(connections, gateway)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(settings, gateway, connections, listening))


def _log_to_stderr(settings: Settings) -> None:
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for name, level in _LEVELS.items():
        logging.getLogger(name).setLevel(level)


def _warn(connections: Connections, gateway: GatewaySettings) -> None:
    trusted = sorted(one.id for one in connections.values() if is_trusted(one))
    if trusted and gateway.trusted_token is None:
        _log.warning(
            "%s: `trusted`, so not served: their deliveries cannot be verified here. Set"
            " PROOFSTREAM_GATEWAY_TRUSTED_TOKEN for a sender that has verified them",
            ", ".join(trusted),
        )


def _listen(gateway: GatewaySettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in gateway.host else socket.AF_INET
    try:
        return socket.create_server((gateway.host, gateway.port), family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        raise ListenError(f"cannot listen on {gateway.host}, port {gateway.port}: {error}") from None


async def _serve(
    settings: Settings, gateway: GatewaySettings, connections: Connections, listening: socket.socket
) -> None:
    publisher = Publisher(settings)
    async with Certificates() as certificates, publisher.running():
        server = _Server(server_config(gateway, create_app(gateway, connections, publisher, certificates)))
        _log.info("listening on %s", _address(listening))
        await server.serve([listening])
    _log.info("ended")


def server_config(gateway: GatewaySettings, app: Any) -> uvicorn.Config:
    """Return how uvicorn serves the app: it trusts no proxy, and says nothing of itself."""
    return uvicorn.Config(
        app,
        # uvicorn calls it as it would call the class.
        http=cast("type[asyncio.Protocol]", functools.partial(Connection, gateway)),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_BACKLOG,
        h11_max_incomplete_event_size=gateway.max_head_bytes,
        timeout_keep_alive=gateway.idle_s,  # type: ignore[arg-type] # it goes to call_later, as it is
        timeout_graceful_shutdown=int(gateway.answer_within_s + _LEEWAY_S) + 1,
    )


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """A server that a signal ends in good order, with exit code 0."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at SIGTERM or SIGINT. uvicorn's own way is to send the signal once more at the end."""
        loop = asyncio.get_running_loop()
        for one in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(one, self.handle_exit, one, None)
        try:
            yield
        finally:
            for one in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(one)
