"""Connections: the configured accounts, from one YAML file.

A secret is named by its environment variable (``{env: NAME}``) and never written into the file; a history, which holds
test secrets only, may write it out. Secrets are ``SecretStr``: they show as stars in logs, errors and reprs.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    model_validator,
)

INLINE_SECRETS = {"inline_secrets": True}


def _resolve_secret(value: Any, info: ValidationInfo) -> Any:
    if isinstance(value, SecretStr):
        return value
    if isinstance(value, Mapping) and value.keys() == {"env"} and isinstance(value["env"], str):
        secret = os.environ.get(value["env"], "")
        if not secret:
            raise ValueError(f"the environment variable {value['env']} is not set")
        return _usable(secret, f"the environment variable {value['env']}")
    if isinstance(value, str) and value and (info.context or {}).get("inline_secrets"):
        return _usable(value, "the secret")
    raise ValueError("a secret is named by its environment variable, as {env: NAME}, and not written into the file")


def _usable(secret: str, where: str) -> SecretStr:
    """Refuse what no HTTP header can carry: a library would refuse it later, and quote it."""
    if secret != secret.strip() or not secret.isprintable():
        raise ValueError(f"{where} has white space around it, a line feed at its end perhaps, or a control character")
    return SecretStr(secret)


Secret = Annotated[SecretStr, BeforeValidator(_resolve_secret)]


class ConnectionPart(BaseModel):
    """A part of a connection's configuration: frozen, unknown fields refused, input never echoed in errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Connection(ConnectionPart):
    """One configured account. Each provider's file adds what it needs."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
    provider: str
    base_url: str | None = None

    def default_base_url(self) -> str | None:
        """Return the API's address where ``base_url`` is not given; a provider may know it."""
        return None

    @model_validator(mode="after")
    def _check_base_url(self) -> Self:
        if self.base_url is not None:
            parts = urlsplit(self.base_url)
            if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.fragment:
                raise ValueError("base_url must look like https://host or https://host/path")
            if parts.username or parts.password:
                raise ValueError("base_url must not hold credentials")
        return self

    @property
    def url(self) -> str:
        """The address that request paths are appended to, without a slash at its end.

        Raises:
            ValueError: the connection has none.
        """
        url = self.base_url or self.default_base_url()
        if url is None:
            raise ValueError(f"the connection {self.id} has no base_url")
        return url.rstrip("/")


Connections = Mapping[str, Connection]


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
    from verifiers.providers import providers  # noqa: PLC0415 - providers build on the models here

    if not isinstance(document, Mapping):
        raise ConnectionsError(f"{where}: a connection is a mapping with id, provider, …")
    name = document.get("provider")
    provider = providers().get(name) if isinstance(name, str) else None
    if provider is None:
        raise ConnectionsError(f"{where}: provider: unknown provider {name!r}: there are {', '.join(providers())}")
    try:
        return provider.connection.model_validate(document, context=dict(context or {}))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in one['loc']) or 'connection'}: {one['msg']}"
            for one in error.errors(include_url=False, include_input=False, include_context=False)
        )
        raise ConnectionsError(f"{where}: {problems}") from None


def load_connections(path: Path) -> Connections:
    """Read the connections' file.

    Returns:
        Connection id → connection.

    Raises:
        ConnectionsError: the file cannot be read, a field is wrong, an id is there twice, credentials are missing.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConnectionsError(f"{path}: {error}") from None
    except yaml.MarkedYAMLError as error:  # its text quotes the file, where a secret may stand by mistake
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise ConnectionsError(f"{path}:{line}: no YAML: {error.problem}") from None
    except yaml.YAMLError:
        raise ConnectionsError(f"{path}: no YAML: it holds characters that YAML does not allow") from None
    listed = document.get("connections") if isinstance(document, Mapping) else None
    if not isinstance(listed, list) or set(document) != {"connections"}:
        raise ConnectionsError(f"{path}: the file holds one member, `connections`, a list")
    connections: dict[str, Connection] = {}
    for number, one in enumerate(listed, start=1):
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
    return connections
