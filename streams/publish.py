"""Outputs as Kafka records: JSON values under CloudEvents headers (Kafka protocol binding 1.0, binary mode)."""

from collections.abc import Iterable
from typing import Any

import orjson

from contracts.instants import to_rfc3339
from streams.messages import CaseMessage, ReadAnswered, Tick, encode
from streams.outputs import Forgotten, Ignored, Output, Refused, Review, ToCase, ToReadback, Verdict
from streams.records import Headers, OutRecord
from streams.transport.topics import CASES, DEAD_LETTERS, MAX_DEAD_LETTER_BYTES, READBACKS, REVIEWS, VERDICTS

_SOURCE = b"/proofstream"
_REASON_CHARACTERS = 500
_CUT_BYTES = 64 * 1024


def to_record(output: Output) -> OutRecord | None:
    """Turn an output into the record to produce, or None for one that is only counted."""
    match output:
        case ToCase(key, message):
            return OutRecord(CASES, key.encode(), encode(message), _case_headers(key, message))
        case ToReadback(request):
            identity = f"{request.operation_id}/{request.channel}/{request.attempt}"
            headers = cloud_event("read.requested", identity, request.asked_ms)
            return OutRecord(READBACKS, request.connection.encode(), encode(request), headers)
        case Verdict(operation_id, verdict_id, at, record):
            return _json(VERDICTS, operation_id, record, cloud_event("verdict.reached", verdict_id, at))
        case Review(operation_id, identity, at, record):
            return _json(REVIEWS, operation_id, record, cloud_event("review.wanted", identity, at))
        case Refused():
            return _dead_letter(output)
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


def _case_headers(key: str, message: CaseMessage) -> Headers:
    match message:
        case ReadAnswered():
            origin = f"{message.operation_id}/{message.channel}/{message.attempt}/{message.at}"
        case Tick():
            origin = str(message.at)
        case _:
            origin = f"{message.source.stream}/{message.source.offset}"
    return cloud_event(f"case.{message.kind}", f"{key}/{message.kind}/{origin}", message.at)


def _json(topic: str, key: str, record: dict[str, Any], headers: Headers) -> OutRecord:
    return OutRecord(topic, key.encode(), orjson.dumps(record), headers)


def _dead_letter(refused: Refused) -> OutRecord:
    """Keep a refused record whole.

    One that would not fit any more is cut, and says so: the whole still lies in its source topic, whose place is named.
    """
    headers = (*refused.headers, *_refusal(refused))
    size = len(refused.key or b"") + len(refused.value or b"")
    size += sum(len(name) + len(value or b"") for name, value in headers)
    if size <= MAX_DEAD_LETTER_BYTES:
        return OutRecord(DEAD_LETTERS, refused.key, refused.value, headers)
    cut = (("dead_letter_cut", f"the record had {size} bytes".encode()), *_refusal(refused))
    return OutRecord(DEAD_LETTERS, None, (refused.value or b"")[:_CUT_BYTES], cut)


def _refusal(refused: Refused) -> Headers:
    """Say why a record was refused, in headers behind its own, so that its value stays as it came."""
    timestamp = () if refused.timestamp is None else (("dead_letter_timestamp", str(refused.timestamp).encode()),)
    return (
        ("dead_letter_stage", refused.stage.encode()),
        ("dead_letter_class", refused.class_.encode()),
        ("dead_letter_reason", refused.reason[:_REASON_CHARACTERS].encode(errors="replace")),
        ("dead_letter_topic", refused.topic.encode()),
        ("dead_letter_partition", str(refused.partition).encode()),
        ("dead_letter_offset", str(refused.offset).encode()),
        *timestamp,
        ("dead_letter_at", to_rfc3339(refused.at).encode()),
    )
