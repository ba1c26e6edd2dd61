"""The registration of an operation: one id means one thing, for ever.

An operation published again with more (its action's result) is merged and passed on to its case, and so is one that is
published again as it was: the case may have refused it the first time, and to take it twice does no harm. With another
intent, or another result than the one known, it is refused and the first stands.
"""

import base64
from collections.abc import Callable

from contracts.model import Contract
from streams.cases import Registration, Row, seen_before
from streams.messages import Intent, OriginalRecord, Source, Start, Submission
from streams.outputs import Output, Refused, ToCase
from streams.policy import Policy

ContractOf = Callable[[Intent], Contract]


def register(
    row: Row | None, message: Submission, origin: Source, contract_of: ContractOf, policy: Policy
) -> tuple[Registration | None, list[Output]]:
    """Apply a published operation to its registration.

    Args:
        row: the registration, None where there is none yet.
        message: the operation.
        origin: where in `cases` the message lies; the case tells a repeated hand-over by it.
        contract_of: finds the contract that an intent names.
        policy: how long things are kept.

    Returns:
        The registration, and what to publish: the operation for its case, or its refusal.
    """
    if row is None:
        deadline = message.intent.created_ms + contract_of(message.intent).timing.timeout_ms
        if message.at >= policy.too_late_ms(deadline):
            return None, [_refuse(message, "too_late", _too_late_sentence(message))]
        row = Registration(
            due_ms=policy.forget_ms(deadline),
            intent=message.intent,
            action=dict(message.action),
            case_key=message.case_key,
        )
        seen_before(row, message.source)
        return row, [_hand_over(row, message, origin)]
    assert isinstance(row, Registration)  # noqa: S101 - the key says so
    if seen_before(row, message.source):
        return row, []
    if (refusal := _refusal(row, message)) is not None:
        if message.source.requeued:  # whoever puts it back once more is to see it refused once more
            del row.sources[message.source.stream]
        return row, [refusal]
    row.action = {**row.action, **message.action}
    return row, [_hand_over(row, message, origin)]


def _hand_over(row: Registration, message: Submission, origin: Source) -> Output:
    start = Start(message.at, origin, message.operation_id, row.intent, dict(row.action))
    return ToCase(row.case_key, start)


def _refusal(row: Registration, message: Submission) -> Refused | None:
    """Refuse an operation that is not what it was registered as."""
    if (changed := _changed(row.intent, message)) is not None:
        return _refuse(message, "intent_changed", changed)
    for path, value in message.action.items():
        if path in row.action and row.action[path] != value:
            sentence = f"{path} was {row.action[path]!r} when the operation was first published, and is {value!r} now"
            return _refuse(message, "action_changed", sentence)
    return None


def _changed(known: Intent, message: Submission) -> str | None:
    """Name the first part of an intent that differs, or None.

    ``created_at`` is compared as an instant. A version that was not asked for is the newest by chance: the one that the
    operation was registered under stands.
    """
    given = message.intent
    compared = {
        "contract": (known.contract, given.contract),
        "connection": (known.connection, given.connection),
        "created_at": (known.created_ms, given.created_ms),
        "input": (known.input, given.input),
        "contract_version": (known.version, given.version if message.version_given else known.version),
    }
    for name, (before, now) in compared.items():
        if before != now:
            return f"{name} was {before!r} when the operation was first published, and is {now!r} now"
    return None


def _too_late_sentence(message: Submission) -> str:
    return (
        f"the operation started at {message.intent.created_at}, and its observation ended so long ago that it may"
        " have been judged and forgotten: judging it again could contradict the verdict it got"
    )


def _refuse(message: Submission, class_: str, sentence: str) -> Refused:
    original = message.original
    return Refused(
        class_,
        f"operation {message.operation_id}: {sentence}",
        unpack_bytes(original.key),
        unpack_bytes(original.value),
        tuple((name, unpack_bytes(value)) for name, value in original.headers),
        message.source.topic,
        message.source.partition,
        message.source.offset,
        "decide",
        message.at,
    )


def pack_bytes(value: bytes | None) -> str | None:
    """Write bytes as base64."""
    return None if value is None else base64.b64encode(value).decode()


def unpack_bytes(text: str | None) -> bytes | None:
    """Undo :func:`pack_bytes`."""
    return None if text is None else base64.b64decode(text)


def pack_record(
    key: bytes | None, value: bytes | None, headers: tuple[tuple[str, bytes | None], ...]
) -> OriginalRecord:
    """Keep a record as it was published, for the case that it is refused later."""
    return OriginalRecord(pack_bytes(key), pack_bytes(value), [(name, pack_bytes(one)) for name, one in headers])
