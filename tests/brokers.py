"""A real Apache Kafka for the tests: fetched by Maven once, one KRaft node in a temporary directory.

Needs `java` and `mvn` on the path. The jars go to `.kafka/` in the repository, or to the directory that
PROOFSTREAM_TEST_KAFKA_DIR names. KAFKA_BOOTSTRAP=HOST:PORT names another broker for the tests that do not
kill theirs; it should have auto.create.topics.enable=false and group.min.session.timeout.ms=2000 or less.
"""

import asyncio
import base64
import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
import uuid
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from streams.embedded.broker import HOST, free_port, wait_until_reachable
from streams.embedded.processes import log_tail, start_child, stop_child

POM = Path(__file__).with_name("kafka-pom.xml")
REPOSITORY = Path(__file__).parent.parent
FETCH_WITHIN_S = 600
START_WITHIN_S = 60.0
STOP_WITHIN_S = 15.0

# One small node. The first compiler tier and the serial collector start fast and leave a core to the tests.
JAVA = ("java", "-Xms128m", "-Xmx300m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"

# Short sessions: a restarted node waits until the controller has forgotten its last life, and a group until
# it has forgotten a killed member.
PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller_port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}
advertised.listeners=PLAINTEXT://{host}:{port}
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
broker.heartbeat.interval.ms=300
broker.session.timeout.ms=1500
"""


@dataclass
class RunningKafka:
    """One Kafka node. Its ports and its data outlive its process, so that it can be started again."""

    bootstrap: str
    directory: Path
    libs: Path
    process: Process

    @property
    def pid(self) -> int:
        """The process id of the node."""
        return self.process.pid

    async def stop(self) -> None:
        """Shut the node down as an operator would."""
        await stop_child(self.process, STOP_WITHIN_S)

    async def kill(self) -> None:
        """Kill the node with SIGKILL."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()

    async def restart(self) -> None:
        """Start the node again on the same ports and data; stop it first if it still runs."""
        await self.stop()
        self.process = await _start_node(self.bootstrap, self.directory, self.libs)


def missing_tools() -> str | None:
    """Say why a real Kafka cannot be started here; None if it can."""
    needed = ("java",) if _libs().is_dir() else ("java", "mvn")
    missing = [tool for tool in needed if shutil.which(tool) is None]
    if not missing:
        return None
    return f"a real Kafka needs {' and '.join(missing)} on the path, or KAFKA_BOOTSTRAP=HOST:PORT"


@contextlib.asynccontextmanager
async def start_kafka() -> AsyncIterator[RunningKafka]:
    """Run a Kafka node of its own for as long as the block runs.

    Yields:
        The node, reachable.

    Raises:
        RuntimeError: The jars cannot be fetched, or the node does not start; with the end of the log.
    """
    libs = fetch_libs()
    with tempfile.TemporaryDirectory(prefix="proofstream-kafka-") as name:
        directory = Path(name)
        port, controller_port = free_port(), free_port()
        settings = PROPERTIES.format(host=HOST, port=port, controller_port=controller_port, data=directory / "data")
        (directory / "server.properties").write_text(settings)
        await format_storage(directory, libs)
        bootstrap = f"{HOST}:{port}"
        kafka = RunningKafka(bootstrap, directory, libs, await _start_node(bootstrap, directory, libs))
        try:
            yield kafka
        finally:
            # Nobody reads this node's data again: a kill spares every run a clean shutdown's seconds.
            await kafka.kill()


def fetch_libs() -> Path:
    """Return the directory of Kafka's jars, fetched by Maven unless it is already there."""
    libs = _libs()
    if libs.is_dir():
        return libs
    if problem := missing_tools():
        raise RuntimeError(problem)
    libs.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=libs.parent, prefix="fetching-") as fetching:
        copy = Path(fetching, "libs")
        command = [
            "mvn",
            "-q",
            "-B",
            "-f",
            str(POM),
            "dependency:copy-dependencies",
            f"-DoutputDirectory={copy}",
        ]
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=FETCH_WITHIN_S,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"Maven could not fetch Kafka:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        # The rename is the mark of a complete fetch, and it settles a race: the first one stays.
        try:
            copy.rename(libs)
        except OSError:
            if not libs.is_dir():
                raise
    return libs


def _libs() -> Path:
    cache = Path(os.environ.get("PROOFSTREAM_TEST_KAFKA_DIR") or REPOSITORY / ".kafka")
    return cache / f"libs-{hashlib.sha256(POM.read_bytes()).hexdigest()[:12]}"


async def format_storage(directory: Path, libs: Path) -> None:
    """Prepare a directory with its ``server.properties`` for a Kafka of its own.

    Raises:
        RuntimeError: it could not be prepared.
    """
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    log = directory / "format.log"
    properties = str(directory / "server.properties")
    tool = (*JAVA, QUIET, "-cp", f"{libs}/*", "kafka.tools.StorageTool")
    process = await start_child(*tool, "format", f"--cluster-id={cluster}", "-c", properties, log=log)
    try:
        code = await asyncio.wait_for(process.wait(), START_WITHIN_S)
    finally:
        await stop_child(process)
    if code != 0:
        raise RuntimeError(f"Kafka's data directory could not be formatted. {log_tail(log)}")


async def _start_node(bootstrap: str, directory: Path, libs: Path) -> Process:
    log = directory / "server.log"
    properties = str(directory / "server.properties")
    process = await start_child(*JAVA, QUIET, "-cp", f"{libs}/*", "kafka.Kafka", properties, log=log)
    try:
        await wait_until_reachable(process, bootstrap, log, START_WITHIN_S)
    except BaseException:
        await stop_child(process)
        raise
    return process
