"""Fixtures for every test: brokers to run against, and names that no other test uses."""

import contextlib
import os
import subprocess
import uuid
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from brokers import fetch_libs, missing_tools, start_kafka

from streams.embedded.broker import embedded_broker

BROKERS = ("kafka", "embedded")
# The fixtures that need a broker, and the mark that says so.
MARKS = {"kafka": "kafka", "kafka_tools": "kafka", "embedded": "embedded"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what uses a broker's fixture, so that `-m "not kafka"` leaves it out."""
    for item in items:
        for fixture in MARKS.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(MARKS[fixture])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Fetch Kafka before the first test starts: a download is not to use up that test's time limit."""
    wanted = any(item.get_closest_marker("kafka") for item in session.items)
    if wanted and not (session.config.option.collectonly or _named_broker() or missing_tools()):
        # A failed fetch is told by the fixture, to the tests that need it.
        with contextlib.suppress(RuntimeError, subprocess.TimeoutExpired):
            fetch_libs()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def kafka() -> AsyncIterator[str]:
    """The bootstrap address of a real Kafka: the one that KAFKA_BOOTSTRAP names, else one of our own."""
    if address := _named_broker():
        yield address
        return
    _require_tools()
    async with start_kafka() as running:
        yield running.bootstrap


@pytest.fixture(scope="session")
def kafka_tools() -> None:
    """What a test needs that starts a Kafka node of its own, to kill it."""
    _require_tools()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def embedded() -> AsyncIterator[str]:
    """The bootstrap address of the embedded broker."""
    async with embedded_broker() as address:
        yield address


@pytest.fixture(params=[pytest.param(name, marks=getattr(pytest.mark, name)) for name in BROKERS])
def broker(request: pytest.FixtureRequest) -> str:
    """The bootstrap address of each broker in turn."""
    address: str = request.getfixturevalue(request.param)
    return address


@pytest.fixture
def topic_prefix() -> str:
    """A prefix for topics and groups that no other test has: isolation by construction."""
    return f"t{uuid.uuid4().hex[:10]}-"


def _require_tools() -> None:
    if problem := missing_tools():
        # On CI a skipped broker would look like a passed one.
        (pytest.fail if os.environ.get("CI", "").lower() in {"1", "true"} else pytest.skip)(problem)


def _named_broker() -> str | None:
    return os.environ.get("KAFKA_BOOTSTRAP") or None
