"""The batch transport: one Faust event is one Kafka batch of one partition.

Faust pays for every event: a decoded object, a trip through a queue, an acknowledgement. Here that price is paid once
for all the records that one fetch brought from one partition; tables, changelogs, assignment and recovery stay
Faust's. The event's value is the list of aiokafka's records; its offset is the last one that the fetch covers, be it of
a record or of a transaction's marker. What is not committed in a transaction is not read.

What Faust 0.15 gets wrong on this path is put right here: it commits past an event that is still being worked on when
a later one is acknowledged (its gap check is off by one), so what is committed is derived from the batches as they
were handed out, in order.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from time import monotonic
from typing import Any, ClassVar

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import IllegalStateError
from faust import Event
from faust.exceptions import ConsumerNotStarted
from faust.serializers.schemas import Schema
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, AppT, ConsumerMessage, EventT, Message
from faust.types.transports import ConsumerT
from mode import ServiceT
from mode.utils.futures import notify

from streams.transport.crash_points import crash_point
from streams.transport.fetches import Fetched, Fetches
from streams.transport.membership import Membership

_PATIENCE_S = 60.0
_MARGIN_S = 30.0
TrueEnds = Callable[[Mapping[TP, int]], Awaitable[dict[TP, int]]]


async def noop(*_: Any) -> None:
    """Do nothing: what is not decoded cannot fail to be."""


class BatchConsumerThread(driver.AIOKafkaConsumerThread):
    """Faust's consumer thread, with settings that Faust has fixed, and with the ranges that its fetches cover."""

    _fetches: Fetches

    async def on_start(self) -> None:
        """Start the consumer, and follow its heartbeats and its fetches."""
        await super().on_start()
        self._fetches = Fetches(self._ensure_consumer())
        if isinstance(self.transport, BatchTransport):
            self.transport.membership.watch(self._ensure_consumer())

    def _create_worker_consumer(self, transport: driver.Transport) -> AIOKafkaConsumer:
        consumer = super()._create_worker_consumer(transport)
        consumer._isolation_level = "read_committed"  # noqa: SLF001 - these are read when it starts
        # Kafka answers the request to join when all have joined; every other one within this time, or not at all.
        answer_within_s = self.app.conf.broker_rebalance_timeout + _MARGIN_S
        consumer._client._request_timeout_ms = int(answer_within_s * 1000)  # noqa: SLF001
        if isinstance(transport, BatchTransport):
            consumer._fetch_max_wait_ms = transport.fetch_max_wait_ms  # noqa: SLF001
        return consumer

    async def _fetch_records(self, *args: Any, **options: Any) -> Any:
        self._fetches.forget()
        return self._fetches.cover(await super()._fetch_records(*args, **options))


class BatchConsumer(driver.Consumer):
    """A Faust consumer that hands whole batches of the chosen topics to their streams."""

    transport: "BatchTransport"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Batches handed out and not committed yet, by partition, in order.
        self._handed_out: defaultdict[TP, deque[Message]] = defaultdict(deque)
        # Where a hole was seen: partitions and the offset that was expected.
        self._hole_before: dict[TP, int] = {}
        # The flow was resumed, and the streams' queues were emptied with it: go back before handing out more.
        self._resumed = False
        # Partitions whose backlog, as it was when they were assigned, is not worked off yet: where it ends, as soon as
        # a fetch has told, and since when it is waited for.
        self._behind: dict[TP, int | None] = {}
        self._behind_since = 0.0

    async def highwaters(self, *partitions: TP) -> MutableMapping[TP, int]:
        """Return the ends of partitions: what recovery reads up to."""
        ends = await super().highwaters(*partitions)
        correct = self.transport.true_ends
        return dict(ends) if correct is None else await correct(ends)

    def _new_consumer_thread(self) -> BatchConsumerThread:
        return BatchConsumerThread(self, loop=self.loop, beacon=self.beacon)

    # -- handing out

    async def _drain_messages(self, fetcher: ServiceT) -> None:
        """Fetch, and hand out, until the consumer or its fetcher stops."""
        try:
            while not (self._stopped.is_set() or fetcher._stopped.is_set()):  # type: ignore[attr-defined]  # noqa: SLF001
                fetches: Any  # not records: what BatchConsumerThread makes of them
                fetches, active = await self._wait_next_records(1.0)
                try:
                    if self._resumed or not self.flow_active:
                        # A rebalance came in between: what was fetched is of no use, and must be fetched again.
                        self._resumed = False
                        await self.perform_seek()
                    elif fetches:
                        await self._hand_out(fetches, active)
                    elif self.app.in_recovery:
                        await self._seek_changelogs()
                except IllegalStateError:  # a partition was taken away in this moment
                    self._resumed = not self.app.in_recovery
        except asyncio.CancelledError:
            if not self.transport.app.should_stop:
                raise
        except self.consumer_stopped_errors:
            if not self.transport.app.should_stop:
                raise

    def resume_flow(self) -> None:
        """Go on, with recovery or after it.

        Faust empties the streams' queues when it resumes them, of batches as well that were handed out between its seek
        and now. So the seek is done again by the only one that hands out, when it cannot come in between.
        """
        self._resumed = not self.app.in_recovery
        super().resume_flow()

    async def _hand_out(self, fetches: Mapping[TP, Fetched], active: set[TP] | None) -> None:
        """Hand over what one fetch has brought, of all its partitions together."""
        generation, messages = self.app.consumer_generation_id, []
        for partition, fetched in fetches.items():
            tp = TP(*partition)
            if active is not None and tp not in active and tp not in self._buffered_partitions:
                continue
            self.app.monitor.track_tp_end_offset(tp, self.highwater(tp))
            if self._is_changelog_tp(tp):  # what is read twice does no harm: of a row, the highest position stands
                messages.append(self._message_of(tp, fetched.records, fetched.end))
            elif (fresh := await self._follow_on(tp, fetched)) is not None:
                message = self._message_of(tp, fresh, fetched.end)
                message.acked = not fresh  # there is nothing to do for a marker, or for what was aborted
                self._handed_out[tp].append(message)
                self._read_offset[tp] = fetched.end  # before the wait: a seek meanwhile has the last word
                if fresh:
                    messages.append(message)
        if self._resumed or not self.flow_active or self.app.consumer_generation_id != generation:
            return  # a rebalance came in between
        await self._hand_over(messages)

    async def _follow_on(self, tp: TP, fetched: Fetched) -> list[Any] | None:
        """Return the records of a fetch that follow on what was handed out before, without a hole; None if it does not.

        A fetch that was under way when its partition was sought back brings records from behind the place. Handing them
        out would skip what lies between, so a hole is believed only when a fetch from its very edge shows it again, as
        after a retention.
        """
        expected = self._read_offset[tp]
        if expected is None:
            await self.perform_seek()
            return None
        if fetched.end <= expected:
            return None
        if fetched.begin > expected and self._hole_before.get(tp) != expected:
            self._hole_before[tp] = expected
            await self._seek(tp, expected)
            return None
        return [record for record in fetched.records if record.offset >= expected]

    def _message_of(self, tp: TP, records: list[Any], end: int) -> Message:
        return ConsumerMessage(
            tp.topic,
            tp.partition,
            end - 1,
            records[-1].timestamp / 1000 if records else 0.0,
            0,
            [],
            None,
            records,  # type: ignore[arg-type]
            None,
            tp=tp,
            generation_id=self.app.consumer_generation_id,
        )

    async def _hand_over(self, messages: Iterable[Message]) -> None:
        handed_over = asyncio.gather(*(self.callback(message) for message in messages))
        await self.wait_first(handed_over, self.suspend_flow.wait())

    def on_buffer_full(self, tp: TP) -> None:
        """Go on fetching: a stream's queue that is full holds the next batch up by itself.

        Faust stops to fetch a partition whose stream's queue fills, and never begins again where it empties that queue
        itself, when it resumes the streams.
        """

    async def perform_seek(self) -> None:
        """Go to the committed offset of every source partition, and to the beginning of one that has none.

        Faust leaves a partition without a commit where it is, and aiokafka one that is committed at 0: what was fetched
        from it and dropped in a rebalance would be lost. What was handed out from there on is handed out again.
        """
        committed = {TP(*tp): offset for tp, offset in (await self.seek_to_committed()).items()}
        places = {tp: offset for tp, offset in committed.items() if offset is not None and offset > 0}
        self._committed_offset.update(places)
        new = [tp for tp in committed if tp not in places and not self._is_changelog_tp(tp)]
        if new:
            beginnings = {TP(*tp): offset for tp, offset in (await self.earliest_offsets(*new)).items()}
            for tp, offset in beginnings.items():
                await self._seek(tp, offset)
            places |= beginnings
        self._read_offset.update(places)
        for tp in places:
            self._handed_out.pop(tp, None)

    async def _seek_changelogs(self) -> None:
        """Go to where recovery is in the changelog partitions that it still waits for.

        Faust seeks them once, when recovery begins. A fetch that was under way then may bring their records before the
        flow is on, and what is dropped does not come again: recovery would wait for ever.
        """
        tables: Any = self.app.tables
        recovery = tables.recovery
        for tp, left in recovery.active_remaining().items():
            if left > 0:
                await self._seek(tp, recovery.active_offsets[tp] + 1)

    # -- committing

    def ack(self, message: Message) -> bool:
        """Note that a batch is done with. It is committed together with all that were handed out before it."""
        if message.acked:
            return False
        message.acked = True
        self._let_go(message)
        return True

    def abandon(self, message: Message) -> None:
        """Give a batch up, because its partition was lost: it is not waited for, and it is not committed."""
        self._let_go(message)

    def _let_go(self, message: Message) -> None:
        self._unacked_messages.discard(message)
        notify(self._waiting_for_ack)

    def _filter_tps_with_pending_acks(self, topics: Collection[Any] | None = None) -> Iterator[TP]:
        return (tp for tp in list(self._handed_out) if topics is None or tp in topics or tp.topic in topics)

    def _new_offset(self, tp: TP) -> int | None:
        """Return the offset to commit: behind the last batch that is acknowledged together with all before it."""
        handed_out, last = self._handed_out[tp], None
        while handed_out and handed_out[0].acked:
            last = handed_out.popleft().offset
        return None if last is None else last + 1

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        crash_point("commit", "before")
        done = await super()._commit(offsets)
        crash_point("commit", "after")
        return done

    # -- partitions that come and go

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Note that whatever waits in the assigned partitions is to be worked off first."""
        self._behind = dict.fromkeys(tp for tp in assigned if tp.topic in self.transport.batched)
        self._behind_since = monotonic()
        self.transport.membership.renew()
        await super().on_partitions_assigned(assigned, generation_id)

    def has_caught_up(self) -> bool:
        """Tell whether the backlog of the assigned partitions has been worked off since they were assigned.

        Timers wait for that: evidence that arrived in time, but lies in the backlog of an outage, must reach its case
        before the tick that ends the observation. They wait for a minute at most, whatever holds a partition up; a
        transaction that was left open does, as long as Kafka lets it be, with all that others have written behind it.
        """
        for tp, known in list(self._behind.items()):
            end = self._behind[tp] = self.highwater(tp) if known is None else known
            worked_off = all(message.acked for message in self._handed_out[tp])
            if end is not None and worked_off and (self._read_offset[tp] or 0) >= end:
                del self._behind[tp]
        return not self._behind or monotonic() > self._behind_since + _PATIENCE_S

    def unfinished(self) -> set[TopicPartition]:
        """Return the source partitions in which something is to be fetched, or to be done with.

        What lies behind the beginning of an open transaction cannot be fetched yet.
        """
        try:
            tps = [tp for tp in self.assignment() if tp.topic in self.transport.batched]
            return {TopicPartition(*tp) for tp in tps if self._handed_out.get(tp) or self._is_behind(tp)}
        except (ConsumerNotStarted, IllegalStateError):
            return set()

    def _is_behind(self, tp: TP) -> bool:
        thread: Any = self._thread
        state = thread._ensure_consumer()._subscription.subscription.assignment.state_value(TopicPartition(*tp))  # noqa: SLF001
        return not state.has_valid_position or state.lso is None or state.position < state.lso

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Forget what was handed out: its new owner starts from the committed offset."""
        await super().on_partitions_revoked(revoked)
        for tp in revoked:
            self._handed_out.pop(tp, None)


class BatchTransport(driver.Transport):
    """Faust's Kafka transport, handing over batches of the chosen topics."""

    Consumer: ClassVar[type[BatchConsumer]] = BatchConsumer

    def __init__(self, app: AppT, batched: Iterable[str], membership: Membership) -> None:
        super().__init__(app.conf.broker_consumer, app, loop=None)
        self.batched = frozenset(batched)
        self.membership = membership
        self.fetch_max_wait_ms = 500
        self.true_ends: TrueEnds | None = None

    def unfinished(self) -> set[TopicPartition]:
        """Return the partitions assigned to this worker in which something is to be fetched, or to be done with."""
        consumer = self.app.consumer
        return consumer.unfinished() if isinstance(consumer, BatchConsumer) and consumer.started else set()

    def adapt(self, *, fetch_max_wait_ms: int, true_ends: TrueEnds) -> None:
        """Adapt to a broker that wakes no waiting fetch and answers wrong ends of partitions."""
        self.fetch_max_wait_ms, self.true_ends = fetch_max_wait_ms, true_ends


class BatchSchema(Schema[Any, Any]):
    """No decoding: an event's value is the batch as it was fetched."""

    def compile(
        self,
        app: AppT,
        *,
        on_key_decode_error: Callable[..., Any] = noop,
        on_value_decode_error: Callable[..., Any] = noop,
        default_propagate: bool = False,
    ) -> Callable[..., Any]:
        """Return the decoder that Faust calls for each message."""

        async def decode(message: Message, *, propagate: bool = False) -> EventT[Any]:
            return Event(app, None, message.value, message.headers, message)

        return decode


def has_caught_up(consumer: ConsumerT) -> bool:
    """Tell whether a worker's consumer has worked off its backlog, see :meth:`BatchConsumer.has_caught_up`."""
    return isinstance(consumer, BatchConsumer) and consumer.has_caught_up()


def abandon(event: EventT[Any]) -> None:
    """Give up the batch of an event, see :meth:`BatchConsumer.abandon`."""
    consumer = event.app.consumer
    if isinstance(consumer, BatchConsumer):
        consumer.abandon(event.message)
