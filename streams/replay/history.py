"""Histories: JSON lines that say what was published, what the provider would answer, and which verdicts are right."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, TypeAdapter, ValidationError, model_validator

from contracts.instants import parse_instant
from streams.messages import describe
from verifiers.connection import INLINE_SECRETS, Connection
from verifiers.connections import ConnectionsError, carried_by, parse_connection


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Webhook(_Line):
    """One delivery, its body exactly as sent. A header that begins with ``_`` is test data, and no header."""

    connection: str
    headers: dict[str, str]
    body: str | None = None
    body_base64: str | None = None

    @model_validator(mode="after")
    def _one_body(self) -> "Webhook":
        if (self.body is None) == (self.body_base64 is None):
            raise ValueError("give either `body` or `body_base64`")
        self.raw  # noqa: B018 - raises where the base64 is none
        return self

    @property
    def raw(self) -> bytes:
        """The body's bytes."""
        if self.body is not None:
            return self.body.encode()
        try:
            return base64.b64decode(self.body_base64 or "", validate=True)
        except binascii.Error as error:
            raise ValueError(f"body_base64: {error}") from None


class ScriptedAnswer(_Line):
    """What the provider answers: ``body`` is written as JSON, ``text`` as it is."""

    status: int
    headers: dict[str, str] = {}
    body: Any = None
    text: str | None = None

    @property
    def raw(self) -> bytes:
        """The body's bytes."""
        return self.text.encode() if self.text is not None else json.dumps(self.body).encode()


class ProviderScript(_Line):
    """From this instant, every read of that channel (of that operation) gets this answer (so many times)."""

    connection: str
    channel: str
    answer: ScriptedAnswer
    operation_id: str | None = None
    times: PositiveInt | None = None


class ExpectedVerdict(_Line):
    """One verdict record that is right, and when it may fall."""

    verdict: Literal["VERIFIED", "CONTRADICTED", "FAILED", "UNVERIFIABLE"]
    rule: str | None = None
    reason: str | None = None
    not_before: str | None = None
    not_after: str | None = None

    @model_validator(mode="after")
    def _instants(self) -> "ExpectedVerdict":
        for text in (self.not_before, self.not_after):
            if text is not None:
                parse_instant(text)
        return self


class Expectation(_Line):
    """What must have come out in the end."""

    operation_id: str | None = None
    verdicts: tuple[ExpectedVerdict, ...] | None = None
    observed: dict[str, Any] = {}
    dead_letters: Annotated[int, Field(ge=0)] | None = None
    rejected_webhooks: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _whole(self) -> "Expectation":
        if (self.verdicts is not None or self.observed) and self.operation_id is None:
            raise ValueError("`verdicts` and `observed` need an `operation_id`")
        if self.verdicts is None and not self.observed and self.dead_letters is None and self.rejected_webhooks is None:
            raise ValueError("expects nothing")
        return self


Act = Webhook | ProviderScript | Mapping[str, Any] | Literal["restart"]


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens at an instant (milliseconds since the epoch)."""

    at_ms: int
    act: Act
    line: int


@dataclass(frozen=True, slots=True)
class Expected:
    """An expectation, and the line that states it."""

    expectation: Expectation
    line: int


@dataclass(frozen=True, slots=True)
class History:
    """A whole history: accounts, steps in order of time, expectations."""

    path: Path
    connections: Mapping[str, Connection]
    steps: tuple[Step, ...]
    expected: tuple[Expected, ...]


class HistoryError(ValueError):
    """A history's file is malformed; the message names file, line and field."""


_KINDS = ("connection", "operation", "webhook", "provider", "restart", "expect")
_WEBHOOK = TypeAdapter(Webhook)
_PROVIDER = TypeAdapter(ProviderScript)
_EXPECTATION = TypeAdapter(Expectation)


def load_history(path: Path) -> History:
    """Read a history.

    Returns:
        The history; steps of one instant stay in the order of the file.

    Raises:
        HistoryError: the file cannot be read, or a line is malformed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HistoryError(f"{path}: cannot be read: {error}") from None
    connections: dict[str, Connection] = {}
    steps: list[Step] = []
    expected: list[Expected] = []
    # Split at line feeds only: a JSON text may hold U+2028 and other separators that splitlines() would cut at.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            _read_line(line, number, connections, steps, expected)
        except ValidationError as error:
            raise HistoryError(f"{path}:{number}: {describe(error)}") from None
        except RecursionError:
            raise HistoryError(f"{path}:{number}: nests too deeply") from None
        except (ValueError, ConnectionsError) as error:
            raise HistoryError(f"{path}:{number}: {error}") from None
    _check_references(path, connections, steps)
    try:
        carried_by(connections.values())
    except ConnectionsError as error:
        raise HistoryError(f"{path}: {error}") from None
    if not expected:
        raise HistoryError(f"{path}: expects nothing: there is no `expect` line")
    steps.sort(key=lambda step: step.at_ms)
    return History(path, connections, tuple(steps), tuple(expected))


def _read_line(
    line: str, number: int, connections: dict[str, Connection], steps: list[Step], expected: list[Expected]
) -> None:
    document = json.loads(line)
    if not isinstance(document, dict):
        raise ValueError("a line is a JSON object")  # noqa: TRY004 - one kind of error for a malformed line
    found = [kind for kind in _KINDS if kind in document]
    if len(found) != 1 or document.keys() - {"at", *found}:
        unknown = ", ".join(sorted(document.keys() - {"at", *_KINDS}))
        raise ValueError(f"unknown member: {unknown}" if unknown else f"a line has exactly one of {', '.join(_KINDS)}")
    kind = found[0]
    content = document[kind]
    if kind == "connection":
        if isinstance(content, dict):  # nothing is sent anywhere, so the address is of no matter
            content = {"base_url": "https://provider.invalid"} | content
        connection = parse_connection(content, "connection", INLINE_SECRETS)
        if connection.id in connections:
            raise ValueError(f"connection.id: there is another connection {connection.id!r}")
        connections[connection.id] = connection
    elif kind == "expect":
        expected.append(Expected(_EXPECTATION.validate_json(json.dumps(content)), number))
    else:
        steps.append(Step(_at(document), _act(kind, content), number))


def _at(document: Mapping[str, Any]) -> int:
    at = document.get("at")
    if not isinstance(at, str):
        raise ValueError("at: an RFC 3339 date-time is missing")  # noqa: TRY004 - as above
    try:
        return parse_instant(at).start_ms
    except ValueError as error:
        raise ValueError(f"at: {error}") from None


def _act(kind: str, content: Any) -> Act:
    if kind == "webhook":
        return _WEBHOOK.validate_python(content)
    if kind == "provider":
        return _PROVIDER.validate_python(content)
    if kind == "restart":
        if content is not True:
            raise ValueError("restart: must be true")
        return "restart"
    if not isinstance(content, dict):
        raise ValueError("operation: must be an object")  # noqa: TRY004 - as above
    return content


def _check_references(path: Path, connections: Mapping[str, Connection], steps: list[Step]) -> None:
    for step in steps:
        if isinstance(step.act, ProviderScript) and step.act.connection not in connections:
            raise HistoryError(f"{path}:{step.line}: connection: there is no connection {step.act.connection!r}")
