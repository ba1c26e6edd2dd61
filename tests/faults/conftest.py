"""Trials on a real Kafka."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.trial import Trial, trial_on


@pytest.fixture
async def trial(kafka: str, topic_prefix: str, tmp_path: Path) -> AsyncIterator[Trial]:
    """A world, and room for workers, on the Kafka that the tests share."""
    async with trial_on(kafka, topic_prefix, tmp_path, seed=2026) as prepared:
        yield prepared
