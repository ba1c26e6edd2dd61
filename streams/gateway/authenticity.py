"""Whose deliveries are taken: those of a configured connection, signed as its provider signs."""

import asyncio
import hmac
from collections.abc import Mapping
from contextlib import suppress

from pydantic import SecretStr

from streams.gateway.headers import KafkaHeaders, RawHeaders, signed_in, storable
from streams.gateway.problems import Problem, try_again
from verifiers.certificates import Certificates
from verifiers.connection import Connection
from verifiers.connections import Connections
from verifiers.events import CannotTell, Delivery, NotAuthentic
from verifiers.providers import provider_of


class Gatekeeper:
    """Knows the connections, and what makes their deliveries authentic."""

    def __init__(self, connections: Connections, trusted_token: SecretStr | None, certificates: Certificates) -> None:
        self._connections = connections
        self._certificates = certificates
        self._signed_in = {name: signed_in(one) for name, one in connections.items()}
        self._token = trusted_token.get_secret_value().encode() if trusted_token is not None else None

    def admit(self, name: str, headers: Mapping[bytes, bytes]) -> Connection:
        """Return the connection of this name, if its deliveries may come in here; before a body is read.

        What comes for a connection of `trusted` authenticity cannot be verified here, and the worker believes it: the
        sender, which says that it has verified it, must know the gateway's token (``Authorization: Bearer …``).

        Args:
            name: the connection's id.
            headers: the request's headers, names in lower case.

        Raises:
            Problem: there is no such connection, or anybody could forge its deliveries.
        """
        connection = self._connections.get(name)
        if connection is None:
            raise Problem(404, "unknown_connection", "Unknown connection", "There is no such connection.")
        if is_trusted(connection):
            self._check_token(headers.get(b"authorization", b""))
        return connection

    def storable(self, raw: RawHeaders, connection: Connection) -> KafkaHeaders:
        """Return the headers of a connection's delivery that are put on the topic."""
        return storable(raw, self._signed_in[connection.id])

    def _check_token(self, given: bytes) -> None:
        if self._token is None:
            raise Problem(
                403,
                "not_verifiable",
                "Not served here",
                "Deliveries of this connection cannot be verified here.",
                reason="the connection is `trusted`, and PROOFSTREAM_GATEWAY_TRUSTED_TOKEN is not set",
            )
        scheme, _, token = given.strip().partition(b" ")
        if not hmac.compare_digest(token.strip(), self._token) or scheme.lower() != b"bearer":
            raise Problem(
                401,
                "not_authentic",
                "Not authentic",
                "Deliveries of this connection need the gateway's token.",
                headers={"WWW-Authenticate": "Bearer"},
            )

    async def authenticate(self, delivery: Delivery, connection: Connection, deadline: float) -> None:
        """See that the connection's provider has sent the delivery.

        Args:
            delivery: the delivery.
            connection: the connection that it came in for.
            deadline: until when to wait for the certificate that it is signed with, in the event loop's time.

        Raises:
            Problem: it has not, as far as can be told; or that cannot be told now, and the sender is to come again.
        """
        provider = provider_of(connection)
        if (address := provider.certificate_of(delivery, connection)) is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    await self._certificates.obtain([address])
        try:
            provider.authenticate(delivery, connection, self._certificates.known)
        except CannotTell as error:
            raise try_again(error.class_, "The delivery's signature cannot be checked now.", str(error)) from None
        except NotAuthentic as error:
            raise Problem(
                401,
                "not_authentic",
                "Not authentic",
                "The signature does not hold for this body and connection.",
                reason=str(error),
                headers={"WWW-Authenticate": "Signature"},
            ) from None


def is_trusted(connection: Connection) -> bool:
    """Tell whether somebody else must have verified the connection's deliveries."""
    return getattr(connection, "webhook_auth", "trusted") == "trusted"
