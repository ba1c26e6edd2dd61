"""Intake: what producers and gateways publish, checked and put into normal form.

Nothing is lost: a record either goes on to its case, or is refused with a word and a sentence that name the field,
the record and the rule.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contracts.catalogue import Catalogue, UnknownContractError
from contracts.inputs import MAX_TEXT_CHARACTERS, InputError, normalise_input
from contracts.instants import parse_instant, to_rfc3339
from contracts.model import Contract
from contracts.paths import MISSING, parse_path, resolve
from streams.cases import case_key, registration_key
from streams.messages import Events, Intent, Submission, describe
from streams.outputs import Ignored, Output, Refused, Stage, ToCase
from streams.policy import Policy
from streams.records import Record
from streams.registration import pack_record
from streams.requeued import REQUEUED_HEADER, RequeuedHeaderError, source_of
from verifiers.certificates import Certificates
from verifiers.connection import Connection
from verifiers.connections import Connections
from verifiers.events import Delivery, DeliveryError, Event
from verifiers.providers import provider_of

CONNECTION_HEADER = "connection_id"
ARRIVED_HEADER = "arrived_at"
_OWN_HEADERS = frozenset((CONNECTION_HEADER, ARRIVED_HEADER))
MAX_OPERATION_BYTES = 256 * 1024
Take = Callable[["Record", "Context", int], list[Output]]
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Context:
    """What the stages know beside the record at hand.

    Of ``certificates`` they read what is known; to obtain some is for whoever calls them.
    """

    catalogue: Catalogue
    connections: Connections
    policy: Policy
    certificates: Certificates = field(default_factory=Certificates)


class _Refusal(Exception):
    """A record that cannot be taken in."""

    def __init__(self, class_: str, reason: str) -> None:
        super().__init__(reason)
        self.class_ = class_


class PublishedAction(BaseModel):
    """What the action came to: its result, or its error."""

    model_config = ConfigDict(extra="ignore", strict=True)

    result: Any = None
    error: Any = None


class PublishedOperation(BaseModel):
    """A value of the topic `operations`."""

    model_config = ConfigDict(extra="ignore", strict=True)

    operation_id: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
    contract: str
    contract_version: str | None = None
    connection: str
    created_at: str
    input: dict[str, Any]
    action: PublishedAction | None = None


def refused(record: Record, stage: Stage, class_: str, reason: str, now: int) -> Refused:
    """Refuse the record at hand, with all its bytes."""
    return Refused(
        class_,
        reason,
        record.key,
        record.value,
        tuple(record.headers),
        record.topic,
        record.partition,
        record.offset,
        stage,
        now,
        record.timestamp,
    )


def take_all(take: Take, records: Iterable[Record], context: Context, now: int) -> list[Output]:
    """Take in a batch with :func:`take_operation` or :func:`take_delivery`.

    Whatever a record makes them raise costs that record only: taking in is pure, so it would raise it again.
    """
    outputs: list[Output] = []
    for record in records:
        try:
            outputs += take(record, context, now)
        except Exception as error:  # noqa: BLE001 - see above
            outputs.append(refused(record, "intake", "internal_error", f"{type(error).__name__}: {error}", now))
    return outputs


def take_operation(record: Record, context: Context, now: int) -> list[Output]:
    """Take in a record of `operations`.

    Args:
        record: the record; its topic without the prefix.
        context: contracts, connections, policy.
        now: the time, in milliseconds.

    Returns:
        The operation for its registration, or its refusal.
    """
    try:
        return [_submission(record, context, now)]
    except (_Refusal, RequeuedHeaderError) as refusal:
        return [refused(record, "intake", refusal.class_, str(refusal), now)]


def _submission(record: Record, context: Context, now: int) -> ToCase:
    if (size := _size(record)) > MAX_OPERATION_BYTES:
        raise _Refusal("too_large", f"the operation has {size} bytes, more than {MAX_OPERATION_BYTES} are not taken")
    published = _parse_operation(record.value)
    about = f"operation {published.operation_id}"
    contract = _contract(published, context.catalogue, about)
    connection = context.connections.get(published.connection)
    if connection is None:
        raise _Refusal("unknown_connection", f"{about}: connection: there is no connection {published.connection!r}")
    if connection.provider != contract.provider:
        raise _Refusal(
            "wrong_provider",
            f"{about}: connection: {connection.id!r} is of {connection.provider}, {contract.id} is about"
            f" {contract.provider}",
        )
    created_ms = _created_ms(published, context.policy, now, about)
    try:
        inputs = normalise_input(contract, published.input)
    except InputError as error:
        raise _Refusal(error.class_, f"{about}: {error}") from None
    subject = contract.readings.case_key
    member = str(parse_path(subject.operation)[1][0])
    return ToCase(
        registration_key(published.operation_id),
        Submission(
            at=now,
            source=source_of(record),
            operation_id=published.operation_id,
            intent=Intent(contract.id, contract.version, connection.id, published.created_at, created_ms, inputs),
            version_given=published.contract_version is not None,
            action=_action(context.catalogue.versions(contract.id), published.action, about),
            case_key=case_key(connection.id, subject.name, inputs[member]),
            original=pack_record(record.key, record.value, tuple(record.headers)),
        ),
    )


def _size(record: Record) -> int:
    # What was put back has a header more than what was published.
    headers = sum(len(name) + len(value or b"") for name, value in record.headers if name != REQUEUED_HEADER)
    return len(record.key or b"") + len(record.value or b"") + headers


def _parse_operation(value: bytes | None) -> PublishedOperation:
    if value is None:
        raise _Refusal("malformed_operation", "the record has no value")
    try:
        document = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise _Refusal("malformed_operation", f"the value is not JSON: {error}") from None
    try:
        return PublishedOperation.model_validate(document)
    except ValidationError as error:
        operation_id = document.get("operation_id") if isinstance(document, Mapping) else None
        about = f"operation {operation_id}: " if isinstance(operation_id, str) else ""
        raise _Refusal("malformed_operation", about + describe(error)) from None


def _contract(published: PublishedOperation, catalogue: Catalogue, about: str) -> Contract:
    try:
        return catalogue.get(published.contract, published.contract_version)
    except UnknownContractError as error:
        known = any(one.id == published.contract for one in catalogue.contracts)
        class_, field = ("unknown_version", "contract_version") if known else ("unknown_contract", "contract")
        raise _Refusal(class_, f"{about}: {field}: {error}") from None


def _created_ms(published: PublishedOperation, policy: Policy, now: int, about: str) -> int:
    try:
        created_ms = parse_instant(published.created_at).start_ms
    except ValueError as error:
        raise _Refusal("impossible_date", f"{about}: created_at: {error}") from None
    if created_ms < 0:
        raise _Refusal("impossible_date", f"{about}: created_at: {published.created_at} lies before 1970")
    if created_ms > now + policy.future_ms:
        raise _Refusal(
            "impossible_date",
            f"{about}: created_at: {published.created_at} lies in the future; it is {to_rfc3339(now)} now",
        )
    return created_ms


def _action(versions: Iterable[Contract], action: PublishedAction | None, about: str) -> dict[str, Any]:
    """Keep of an action what any version of the contract reads: the operation may be registered under an older one.

    Path → text, whole number or bool; a float would not be exact.
    """
    if action is None:
        return {}
    document = {"result": action.result, "error": action.error}
    paths = {path for contract in versions for path in contract.action_paths}
    values = {path: resolve(document, parse_path(path)[1]) for path in sorted(paths)}
    kept = {path: value for path, value in values.items() if value is not MISSING and isinstance(value, str | int)}
    for path, value in kept.items():
        if isinstance(value, str) and len(value) > MAX_TEXT_CHARACTERS:
            raise _Refusal(
                "malformed_operation",
                f"{about}: {path} has {len(value)} characters; more than {MAX_TEXT_CHARACTERS} are no identifier",
            )
    return kept


def take_delivery(record: Record, context: Context, now: int) -> list[Output]:
    """Take in a record of `webhooks`: authenticate, put into normal form, find the cases.

    Args:
        record: the record; its value is the raw body, its headers are the HTTP headers under their own names, the
            connection's id under ``connection_id`` and the arrival time under ``arrived_at``.
        context: contracts, connections, policy, and the certificates that :func:`certificates_for` names.
        now: the time, in milliseconds.

    Returns:
        The delivery's events for each case that they concern; or its refusal; or that no contract listens to it.
    """
    try:
        return _events(record, context, now)
    except (_Refusal, DeliveryError, RequeuedHeaderError) as refusal:
        return [refused(record, "intake", refusal.class_, str(refusal), now)]


def certificates_for(records: Iterable[Record], context: Context, now: int) -> list[str]:
    """Return the addresses of the certificates that :func:`take_delivery` needs for these records, to be fetched first.

    A record that cannot be taken in needs none.
    """
    needing = {name.encode() for name, connection in context.connections.items() if connection.needs_certificates}
    if not needing:
        return []
    addresses: dict[str, None] = {}
    for record in records:
        if not any(value in needing and name.lower() == CONNECTION_HEADER for name, value in record.headers):
            continue
        with suppress(_Refusal):
            connection, delivery = _delivery(record, context, now)
            if (address := provider_of(connection).certificate_of(delivery, connection)) is not None:
                addresses[address] = None
    return list(addresses)


def _events(record: Record, context: Context, now: int) -> list[Output]:
    connection, delivery = _delivery(record, context, now)
    provider = provider_of(connection)
    provider.authenticate(delivery, connection, context.certificates.known)
    document = _parse_body(delivery.body)
    event_type = provider.event_type(delivery, document)
    listening = context.catalogue.listening_to(provider.name).get(event_type, ())
    if not listening or event_type not in provider.carried:
        return [Ignored(event_type)]
    cases: dict[str, list[Event]] = {}
    for event in provider.normalise(delivery, document):
        keys = {
            case_key(connection.id, contract.readings.case_key.name, subject)
            for contract in listening
            if (subject := event.identifiers.get(contract.readings.case_key.name)) is not None
        }
        if not keys:
            wanted = sorted({contract.readings.case_key.name for contract in listening})
            raise _Refusal(
                "no_subject",
                f"the event {event.id} about {event.resource_id} names no {' and no '.join(wanted)}, so it cannot be"
                " counted for any case",
            )
        for key in sorted(keys):
            cases.setdefault(key, []).append(event)
    if not cases:
        return [Ignored(event_type)]
    source = source_of(record)
    return [ToCase(key, Events(now, source, delivery.arrived_ms, events)) for key, events in cases.items()]


def _delivery(record: Record, context: Context, now: int) -> tuple[Connection, Delivery]:
    """Read a record as the delivery that it is, and find its connection.

    Raises:
        _Refusal: it is none.
    """
    headers = _headers(record)
    name = headers.get(CONNECTION_HEADER)
    connection = context.connections.get(name) if name is not None else None
    if connection is None:
        raise _Refusal(
            "unknown_connection",
            f"there is no connection {name!r}" if name is not None else "the Kafka header `connection_id` is missing",
        )
    if record.value is None:
        raise _Refusal("not_json", "the record has no value")
    arrived_ms = _arrived_ms(headers.get(ARRIVED_HEADER), record, now)
    return connection, Delivery(connection.id, headers, record.value, arrived_ms)


def _parse_body(body: bytes) -> Mapping[str, Any]:
    try:
        document = orjson.loads(body.removeprefix(_BYTE_ORDER_MARK))
    except orjson.JSONDecodeError as error:
        raise _Refusal("not_json", f"the body is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise _Refusal("not_json", "the body is JSON, but no object")
    return document


def _headers(record: Record) -> dict[str, str]:
    """Return a delivery's headers, the gateway's own and those of HTTP, names in lower case.

    HTTP headers are bytes without a declared encoding; latin-1 keeps each of them (RFC 9110, section 5.5).
    """
    headers: dict[str, str] = {}
    own: set[str] = set()
    for given, value in record.headers:
        name = given.lower()
        if name not in _OWN_HEADERS:
            if value is not None:
                headers[name] = value.decode("latin-1")
            continue
        if name in own:
            raise _Refusal(
                "ambiguous_header",
                f"there are several Kafka headers `{name}`: the gateway's own, and what a sender may have slipped in",
            )
        own.add(name)
        if value is not None:
            with suppress(UnicodeDecodeError):
                headers[name] = value.decode()
    return headers


def _arrived_ms(text: str | None, record: Record, now: int) -> int:
    """Return when the delivery reached the gateway: its header, else the record's own time; never after now."""
    if text is None:
        arrived = record.timestamp if record.timestamp > 0 else now
    else:
        try:
            arrived = parse_instant(text).start_ms
        except ValueError as error:
            raise _Refusal("impossible_date", f"the Kafka header `{ARRIVED_HEADER}`: {error}") from None
    if arrived < 0:
        raise _Refusal("impossible_date", f"the Kafka header `{ARRIVED_HEADER}`: {text} lies before 1970")
    return min(arrived, now)
