"""The worker on one page: every topic, the table, every agent, in the order in which data flows.

``operations`` and ``webhooks`` → intake → ``cases`` (with the timers' ticks and the readbacks' answers) → decide →
``verdicts``, ``reviews``, ``readbacks`` → readback → ``cases``. What cannot be processed → ``dead-letters``.

Every agent works on whole batches, and in one order: outputs acknowledged, then state acknowledged, then the offset.
An exception never leaves an agent, since Faust would acknowledge the batch and go on: a bad record becomes a dead
letter, and anything else ends the process.
"""

import asyncio
from itertools import chain

import faust
from faust.types import StreamT

from streams.clock import clock_ms
from streams.embedded.ends import ends_from_fetches
from streams.fold import fold
from streams.health import keep_healthy
from streams.intake import Context, certificates_for, take_all, take_delivery, take_operation
from streams.log import log_outputs
from streams.readback import Readbacks
from streams.records import Record
from streams.settings import Settings
from streams.timers import Alarm, fire
from streams.transport.batch import BatchSchema, BatchTransport, has_caught_up
from streams.transport.fatal import fatal
from streams.transport.faust_settings import faust_settings
from streams.transport.lanes import Lanes, Unit
from streams.transport.membership import Membership
from streams.transport.outbox import Outbox
from streams.transport.table import CaseTable
from streams.transport.topics import CASES, OPERATIONS, READBACKS, WEBHOOKS
from streams.transport.watchdog import Look, Watchdog
from verifiers.http import HttpVerifier

Batches = StreamT[list[Record]]


def create_app(settings: Settings, context: Context, verifier: HttpVerifier) -> faust.App:  # noqa: C901, PLR0915 - one page
    """Build the worker's Faust app.

    Args:
        settings: where Kafka is, and how the worker behaves.
        context: contracts, connections, policy.
        verifier: makes the reads.

    Returns:
        The app, ready to be run by a ``faust.Worker``. The topics must exist, see ``streams.transport.topics``.
    """
    app = faust.App(settings.app_id, **faust_settings(settings))
    membership = Membership(settings.session_timeout_s)
    consumed = [settings.topic(name) for name in (OPERATIONS, WEBHOOKS, CASES, READBACKS)]
    transport = BatchTransport(app, consumed, membership)
    if settings.broker == "embedded":
        transport.adapt(fetch_max_wait_ms=100, true_ends=ends_from_fetches(settings.bootstrap_servers))
    app.transport = transport

    def topic(name: str) -> faust.TopicT:
        schema = BatchSchema(key_type=bytes, value_type=bytes)
        return app.topic(settings.topic(name), partitions=settings.partitions, schema=schema)

    # -- topics that are consumed
    operations, webhooks = topic(OPERATIONS), topic(WEBHOOKS)
    cases, readbacks = topic(CASES), topic(READBACKS)

    # -- the way out, the table, the timers
    outbox = Outbox(settings, membership)
    table = CaseTable(app, settings, outbox, membership)
    alarm = Alarm(clock_ms)
    reading = Readbacks(verifier, context, outbox, clock_ms, settings.read_concurrency)

    # -- the stages' work on what has come
    async def take_in_operations(unit: Unit) -> None:
        await outbox.deliver(log_outputs(take_all(take_operation, unit.records(), context, clock_ms())), "intake")

    async def take_in_webhooks(unit: Unit) -> None:
        await context.certificates.obtain(certificates_for(unit.records(), context, clock_ms()))
        await outbox.deliver(log_outputs(take_all(take_delivery, unit.records(), context, clock_ms())), "intake")

    async def decide_cases(unit: Unit) -> None:
        now = clock_ms()
        folded = [(batch, fold(batch.records, table.rows(batch.partition).get, context, now)) for batch in unit.batches]
        await unit.confirm()  # what a zombie says is the same, but a review it says late would hide a newer one
        outputs = list(chain.from_iterable(one.outputs for _, one in folded))
        await outbox.deliver(log_outputs(outputs), "decide")
        await table.write(unit, [(batch, one.rows) for batch, one in folded])
        for _, one in folded:
            alarm.arm(one.dues)

    async def begin_reads(unit: Unit) -> None:
        reading.begin(unit.records())

    # -- agents
    @app.agent(operations, concurrency=1)
    async def intake_operations(batches: Batches) -> None:
        await Lanes("intake", membership, take_in_operations).run(batches)

    @app.agent(webhooks, concurrency=1)
    async def intake_webhooks(batches: Batches) -> None:
        await Lanes("intake", membership, take_in_webhooks).run(batches)

    @app.agent(cases, concurrency=1)
    async def decide(batches: Batches) -> None:
        await Lanes("decide", membership, decide_cases).run(batches)

    @app.agent(readbacks, concurrency=1)
    async def read_back(batches: Batches) -> None:
        await Lanes("readback", membership, begin_reads).run(batches)

    # -- timers: they only send
    def ready() -> bool:
        return not app.rebalancing and not app.in_recovery

    @app.task  # type: ignore[untyped-decorator]
    async def fire_timers() -> None:
        await fire(alarm, outbox, lambda: ready() and has_caught_up(app.consumer))

    @table.table.on_recover
    async def recovered() -> None:
        with fatal("recovery"):
            await table.finish_recovery()
            alarm.rebuild(table.items())

    # -- the process
    @app.task  # type: ignore[untyped-decorator]
    async def healthy() -> None:
        await keep_healthy(ready, settings.health_file)

    def look() -> Look:
        return Look(
            generation=app.consumer_generation_id,
            rebalancing=app.rebalancing,
            recovering=app.in_recovery,
            recovered=table.recovered,
            unfinished=transport.unfinished(),
            delivery=outbox.oldest(),
        )

    @app.on_worker_init.connect(weak=False)
    def watch(app: faust.App, **_: object) -> None:
        bootstrap_servers = settings.bootstrap_servers if settings.broker == "kafka" else None
        watchdog = Watchdog(bootstrap_servers, settings.app_id, settings.stall_timeout_s)
        watchdog.start(look, asyncio.get_running_loop().call_soon_threadsafe)

    @app.on_before_shutdown.connect(weak=False)
    async def close(app: faust.App, **_: object) -> None:
        await reading.stop()
        await verifier.close()
        await context.certificates.close()
        await outbox.stop()

    return app
