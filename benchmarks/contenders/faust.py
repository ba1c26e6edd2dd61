"""Faust as it comes, tuned: uvloop, quiet logs, a linger of 5 ms; agents, a table in memory, ``topic.send``."""

import mode.loop

mode.loop.use("uvloop")  # before anything else of Faust is imported, as `faust -L uvloop` does it

import logging  # noqa: E402
from collections.abc import Iterable, Sequence  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from typing import Any  # noqa: E402

import faust  # noqa: E402
from faust.types import EventT, StreamT  # noqa: E402

from benchmarks.contenders.recovery import watch_recovery  # noqa: E402
from streams.clock import clock_ms  # noqa: E402
from streams.fold import fold  # noqa: E402
from streams.intake import take_all, take_delivery, take_operation  # noqa: E402
from streams.memory import spare_collections  # noqa: E402
from streams.outputs import Output  # noqa: E402
from streams.publish import to_records  # noqa: E402
from streams.settings import TABLE, Settings  # noqa: E402
from streams.transport.topics import CASES, OPERATIONS, READBACKS, REVIEWS, VERDICTS, WEBHOOKS  # noqa: E402
from streams.worker import load_context  # noqa: E402


@dataclass(frozen=True, slots=True)
class EventRecord:
    """A Faust event as the pure functions take records."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


def record_of(event: EventT[bytes]) -> EventRecord:
    """Return an event's record."""
    message = event.message
    headers: Any = message.headers or ()
    time_ms = int(message.timestamp * 1000)
    return EventRecord(
        message.topic, message.partition, message.offset, time_ms, message.key, message.value, list(headers)
    )


def create_app(settings: Settings) -> faust.App:  # noqa: C901 - one page
    """Build the app."""
    context = load_context(settings)
    app = faust.App(
        settings.app_id,
        broker=f"kafka://{settings.bootstrap_servers}",
        store="memory://",
        topic_partitions=settings.partitions,
        key_serializer="raw",
        value_serializer="raw",
        producer_linger=0.005,
        producer_acks=-1,
        web_enabled=False,
        table_standby_replicas=0,
        topic_disable_leader=True,
        datadir=settings.data_dir,
    )
    names = (OPERATIONS, WEBHOOKS, CASES, READBACKS, VERDICTS, REVIEWS)
    topics = {
        name: app.topic(settings.topic(name), key_type=bytes, value_type=bytes, partitions=settings.partitions)
        for name in names
    }
    table = app.Table(TABLE, key_type=bytes, value_type=bytes, partitions=settings.partitions)

    async def deliver(outputs: Iterable[Output]) -> None:
        for one in to_records(outputs):
            headers: Any = list(one.headers)
            await topics[one.topic].send(key=one.key, value=one.value, headers=headers)

    @app.agent(topics[OPERATIONS])
    async def intake_operations(stream: StreamT[bytes]) -> None:
        async for event in stream.events():
            await deliver(take_all(take_operation, [record_of(event)], context, clock_ms()))

    @app.agent(topics[WEBHOOKS])
    async def intake_webhooks(stream: StreamT[bytes]) -> None:
        async for event in stream.events():
            await deliver(take_all(take_delivery, [record_of(event)], context, clock_ms()))

    @app.agent(topics[CASES])
    async def decide(stream: StreamT[bytes]) -> None:
        async for event in stream.events():
            folded = fold([record_of(event)], table.get, context, clock_ms())
            await deliver(folded.outputs)
            for key, value in folded.rows.items():
                if value is None:
                    table.pop(key, None)
                else:
                    table[key] = value

    watch_recovery(app)
    return app


if __name__ == "__main__":
    logging.basicConfig(level="WARNING")
    built = create_app(Settings())
    spare_collections()
    faust.Worker(built, loglevel="WARNING", quiet=True, redirect_stdouts=False).execute_from_commandline()
