"""A TCP proxy on loopback: the network between two processes, with what a network does to a connection.

It delays, cuts, and goes silent: connections stay, new ones are accepted, and nothing comes through in one direction
or in both. What was held is delivered when the silence ends, as TCP does it after an outage.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Literal

from streams.embedded.broker import HOST

Direction = Literal["requests", "answers"]
BOTH: tuple[Direction, ...] = ("requests", "answers")
_CHUNK = 64 * 1024


@dataclass
class Network:
    """A way to a port, through a port of its own.

    ``delay_s``: how long each piece of data takes, in seconds. ``held`` counts the pieces that came while the way was
    silent, ``broken`` the connections that were cut: a test that has seen neither has tested nothing.
    """

    port: int
    upstream: int
    delay_s: float = 0.0
    held: int = 0
    broken: int = 0
    _passable: dict[Direction, asyncio.Event] = field(default_factory=dict)
    _open: set[asyncio.Transport] = field(default_factory=set)

    def __post_init__(self) -> None:
        for direction in BOTH:
            self._passable[direction] = asyncio.Event()
            self._passable[direction].set()

    @property
    def address(self) -> str:
        """Where clients connect to: ``HOST:PORT``."""
        return f"{HOST}:{self.port}"

    def fall_silent(self, *directions: Direction) -> None:
        """Let nothing through any more, in some directions, in both if none is named. No connection is closed."""
        for direction in directions or BOTH:
            self._passable[direction].clear()

    def recover(self) -> None:
        """Deliver what was held, and let everything through again, without a delay."""
        self.delay_s = 0.0
        for passable in self._passable.values():
            passable.set()

    def cut(self) -> None:
        """Break every connection off; what was held is lost. New ones are accepted."""
        for transport in self._open:
            transport.abort()
            self.broken += 1
        self._open.clear()

    async def connect(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        """Connect a client through, until either end closes or the connection is cut."""
        try:
            server, to_server = await asyncio.open_connection(HOST, self.upstream)
        except OSError:
            to_client.transport.abort()
            return
        ends = {to_client.transport, to_server.transport}
        self._open |= ends
        pumps = [
            asyncio.create_task(self._pump(client, to_server, "requests")),
            asyncio.create_task(self._pump(server, to_client, "answers")),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            for transport in ends:
                transport.close()  # what is on its way out still goes, unless the connection was cut
            self._open -= ends

    async def _pump(self, source: asyncio.StreamReader, to: asyncio.StreamWriter, direction: Direction) -> None:
        passable = self._passable[direction]
        with contextlib.suppress(OSError):
            while piece := await source.read(_CHUNK):
                await asyncio.sleep(self.delay_s)
                self.held += not passable.is_set()
                await passable.wait()
                to.write(piece)
                await to.drain()
            await passable.wait()  # nor does the end of a connection come through


@contextlib.asynccontextmanager
async def network_to(upstream: int, port: int = 0) -> AsyncIterator[Network]:
    """Have a way to a port of this machine for as long as the block runs.

    Args:
        upstream: the port that it leads to.
        port: the port that it begins at, 0 for any that is free.
    """
    network = Network(port, upstream)
    connections: set[asyncio.Task[None]] = set()

    def accept(client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(network.connect(client, to_client))
        connections.add(task)
        task.add_done_callback(connections.discard)

    listening = await asyncio.start_server(accept, HOST, port)
    network.port = listening.sockets[0].getsockname()[1]
    try:
        yield network
    finally:
        listening.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
