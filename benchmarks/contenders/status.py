"""What a contender says of itself: one JSON object a line on its output, for the benchmark to read."""

import time
from pathlib import Path
from typing import Literal

import orjson

State = Literal["recovering", "ready"]
_PAGE_BYTES = 4096


def say(state: State) -> None:
    """Say that a state is reached, with the time and the resident memory in bytes."""
    said = {"status": state, "at_ms": time.time_ns() // 1_000_000, "rss": resident_bytes()}
    print(orjson.dumps(said).decode(), flush=True)  # noqa: T201 - the benchmark reads it


def resident_bytes(process: int | Literal["self"] = "self") -> int:
    """Return the memory that a process holds."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE_BYTES
