"""One configured account: the models that every provider's file builds on.

Secrets are ``SecretStr``: they show as stars in logs, errors and reprs.
"""

import os
from collections.abc import Mapping
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationInfo, model_validator

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

    @property
    def needs_certificates(self) -> bool:
        """Whether deliveries may be signed with certificates, which have to be fetched."""
        return False

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
