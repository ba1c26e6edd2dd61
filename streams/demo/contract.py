"""A contract of the demo's own: PayPal's, with so little time that a person can watch it run out."""

from pathlib import Path
from typing import Final

import yaml

from contracts.catalogue import Catalogue

BUILT_IN: Final = "paypal.refund.recorded"
HASTY: Final = "demo.paypal.refund.recorded"
TIMEOUT_S: Final = 15
_TIMING = {
    "initial_delay_ms": 2_000,
    "poll_interval_ms": 3_000,
    "max_attempts": 3,
    "timeout_ms": TIMEOUT_S * 1_000,
    "stale_read_window_ms": 5_000,
}


def write_hasty_contract(directory: Path) -> None:
    """Write the built-in contract's text under another id, with a shorter timing, into a contract directory."""
    document = yaml.safe_load(Catalogue.load().entry(BUILT_IN).text)
    document |= {"id": HASTY, "version": "0.1.0"}
    document["timing"] |= _TIMING
    directory.mkdir()
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    (directory / "refund.recorded.yaml").write_text(text, encoding="utf-8")
