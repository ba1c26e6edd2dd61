"""The connections' file: every configured account, in one YAML file.

A secret is named there by its environment variable (``{env: NAME}``) and never written out; a history, which holds test
secrets only, may write it out.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from contracts.catalogue import CarriedBy
from verifiers.connection import Connection
from verifiers.declared import DeclaredConnection, EventDeclarations
from verifiers.providers import carried_identifiers, providers

Connections = Mapping[str, Connection]
# What a location names beside the file's own members: a model, where there are several, or a validator around it.
_PYDANTICS_OWN = re.compile(r"(?:[A-Z][A-Za-z]*(?:Secrets|Signatures|Credentials|Scheme)$|function-)")


class ConnectionsError(ValueError):
    """The connections' configuration is wrong; the message names the file, the connection, the field and the rule."""


def parse_connection(document: Any, where: str, context: Mapping[str, Any] | None = None) -> Connection:
    """Validate one connection with its provider's model.

    Args:
        document: what was read from YAML or JSON.
        where: how to name the place in an error.
        context: ``INLINE_SECRETS`` where secrets may be written out.

    Raises:
        ConnectionsError: with every field that is wrong.
    """
    if not isinstance(document, Mapping):
        raise ConnectionsError(f"{where}: a connection is a mapping with id, provider, …")
    name = document.get("provider")
    provider = providers().get(name) if isinstance(name, str) else None
    if provider is None and not (isinstance(name, str) and "events" in document):
        raise ConnectionsError(
            f"{where}: provider: unknown provider {name!r}: there are {', '.join(providers())}; a connection with"
            " `events` declares another"
        )
    model = provider.connection if provider is not None else DeclaredConnection
    try:
        return model.model_validate(document, context=dict(context or {}))
    except ValidationError as error:
        raise ConnectionsError(f"{where}: {_problems(error, document)}") from None


def carried_by(connections: Iterable[Connection]) -> CarriedBy:
    """Return, for the catalogue, what says which events are carried, by the files here or by these connections.

    Raises:
        ConnectionsError: two connections declare different events of one provider. An operation of the one would then
            be judged by a contract that was checked against the events of the other.
    """
    first: dict[str, DeclaredConnection] = {}
    for one in connections:
        if not isinstance(one, DeclaredConnection):
            continue
        other = first.setdefault(one.provider, one)
        if other.events.carried != one.events.carried:
            raise ConnectionsError(
                f"connection {one.id}: events: these are not the events of {one.provider} that the connection"
                f" {other.id} declares: types and identifiers of one provider are the same for all its connections"
            )
    declared = {provider: one.events.carried for provider, one in first.items()}
    return lambda provider: carried_identifiers(provider) or declared.get(provider)


def _problems(error: ValidationError, document: Mapping[str, Any]) -> str:
    """Say what is wrong with a connection, field by field, without what only follows from it."""
    errors = error.errors(include_url=False, include_input=False, include_context=False)
    said = {}
    for one in errors:
        if str(one["loc"][-1:]).startswith('("literal') and isinstance(document.get(str(one["loc"][0])), Mapping):
            continue  # it is not the other thing that it might have been, either
        if one["type"] == "too_short" and any(other["loc"][:-1] == one["loc"] for other in errors):
            continue  # what was there was refused
        field = ".".join(str(part) for part in one["loc"] if not _PYDANTICS_OWN.match(str(part)))
        said[field or "connection"] = one["msg"].removeprefix("Value error, ")
    return "; ".join(f"{field}: {message}" for field, message in said.items())


def load_connections(path: Path) -> Connections:
    """Read the connections' file.

    Returns:
        Connection id → connection.

    Raises:
        ConnectionsError: the file cannot be read, a field is wrong, an id is there twice, credentials are missing, or
            connections of one declared provider differ in their events.
    """
    connections: dict[str, Connection] = {}
    for number, one in enumerate(_read(path), start=1):
        identity = one.get("id") if isinstance(one, Mapping) else None
        where = f"{path}: connection {identity or f'number {number}'}"
        connection = parse_connection(one, where)
        if connection.id in connections:
            raise ConnectionsError(f"{where}: id: there is another connection of this id")
        if getattr(connection, "credentials", None) is None:
            raise ConnectionsError(f"{where}: credentials: missing, so nothing could be read back")
        if connection.base_url is None and connection.default_base_url() is None:
            raise ConnectionsError(f"{where}: base_url: missing")
        connections[connection.id] = connection
    try:
        carried_by(connections.values())
    except ConnectionsError as error:
        raise ConnectionsError(f"{path}: {error}") from None
    return connections


def _read(path: Path) -> list[Any]:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConnectionsError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConnectionsError(f"{path}: cannot be read: it is no UTF-8 text") from None
    except yaml.MarkedYAMLError as error:  # its text quotes the file, where a secret may stand by mistake
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise ConnectionsError(f"{path}:{line}: no YAML: {error.problem}") from None
    except yaml.YAMLError:
        raise ConnectionsError(f"{path}: no YAML: it holds characters that YAML does not allow") from None
    listed = document.get("connections") if isinstance(document, Mapping) else None
    if not isinstance(listed, list) or set(document) != {"connections"}:
        raise ConnectionsError(f"{path}: the file holds one member, `connections`, a list")
    return listed


def declared_in(path: Path) -> CarriedBy:
    """Return which events are carried, as :func:`carried_by`, without the secrets of the connections' file.

    Raises:
        ConnectionsError: the file cannot be read, or a declaration in it is wrong.
    """
    declared: dict[str, Mapping[str, frozenset[str]]] = {}
    for number, one in enumerate(_read(path), start=1):
        name = one.get("provider") if isinstance(one, Mapping) and "events" in one else None
        if not isinstance(name, str) or name in providers():
            continue
        try:
            declared[name] = EventDeclarations.model_validate(one["events"]).carried
        except ValidationError as error:
            where = f"{path}: connection {one.get('id') or f'number {number}'}"
            raise ConnectionsError(f"{where}: events: {_problems(error, one)}") from None
    return lambda provider: carried_identifiers(provider) or declared.get(provider)
