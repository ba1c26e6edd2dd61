"""What a request goes through: admitted, read, authenticated, put on the topic, and only then answered 200."""

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from contracts.instants import to_rfc3339
from streams.clock import clock_ms
from streams.gateway.authenticity import Gatekeeper
from streams.gateway.body import declared_length, read_body
from streams.gateway.headers import as_intake_sees
from streams.gateway.problems import CLOSE, Problem, too_slow, try_again
from streams.gateway.publisher import NotAcknowledged, Publisher
from streams.gateway.room import Room
from streams.gateway.settings import GatewaySettings
from streams.intake import ARRIVED_HEADER, CONNECTION_HEADER
from verifiers.certificates import Certificates
from verifiers.connection import Connection
from verifiers.connections import Connections
from verifiers.events import Delivery, DeliveryError
from verifiers.providers import provider_of

_SENDER_LEFT = 499
_SHOWN_CHARACTERS = 200
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_log = logging.getLogger("proofstream.gateway")


@dataclass(slots=True)
class _Seen:
    """What the log's line says about a delivery. Never its body, never a header."""

    connection: str
    event_type: str = "-"
    size: int = 0
    place: str = ""


def create_app(
    settings: GatewaySettings,
    connections: Connections,
    publisher: Publisher,
    certificates: Certificates | None = None,
) -> Starlette:
    """Return the gateway's app.

    Args:
        settings: its limits.
        connections: whose deliveries are taken.
        publisher: Kafka; running.
        certificates: fetches what deliveries are signed with.
    """
    gatekeeper = Gatekeeper(connections, settings.trusted_token, certificates or Certificates())
    desk = _Desk(settings, gatekeeper, publisher)

    def healthz(_: Request) -> Response:
        return Response("ok\n", media_type="text/plain")

    def readyz(_: Request) -> Response:
        return healthz(_) if publisher.ready else try_again("not_ready", "Kafka did not answer lately.").response()

    app = Starlette(
        routes=[
            Route("/webhooks/{connection}", desk.serve, methods=["POST"]),
            Route("/healthz", healthz, methods=["GET"]),
            Route("/readyz", readyz, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _as_problem},
    )
    app.router.redirect_slashes = False
    return app


async def _as_problem(_: Request, error: Exception) -> Response:
    """Answer what no route takes: 404 and 405."""
    assert isinstance(error, HTTPException)  # noqa: S101 - it is registered for these
    kind = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "malformed_request")
    title = error.detail
    return Problem(error.status_code, kind, title, f"{title}.", headers=error.headers).response()


class _Desk:
    """Where deliveries are taken."""

    def __init__(self, settings: GatewaySettings, gatekeeper: Gatekeeper, publisher: Publisher) -> None:
        self._settings = settings
        self._gatekeeper = gatekeeper
        self._publisher = publisher
        self._room = Room(settings.max_under_way, settings.max_under_way_bytes)

    async def serve(self, request: Request) -> Response:
        """Take one delivery, answer it, and say in one line what came of it."""
        deadline = asyncio.get_running_loop().time() + self._settings.answer_within_s
        started = time.perf_counter()
        seen = _Seen(request.path_params["connection"])
        level, reason, answer = logging.INFO, "", Response()
        try:
            await self._take(request, seen, deadline)
        except Problem as problem:
            level, reason, answer = logging.WARNING, problem.reason, problem.response()
        except ClientDisconnect:
            reason, answer = "the sender went away", Response(status_code=_SENDER_LEFT)
        except Exception as error:  # noqa: BLE001 - it was not acknowledged, so the provider is to come again
            _log.error("a delivery failed", exc_info=error)
            level, reason = logging.ERROR, type(error).__name__
            answer = Problem(500, "internal_error", "Internal error", "The delivery was not taken.").response()
        _log.log(
            level,
            "%s %s %d %.1f ms %d bytes%s",
            _shown(seen.connection),
            _shown(seen.event_type),
            answer.status_code,
            (time.perf_counter() - started) * 1000,
            seen.size,
            f" {seen.place}" if seen.place else f": {_shown(reason)}",
        )
        return answer

    async def _take(self, request: Request, seen: _Seen, deadline: float) -> None:
        arrived_ms = clock_ms()
        raw = request.scope["headers"]
        if sum(len(name) + len(value) for name, value in raw) > self._settings.max_head_bytes:
            raise Problem(431, "too_large", "The headers are too large", "They are not taken.", headers=CLOSE)
        connection = self._gatekeeper.admit(seen.connection, dict(raw))
        length = declared_length(raw)
        with self._room.take() as place:
            try:
                async with asyncio.timeout_at(deadline):
                    body = await read_body(request.receive, length, self._settings.max_body_bytes, place)
            except TimeoutError:
                raise too_slow() from None
            seen.size = len(body)
            headers = self._gatekeeper.storable(raw, connection)
            delivery = Delivery(connection.id, as_intake_sees(headers), body, arrived_ms)
            await self._gatekeeper.authenticate(delivery, connection, deadline)
            seen.event_type = _event_type(delivery, connection)
            headers.append((CONNECTION_HEADER, connection.id.encode()))
            headers.append((ARRIVED_HEADER, to_rfc3339(arrived_ms).encode()))
            try:
                record = await self._publisher.publish(body, headers, deadline)
            except NotAcknowledged as error:
                raise try_again("not_acknowledged", "The delivery could not be kept.", str(error)) from None
            seen.place = f"{record.topic}/{record.partition}/{record.offset}"


def _event_type(delivery: Delivery, connection: Connection) -> str:
    """Name the event for the log. What cannot be read is the worker's business: it makes a dead letter of it."""
    document = None
    with suppress(ValueError):
        document = orjson.loads(delivery.body.removeprefix(_BYTE_ORDER_MARK))
    try:
        return provider_of(connection).event_type(delivery, document if isinstance(document, dict) else {})
    except DeliveryError:
        return "-"


def _shown(text: str) -> str:
    """Show what a sender may have written: in one line, not too long."""
    cut = text[:_SHOWN_CHARACTERS]
    return cut if cut.isascii() and cut.isprintable() else ascii(cut)
