"""A short round of random faults on a Kafka of its own; the long run is ``scripts/faults``."""

from pathlib import Path

import pytest

from tests.brokers import start_kafka
from tests.faults.rounds import run_round

pytestmark = pytest.mark.timeout(400)


@pytest.mark.usefixtures("kafka_tools")
async def test_a_round_of_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def tell(said: str) -> None:
        with capsys.disabled():
            print(f"\n    {said}", end="")  # noqa: T201 - who waits may see what happens

    async with start_kafka() as kafka:
        violations, injected = await run_round(kafka, tmp_path, seed=20261201, faults=5, tell=tell)

    assert violations == []
    assert injected.total() == 5
