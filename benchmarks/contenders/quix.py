"""The pure functions under Quix Streams, with its RocksDB state and its checkpoints."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from quixstreams import Application, message_context
from quixstreams.models import SerializationContext, Serializer
from quixstreams.models.topics import Topic
from quixstreams.state.recovery import RecoveryManager

from benchmarks.contenders.status import say
from streams.clock import clock_ms
from streams.fold import fold
from streams.intake import Take, take_all, take_delivery, take_operation
from streams.memory import spare_collections
from streams.publish import to_records
from streams.records import OutRecord
from streams.settings import Settings
from streams.transport.topics import CASES, OPERATIONS, READBACKS, REVIEWS, VERDICTS, WEBHOOKS
from streams.worker import load_context

_ROW = "row"
Headers = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class RowRecord:
    """A Quix row as the pure functions take records."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class ValueOf(Serializer):
    """Takes the bytes of a record that is to be produced."""

    def __call__(self, value: OutRecord, ctx: SerializationContext) -> Any:
        """Return the value's bytes."""
        del ctx
        return value.value


def record_of(value: bytes | None, key: bytes | None, timestamp: int, headers: Any) -> RowRecord:
    """Return the record that is being processed."""
    context = message_context()
    return RowRecord(context.topic, context.partition, context.offset, timestamp, key, value, headers or ())


def create_app(settings: Settings) -> Application:
    """Build the application with its three dataframes."""
    context = load_context(settings)
    app = Application(
        broker_address=settings.bootstrap_servers,
        consumer_group=settings.app_id,
        auto_offset_reset="earliest",
        state_dir=settings.data_dir / "state",
        loglevel="WARNING",
        auto_create_topics=True,
        # Kafka's own partitioner, as for everybody; no linger beyond a batch under way.
        producer_extra_config={"acks": "all", "partitioner": "murmur2_random", "linger.ms": 5},
    )
    topics = {
        name: app.topic(
            settings.topic(name), value_deserializer="bytes", key_deserializer="bytes", value_serializer=ValueOf()
        )
        for name in (OPERATIONS, WEBHOOKS, CASES, READBACKS, VERDICTS, REVIEWS)
    }

    def topic_of(record: OutRecord, key: Any, timestamp: int, headers: Any) -> Topic:
        del key, timestamp, headers
        return topics[record.topic]

    def publish(frame: Any) -> None:
        frame.set_headers(lambda record, _key, _timestamp, _headers: list(record.headers)).to_topic(
            topic_of, key=lambda record: record.key
        )

    def taking_in(take: Take) -> Callable[[Any, Any, int, Any], list[OutRecord]]:
        def taken_in(value: Any, key: Any, timestamp: int, headers: Any) -> list[OutRecord]:
            return to_records(take_all(take, [record_of(value, key, timestamp, headers)], context, clock_ms()))

        return taken_in

    def decide(value: Any, key: Any, timestamp: int, headers: Any, state: Any) -> list[OutRecord]:
        record = record_of(value, key, timestamp, headers)
        folded = fold([record], lambda _: state.get_bytes(_ROW), context, clock_ms())
        for row in folded.rows.values():
            if row is None:
                state.delete(_ROW)
            else:
                state.set_bytes(_ROW, row)
        return to_records(folded.outputs)

    publish(app.dataframe(topics[OPERATIONS]).apply(taking_in(take_operation), expand=True, metadata=True))
    publish(app.dataframe(topics[WEBHOOKS]).apply(taking_in(take_delivery), expand=True, metadata=True))
    publish(app.dataframe(topics[CASES]).apply(decide, stateful=True, expand=True, metadata=True))
    return app


def watch_recovery() -> None:
    """Have Quix say when it recovers its state, and when it is done."""
    recover = RecoveryManager.do_recovery

    def observed(manager: RecoveryManager) -> None:
        say("recovering")
        recover(manager)  # type: ignore[no-untyped-call]
        say("ready")

    RecoveryManager.do_recovery = observed  # type: ignore[method-assign]


if __name__ == "__main__":
    built = create_app(Settings())
    watch_recovery()
    spare_collections()
    built.run()
