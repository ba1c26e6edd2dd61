"""Outputs as Kafka records: JSON values under CloudEvents headers (Kafka protocol binding 1.0, binary mode)."""

from collections.abc import Iterable
from typing import Any

import orjson

from contracts.instants import to_rfc3339
from streams.messages import CaseMessage, Source, encode
from streams.outputs import Forgotten, Ignored, Output, Refused, Review, ToCase, ToReadback, Verdict
from streams.records import Headers, OutRecord
from streams.topics import CASES, DEAD_LETTERS, READBACKS, REVIEWS, VERDICTS

_SOURCE = b"/proofstream"


def to_record(output: Output) -> OutRecord | None:
    """Turn an output into the record to produce, or None for one that is only counted."""
    match output:
        case ToCase(key, message):
            return OutRecord(CASES, key.encode(), encode(message), _case_headers(message))
        case ToReadback(request):
            identity = f"{request.operation_id}/{request.channel}/{request.attempt}"
            headers = cloud_event("read.requested", identity, request.asked_ms)
            return OutRecord(READBACKS, request.connection.encode(), encode(request), headers)
        case Verdict(operation_id, verdict_id, at, record):
            return _json(VERDICTS, operation_id, record, cloud_event("verdict.reached", verdict_id, at))
        case Review(operation_id, verdict_id, at, record):
            return _json(REVIEWS, operation_id, record, cloud_event("review.wanted", verdict_id, at))
        case Refused():
            return OutRecord(DEAD_LETTERS, output.key, output.value, (*output.headers, *_refusal(output)))
        case Ignored() | Forgotten():
            return None


def to_records(outputs: Iterable[Output]) -> list[OutRecord]:
    """Turn outputs into the records to produce, in order."""
    return [record for output in outputs if (record := to_record(output)) is not None]


def cloud_event(type_: str, identity: str, at: int) -> Headers:
    """Write the CloudEvents attributes of a message as Kafka headers."""
    return (
        ("content-type", b"application/json"),
        ("ce_specversion", b"1.0"),
        ("ce_type", f"proofstream.{type_}".encode()),
        ("ce_source", _SOURCE),
        ("ce_id", identity.encode()),
        ("ce_time", to_rfc3339(at).encode()),
    )


def _case_headers(message: CaseMessage) -> Headers:
    source: Source | None = getattr(message, "source", None)
    identity = f"{source.stream}/{source.offset}" if source is not None else f"{message.kind}/{message.at}"
    return cloud_event(f"case.{message.kind}", identity, message.at)


def _json(topic: str, key: str, record: dict[str, Any], headers: Headers) -> OutRecord:
    return OutRecord(topic, key.encode(), orjson.dumps(record), headers)


def _refusal(refused: Refused) -> Headers:
    """Say why a record was refused, in headers beside its own, so that its value stays as it came."""
    return (
        ("dead_letter_stage", refused.stage.encode()),
        ("dead_letter_class", refused.class_.encode()),
        ("dead_letter_reason", refused.reason.encode(errors="replace")),
        ("dead_letter_topic", refused.topic.encode()),
        ("dead_letter_partition", str(refused.partition).encode()),
        ("dead_letter_offset", str(refused.offset).encode()),
        ("dead_letter_at", to_rfc3339(refused.at).encode()),
    )
