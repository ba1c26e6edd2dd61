"""The fold of `cases`: a batch of its records, applied to the rows they belong to by ``decide``.

Each row is read once and written once for a batch, whatever the batch holds for it. A record at or below a row's
``position`` was applied before the last crash and is skipped.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from contracts.catalogue import UnknownContractError
from streams.cases import Row, decode_row, encode_row
from streams.decide import CaseFull, Decision, WrongRow, decide
from streams.intake import Context, refused
from streams.messages import CaseMessage, MalformedMessage, Source, decode_case_message
from streams.outputs import Output
from streams.records import Record
from streams.requeued import RequeuedHeaderError, as_requeued, first_place


@dataclass(slots=True)
class Folded:
    """What a batch comes to: outputs in order, and each changed row's new value by its key, None where it goes."""

    outputs: list[Output] = field(default_factory=list)
    rows: dict[bytes, bytes | None] = field(default_factory=dict)
    dues: dict[bytes, int | None] = field(default_factory=dict)


@dataclass(slots=True)
class _Open:
    """A row that the batch has touched: the value it had, the messages applied since, what it is now."""

    before: bytes | None
    row: Row | None
    applied: list[tuple[CaseMessage, Source]] = field(default_factory=list)


def fold(records: Iterable[Record], read_row: Callable[[bytes], bytes | None], context: Context, now: int) -> Folded:
    """Apply a batch of `cases` records.

    Args:
        records: the records, of one partition, in order.
        read_row: returns a row's value by its key.
        context: contracts, connections, policy.
        now: the time, for refusals only; what a message does depends on the time within it.

    Returns:
        Outputs and changed rows. A record that cannot be applied is among the outputs as a refusal.
    """
    folded, rows = Folded(), dict[bytes, _Open]()
    for record in records:
        try:
            key, message = _read(record)
            opened = rows.get(key)
            if opened is None:
                before = read_row(key)
                opened = _Open(before, decode_row(before) if before is not None else None)
                rows[key] = opened
        except MalformedMessage as error:
            folded.outputs.append(refused(record, "decide", "malformed_message", str(error), now))
            continue
        except RequeuedHeaderError as error:
            folded.outputs.append(refused(record, "decide", error.class_, str(error), now))
            continue
        if opened.row is not None and record.offset <= opened.row.position:
            continue
        origin = Source(record.topic, record.partition, record.offset)
        try:
            decision = _decide(key, opened.row, message, origin, context)
        except Exception as error:  # noqa: BLE001 - decide is pure: what it raises, it raises again for this record
            opened.row = _undo(key, opened, context)
            folded.outputs.append(refused(record, "decide", *_why(error), now))
            continue
        opened.row = decision.row
        opened.applied.append((message, origin))
        if opened.row is not None:
            opened.row.position = record.offset
        folded.outputs.extend(decision.outputs)
    for key, opened in rows.items():
        if opened.applied:
            folded.rows[key] = encode_row(opened.row) if opened.row is not None else None
            folded.dues[key] = opened.row.due_ms if opened.row is not None else None
    return folded


def _read(record: Record) -> tuple[bytes, CaseMessage]:
    if record.key is None:
        raise MalformedMessage("the record has no key")
    try:
        record.key.decode()
    except UnicodeDecodeError:
        raise MalformedMessage("the record's key is no text") from None
    message = decode_case_message(record.value)
    return record.key, message if first_place(record.topic, record.headers) is None else as_requeued(message)


def _decide(key: bytes, row: Row | None, message: CaseMessage, origin: Source, context: Context) -> Decision:
    return decide(key.decode(), row, message, origin, context.catalogue, context.policy)


def _undo(key: bytes, opened: _Open, context: Context) -> Row | None:
    """Build the row again as it was before the message that failed: from its value and the messages before it."""
    row = decode_row(opened.before) if opened.before is not None else None
    for message, origin in opened.applied:
        row = _decide(key, row, message, origin, context).row
        if row is not None:
            row.position = origin.offset
    return row


def _why(error: Exception) -> tuple[str, str]:
    if isinstance(error, UnknownContractError):
        return "unknown_contract", str(error)
    if isinstance(error, WrongRow):
        return "wrong_row", str(error)
    if isinstance(error, CaseFull):
        return "case_full", str(error)
    return "internal_error", f"{type(error).__name__}: {error}"
