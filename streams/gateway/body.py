"""A request's body, as it comes over the wire: nothing is decoded, and nothing is read beyond the limit."""

from typing import Final

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from streams.gateway.headers import RawHeaders
from streams.gateway.problems import CLOSE, Problem, too_large
from streams.gateway.room import Place

_MAX_DIGITS: Final = 18


def declared_length(headers: RawHeaders) -> int | None:
    """Return the body's length as the request's headers tell it; None for a body in chunks.

    Raises:
        Problem: it is no length, or there are several.
    """
    found = {value.strip(b" \t") for name, value in headers if name == b"content-length"}
    if not found:
        return None
    text = found.pop()
    if found or not text.isdigit() or len(text) > _MAX_DIGITS:
        raise Problem(400, "malformed_request", "Malformed request", "Content-Length is no length.", headers=CLOSE)
    return int(text)


async def read_body(receive: Receive, length: int | None, limit: int, place: Place) -> bytes:
    """Read a body to its end.

    Args:
        receive: where it comes from.
        length: as declared; None for a body in chunks.
        limit: the most bytes that are taken.
        place: has room for it.

    Raises:
        Problem: it is too large, by its declared length before any of it is read; or there is no room for it.
        ClientDisconnect: the sender went away.
    """
    if length is not None and length > limit:
        raise too_large(limit)
    place.grow_to(length or 0)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise too_large(limit)
        place.grow_to(size)
        parts.append(part)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)
