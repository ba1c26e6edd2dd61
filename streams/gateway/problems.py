"""What is answered when a delivery is not taken: RFC 9457, without secrets, bodies or configuration."""

from collections.abc import Mapping
from typing import Final

import orjson
from starlette.responses import Response

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = 5
CLOSE: Final = {"Connection": "close"}


class Problem(Exception):
    """A delivery that is not taken.

    ``kind`` is a stable word, ``detail`` a sentence for the sender, who may be anybody; ``reason`` is what the log says
    beyond it.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        title: str,
        detail: str,
        *,
        reason: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.title = title
        self.detail = detail
        self.reason = reason or detail
        self.headers = headers or {}

    def response(self) -> Response:
        """Return the answer."""
        return Response(self.body(), self.status, self.headers, MEDIA_TYPE)

    def body(self) -> bytes:
        """Return the answer's body."""
        return orjson.dumps(
            {
                "type": f"urn:proofstream:problem:{self.kind}",
                "title": self.title,
                "status": self.status,
                "detail": self.detail,
            }
        )


def try_again(kind: str, detail: str, reason: str | None = None) -> Problem:
    """Ask the sender to come again: nothing is wrong with the delivery."""
    headers = {"Retry-After": str(RETRY_AFTER_S)}
    return Problem(503, kind, "Try again", detail, reason=reason, headers=headers)


def too_large(limit: int) -> Problem:
    """Refuse a body for its length."""
    return Problem(413, "too_large", "The body is too large", f"More than {limit} bytes are not taken.")


def too_slow() -> Problem:
    """Give up on a body that does not come. The connection is closed: who knows what is still on its way."""
    return Problem(408, "too_slow", "The body came too slowly", "The body was not there in time.", headers=CLOSE)
