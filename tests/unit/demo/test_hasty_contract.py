"""The demo's own contract: PayPal's, but for its name and its time."""

from pathlib import Path

from contracts.catalogue import Catalogue
from streams.demo.contract import BUILT_IN, HASTY, write_hasty_contract
from verifiers.providers import carried_identifiers


def test_it_differs_from_paypals_in_name_and_time_only(tmp_path: Path) -> None:
    write_hasty_contract(tmp_path / "contracts")
    catalogue = Catalogue.load([tmp_path / "contracts"], carried=carried_identifiers)
    assert catalogue.problems == ()
    entry = catalogue.entry(HASTY)
    built_in, hasty = catalogue.get(BUILT_IN).model_dump(), entry.contract.model_dump()
    assert {name for name in built_in if built_in[name] != hasty[name]} == {"id", "version", "timing"}
    assert entry.contract.timing.schedule.offsets_ms == (2_000, 5_000, 11_000)
    assert entry.warnings == ()
