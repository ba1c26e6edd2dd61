"""What the tests of both simulated providers use: the project's own verifier and intake, pointed at them."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import httpx
import pytest
import pytest_asyncio
from starlette.types import ASGIApp

from contracts.catalogue import Catalogue
from verifiers.connection import INLINE_SECRETS, Connection
from verifiers.connections import parse_connection
from verifiers.http import HttpVerifier
from verifiers.reads import Answer


class Reader:
    """Reads one connection back, as a worker does."""

    def __init__(self, verifier: HttpVerifier, connection: Connection, contract_id: str) -> None:
        self.connection = connection
        self._verifier = verifier
        self._contract = Catalogue.load().get(contract_id)

    async def __call__(self, **inputs: str) -> Answer:
        return await self._verifier.read(self.connection.id, self._contract, "refund_readback", inputs)


@pytest_asyncio.fixture
async def reader() -> AsyncIterator[Callable[..., Reader]]:
    """Make a reader of a connection; requests go into the app, or over HTTP where there is none."""
    verifiers: list[HttpVerifier] = []

    def make(document: Mapping[str, Any], contract_id: str, app: ASGIApp | None = None) -> Reader:
        connection = parse_connection(document, "test", INLINE_SECRETS)
        transport = httpx.ASGITransport(app) if app is not None else None
        verifier = HttpVerifier({connection.id: connection}, lambda _: transport)
        verifiers.append(verifier)
        return Reader(verifier, connection, contract_id)

    yield make
    for verifier in verifiers:
        await verifier.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have reads time out after a tenth of a second."""
    monkeypatch.setattr("verifiers.http.TOTAL_TIMEOUT_S", 0.1)
