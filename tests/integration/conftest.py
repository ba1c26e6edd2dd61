"""A whole system on each broker in turn."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from system import System, running_system


@pytest.fixture
async def system(
    broker: str, topic_prefix: str, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[System]:
    """Providers and a broker, ready for workers."""
    kind = "embedded" if "embedded" in request.node.callspec.id else "kafka"
    async with running_system(broker, topic_prefix, tmp_path, kind) as running:
        yield running
