"""The http verifier: reads a provider back, once, and says what the answer is worth.

No retries, no redirects, explicit timeouts, a limit on the body. When to read again is the contract's schedule, kept
in the case and never here.
"""

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx
import orjson

from contracts.model import Contract, Request
from verifiers.answers import classify
from verifiers.connection import Connection
from verifiers.connections import Connections
from verifiers.providers import provider_of
from verifiers.reads import Answer, Unauthorised

MAX_BODY_BYTES = 1024 * 1024
TOTAL_TIMEOUT_S = 20.0
_PHASE_TIMEOUTS = httpx.Timeout(connect=5.0, read=10.0, write=5.0, pool=10.0)
# Idle connections are closed before servers do so: many do after 5 s, and a read on a closing one is a read lost.
_LIMITS = httpx.Limits(max_connections=32, max_keepalive_connections=16, keepalive_expiry=4.0)


class _TooLarge(Exception):
    """The body is larger than the limit."""


class _UnsafeIdentifier(Exception):
    """An id that cannot be one segment of a path, however it is encoded: servers take dots out after decoding."""


class HttpVerifier:
    """Reads from any configured connection; one pooled client each, made at its first read."""

    def __init__(
        self,
        connections: Connections,
        transport: Callable[[Connection], httpx.AsyncBaseTransport | None] = lambda _: None,
    ) -> None:
        """Take the connections, and optionally where their requests go instead of the network."""
        self._connections = connections
        self._transport = transport
        self._clients: dict[str, httpx.AsyncClient] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every client."""
        clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            await client.aclose()

    async def read(self, connection: str, contract: Contract, channel: str, inputs: Mapping[str, str]) -> Answer:
        """Read one channel back.

        Args:
            connection: the id of a configured connection.
            contract: the contract whose channel it is.
            channel: the channel's name.
            inputs: the values of the request's parameters and variables, by name.

        Returns:
            What the answer is worth. Whatever goes wrong on the way is an answer without evidence, too.
        """
        configured = self._connections.get(connection)
        if configured is None:
            return Answer(None, "unknown_connection", f"no connection {connection!r} is configured")
        template = contract.readings.requests[channel]
        try:
            client = self._client(configured)
            async with asyncio.timeout(TOTAL_TIMEOUT_S):
                status, headers, body = await _send(client, build_request(client, template, inputs))
        except (TimeoutError, httpx.TimeoutException):
            return Answer(None, "timeout", "the provider did not answer in time")
        except Unauthorised as error:
            return Answer(None, "unauthorized", str(error))
        except _UnsafeIdentifier as error:
            return Answer(None, "unsafe_identifier", f"{error} cannot be part of an address")
        except _TooLarge:
            return Answer(None, "too_large", f"the body is larger than {MAX_BODY_BYTES} bytes")
        except httpx.DecodingError:
            return Answer(None, "not_json", "the body's content encoding is broken")
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            # By its kind only: a library's words may quote what it could not send, a token included.
            return Answer(None, "connection_failed", type(error).__name__)
        return classify(template, contract.paths_of(channel), status, headers, body)

    def _client(self, connection: Connection) -> httpx.AsyncClient:
        client = self._clients.get(connection.id)
        if client is None:
            client = self._clients[connection.id] = httpx.AsyncClient(
                base_url=connection.url,
                auth=provider_of(connection).authorise(connection),
                headers={"Accept": "application/json", "User-Agent": "proofstream"},
                timeout=_PHASE_TIMEOUTS,
                limits=_LIMITS,
                follow_redirects=False,
                trust_env=False,
                transport=self._transport(connection),
            )
        return client


def build_request(client: httpx.AsyncClient, template: Request, inputs: Mapping[str, str]) -> httpx.Request:
    """Fill a channel's template.

    An id goes into a path percent-encoded as one segment, or into GraphQL variables, so no id can steer a request:
    the document is the contract's own text, and the base URL is the connection's.

    Raises:
        _UnsafeIdentifier: an id is empty or made of dots.
    """
    path = template.path
    for name in template.parameters:
        if inputs[name] in ("", ".", ".."):
            raise _UnsafeIdentifier(repr(inputs[name]))
        path = path.replace(f"{{{name}}}", quote(inputs[name], safe=""))
    content: dict[str, Any] = {}
    if template.graphql is not None:
        body = {
            "query": template.graphql.document,
            "variables": {name: inputs[name] for name in template.graphql.variables},
        }
        content = {"content": orjson.dumps(body), "headers": {"Content-Type": "application/json"}}
    return client.build_request(template.method, path, **content)


async def _send(client: httpx.AsyncClient, request: httpx.Request) -> tuple[int, httpx.Headers, bytes]:
    response = await client.send(request, stream=True)
    try:
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > MAX_BODY_BYTES:
                raise _TooLarge
        return response.status_code, response.headers, bytes(body)
    finally:
        await response.aclose()
