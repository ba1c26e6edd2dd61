"""A connection that declares its provider."""

from collections.abc import AsyncGenerator
from functools import cached_property
from typing import Annotated, Literal, Self

import httpx
from pydantic import AfterValidator, Field, model_validator

from verifiers.certificates import NONE_KNOWN, Known
from verifiers.connection import Connection, ConnectionPart, Secret
from verifiers.declared.events import EventDeclarations
from verifiers.declared.parts import HeaderName
from verifiers.declared.schemes import SignatureSchemes
from verifiers.events import Delivery
from verifiers.provider import Provider

_TAKEN = ("host", "content-length", "transfer-encoding", "connection", "content-type", "accept", "user-agent")


def _free_header(name: str) -> str:
    if name.lower() in _TAKEN:
        raise ValueError("this header says something else")
    return name


class BasicCredentials(ConnectionPart):
    """A user's name and password; some providers want the key as the name and no password."""

    username: Secret
    password: Secret | None = None


class HeaderCredentials(ConnectionPart):
    """A key in a header of the provider's own."""

    name: Annotated[HeaderName, AfterValidator(_free_header)]
    value: Secret


class DeclaredCredentials(ConnectionPart):
    """How reads are authorised: one of these."""

    bearer: Secret | None = None
    basic: BasicCredentials | None = None
    header: HeaderCredentials | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(one is not None for one in (self.bearer, self.basic, self.header)) != 1:
            raise ValueError("give one of `bearer`, `basic` and `header`")
        return self

    def auth(self) -> httpx.Auth:
        """Return what sends them with every read."""
        if self.basic is not None:
            password = self.basic.password.get_secret_value() if self.basic.password is not None else ""
            return httpx.BasicAuth(self.basic.username.get_secret_value(), password)
        if self.header is not None:
            return _Header(self.header.name, self.header.value)
        assert self.bearer is not None  # noqa: S101 - there is one of the three
        return _Header("Authorization", self.bearer, "Bearer ")


class _Header(httpx.Auth):
    def __init__(self, name: str, value: Secret, prefix: str = "") -> None:
        self._name, self._value, self._prefix = name, value, prefix

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        request.headers[self._name] = f"{self._prefix}{self._value.get_secret_value()}"
        yield request


class DeclaredConnection(Connection):
    """One account of a provider that has no file here; ``provider`` is the name that contracts know it by."""

    provider: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    credentials: DeclaredCredentials | None = None
    webhook_auth: SignatureSchemes | Literal["trusted"]
    events: EventDeclarations

    @cached_property
    def declared(self) -> Provider:
        """The provider, as this connection declares it."""
        return Provider(
            name=self.provider,
            connection=DeclaredConnection,
            carried=self.events.carried,
            authenticate=authenticate,
            event_type=self.events.event_type,
            normalise=self.events.normalise,
            authorise=authorise,
        )


def authenticate(delivery: Delivery, connection: Connection, certificates: Known = NONE_KNOWN) -> None:
    """Check that a delivery is signed as the connection declares, or leave that to a trusted gateway.

    Raises:
        NotAuthentic: it is not.
    """
    assert isinstance(connection, DeclaredConnection)  # noqa: S101 - the provider belongs to such a one
    if connection.webhook_auth != "trusted":
        connection.webhook_auth.check(delivery)


def authorise(connection: Connection) -> httpx.Auth | None:
    """Authorise reads as the connection declares."""
    assert isinstance(connection, DeclaredConnection)  # noqa: S101 - the provider belongs to such a one
    return connection.credentials.auth() if connection.credentials is not None else None
