"""A contender from the outside: its process, what it says, how far its group has come."""

import asyncio
import math
import os
import re
import sys
from asyncio.subprocess import Process
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, Final

import orjson
from aiokafka.admin import AIOKafkaAdminClient

from benchmarks.contenders.status import State, resident_bytes
from benchmarks.kafka import Message, Reader, begin_behind_fillers, create_compacted
from streams.embedded.processes import log_tail, start_child
from streams.settings import Settings
from streams.transport.topics import CASES, OPERATIONS, READBACKS, WEBHOOKS, ensure_topics

PARTITIONS: Final = 8
NAMES: Final = ("proofstream", "quix", "faust", "aiokafka")
SOURCES: Final = (OPERATIONS, WEBHOOKS, CASES, READBACKS)
_STOP_WITHIN_S = 60.0
_STALLED_AFTER_S = 30.0
_LOOK_EVERY_S = 0.2


class Unfinished(RuntimeError):
    """A contender ended, or stopped to get on, before its work was done."""


@dataclass
class Contender:
    """One contender against a broker; its topics, its group and its directory are its own.

    ``prefix`` is put before its topics and its group; without it, its name is.
    """

    name: str
    bootstrap: str
    directory: Path
    environment: dict[str, str]
    prefix: str = ""
    process: Process | None = None
    _said_from: int = field(default=0)

    @property
    def settings(self) -> Settings:
        """The settings that its process finds in its environment."""
        return Settings(
            bootstrap_servers=self.bootstrap,
            topic_prefix=f"{self.prefix or self.name}-",
            app_id=f"{self.prefix or self.name}-app",
            partitions=PARTITIONS,
            data_dir=self.directory / "data",
        )

    @property
    def changelog(self) -> str:
        """The topic that it has its rows from when it starts."""
        if self.name == "quix":
            return f"changelog__{self.settings.app_id}--{self.settings.topic(CASES)}--default"
        return self.settings.changelog_topic

    def changelog_record(self, key: bytes, row: bytes) -> Message:
        """Return the changelog record of a row."""
        if self.name == "quix":  # the state's name behind the key, and a header for RocksDB's column family
            return key + b'|"row"', row, (("__column_family__", b"default"),)
        return key, row, ()

    @property
    def keeps_rows(self) -> bool:
        """Whether it writes back the rows that it changes."""
        return self.name != "aiokafka"

    @property
    def log(self) -> Path:
        """Where its output goes."""
        return self.directory / "log"

    async def prepare(self) -> None:
        """Create its topics."""
        self.directory.mkdir()
        await ensure_topics(self.settings)
        if self.name == "quix":
            await create_compacted(self.bootstrap, self.changelog, PARTITIONS)
        # Faust leaves a partition without a commit, or with one at 0, where it happens to be after its recovery, and
        # loses what it passed.
        await begin_behind_fillers(
            self.bootstrap, self.settings.app_id, [self.settings.topic(one) for one in SOURCES], PARTITIONS
        )

    async def start(self) -> None:
        """Start its process."""
        settings = self.settings
        own = {
            "PROOFSTREAM_BOOTSTRAP_SERVERS": settings.bootstrap_servers,
            "PROOFSTREAM_TOPIC_PREFIX": settings.topic_prefix,
            "PROOFSTREAM_APP_ID": settings.app_id,
            "PROOFSTREAM_PARTITIONS": str(settings.partitions),
            "PROOFSTREAM_DATA_DIR": str(settings.data_dir),
            "PYTHONUNBUFFERED": "1",
        }
        self._said_from = self.log.stat().st_size if self.log.exists() else 0
        command = (sys.executable, "-m", f"benchmarks.contenders.{self.name}")
        self.process = await start_child(*command, log=self.log, environment={**os.environ, **self.environment, **own})

    async def stop(self) -> None:
        """Have its process commit and end."""
        process, self.process = self.process, None
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _STOP_WITHIN_S)
        except TimeoutError:
            process.kill()
            await process.wait()

    def resident_bytes(self) -> int:
        """Return the memory that its process holds; 0 where there is none."""
        return resident_bytes(self.process.pid) if self.process is not None else 0

    def said(self) -> list[dict[str, Any]]:
        """Return what it has said since it was started last."""
        if not self.log.exists():
            return []
        said = re.findall(rb'\{"status".*\}\n', self.log.read_bytes()[self._said_from :])
        return [orjson.loads(line) for line in said]

    async def says(self, state: State, within_s: float) -> dict[str, Any]:
        """Wait until it says that it has reached a state, and return what it said.

        Raises:
            Unfinished: it did not.
        """
        deadline = monotonic() + within_s
        while not (found := [one for one in self.said() if one["status"] == state]):
            self.check(f"did not say {state!r}", deadline)
            await asyncio.sleep(_LOOK_EVERY_S)
        return found[0]

    async def works_off(self, reader: Reader, topics: Iterable[str], within_s: float) -> None:
        """Wait until its group has committed up to the ends of topics, as they are by then.

        Raises:
            Unfinished: it did not.
        """
        names = [self.settings.topic(topic) for topic in topics]
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        try:
            deadline = monotonic() + within_s
            while True:
                committed = await admin.list_consumer_group_offsets(self.settings.app_id)
                ends = {place: end for name in names for place, end in (await reader.ends(name, PARTITIONS)).items()}
                if all(
                    end == 0 or (place in committed and committed[place].offset >= end) for place, end in ends.items()
                ):
                    return
                self.check(f"has not worked off {', '.join(names)}", deadline)
                await asyncio.sleep(_LOOK_EVERY_S)
        finally:
            await admin.close()

    async def reaches(self, reader: Reader, topic: str, records: int) -> int:
        """Wait until a topic of its has had so many records, or has not grown for a while.

        Returns:
            How many it has had.

        Raises:
            Unfinished: the process has ended.
        """
        name, count, since = self.settings.topic(topic), -1, monotonic()
        while (now := await reader.count(name, PARTITIONS)) < records:
            if now != count:
                count, since = now, monotonic()
            if monotonic() > since + _STALLED_AFTER_S:
                break
            self.check(f"had brought {topic} to {count} of {records} records", math.inf)
            await asyncio.sleep(_LOOK_EVERY_S)
        return now

    def check(self, problem: str, deadline: float) -> None:
        """Raise that there is a problem where the process has ended or the time is over.

        Raises:
            Unfinished: so it is.
        """
        ended = self.process is not None and self.process.returncode is not None
        if ended or monotonic() > deadline:
            raise Unfinished(f"{self.name} {'ended and ' if ended else ''}{problem}\n{log_tail(self.log)}")
