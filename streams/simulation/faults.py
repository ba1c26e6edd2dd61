"""What can go wrong with a read: a wrong answer, none for a while, a connection that breaks off."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send


@dataclass(frozen=True, slots=True)
class Answers:
    """The read gets this answer instead of the true one."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def json(cls, status: int, document: Any, **headers: str) -> "Answers":
        """Answer with a JSON body; a header's underscores stand for hyphens."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return cls(status, orjson.dumps(document), {"Content-Type": "application/json", **named})


@dataclass(frozen=True, slots=True)
class Hangs:
    """The read gets the true answer, so many seconds late."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Cuts:
    """The connection ends in the middle of the answer."""


Fault = Answers | Hangs | Cuts

# What the edge in front of a provider answers when the provider does not: HTML, and no JSON.
HTML_ERROR = Answers(
    502,
    b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
    {"Content-Type": "text/html"},
)


class Truncated(Response):
    """An answer that announces more than it sends. A server closes the connection then."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the start of an answer, and leave it at that."""
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"100")]})
        await send({"type": "http.response.body", "body": b"{", "more_body": True})
