"""The long run: rounds of faults until the time is over. ``scripts/faults --minutes 30 --seed 7``."""

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.brokers import start_kafka
from tests.faults.rounds import run_round


def tell(said: str) -> None:
    """Print something with the time of day."""
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {said}\n")
    sys.stdout.flush()


async def run(minutes: float, seed: int, faults: int) -> int:
    """Run rounds until the time is over, or until something is wrong; returns the process's exit code."""
    end, injected, rounds = time.monotonic() + minutes * 60, Counter[str](), 0
    async with start_kafka() as kafka:
        while rounds == 0 or time.monotonic() < end:
            directory = Path(tempfile.mkdtemp(prefix=f"proofstream-faults-{seed}-"))
            tell(f"round {rounds + 1}, seed {seed}, in {directory}")
            violations, struck = await run_round(kafka, directory, seed, faults, tell, long=True)
            injected += struck
            if violations:
                tell(f"VIOLATIONS with seed {seed}; the workers' logs are in {directory}:")
                for one in violations[:50]:
                    tell(str(one)[:2000])
                return 1
            rounds, seed = rounds + 1, seed + 1
    tell(f"{rounds} rounds, nothing lost, nothing doubled. Injected: {dict(injected)}")
    return 0


def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (at least one round is run)")
    parser.add_argument("--seed", type=int, default=1, help="the first round's seed; each round takes the next")
    parser.add_argument("--faults", type=int, default=6, help="faults in each round")
    given = parser.parse_args()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    sys.exit(asyncio.run(run(given.minutes, given.seed, given.faults)))


if __name__ == "__main__":
    main()
