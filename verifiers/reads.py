"""What one readback asks, and what came of it."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import httpx
from pydantic import Field


class Unauthorised(httpx.RequestError):
    """The provider gave no token for the configured credentials, so nothing could be asked."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a read brought.

    ``error`` is a stable word where the answer is no evidence, None where it is. ``values`` maps each path that the
    contract reads on the channel to its value, for those that resolve. ``digest`` is SHA-256 of the body as received.
    """

    status: Annotated[int, Field(ge=100, le=999)] | None
    error: str | None
    detail: str | None = None
    values: dict[str, Any] = field(default_factory=dict)
    digest: str | None = None
    served_version: str | None = None
