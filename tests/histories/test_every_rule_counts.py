"""Each rule of each built-in contract has a history that fails without it.

A contract is changed in one place at a time: a rule is dropped, or a value that it expects, an exception, a part of an
event filter. Some history of that contract must then come out otherwise; if none does, nothing holds the rule in place.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from contracts.catalogue import BUILT_IN, Catalogue, Entry, yaml_files
from contracts.model import Contract
from contracts.yaml_source import read_yaml
from streams.intake import Context
from streams.policy import Policy
from streams.replay.comparison import differences
from streams.replay.history import History, load_history
from streams.replay.runner import replay

CATALOGUE = Catalogue.load()
HISTORIES = sorted(Path(__file__).parent.glob("*.jsonl"))
Document = dict[str, Any]

# What no history can show: a case is one order, or one capture, so no event of another one gets into it, and a filter
# that names it beside the resource's own id says so for the reader.
UNSEEN = {
    "without readings.events.refund_events.where.capture_id",
    "without readings.events.capture_events.where.order_id",
    "without readings.events.capture_completed_events.where.order_id",
    "without readings.events.capture_declined_events.where.order_id",
    "without readings.events.capture_reversed_events.where.order_id",
}


def without(node: Any, steps: tuple[str | int, ...]) -> Any:
    """Copy a document without one of its members."""
    step, *rest = steps
    items = list(enumerate(node)) if isinstance(node, tuple) else list(node.items())
    kept = [(key, without(one, tuple(rest)) if key == step else one) for key, one in items if rest or key != step]
    return tuple(one for _, one in kept) if isinstance(node, tuple) else dict(kept)


def places(document: Document) -> Iterator[tuple[str | int, ...]]:
    """Name every part of a contract that can be taken away while the rest still makes one."""
    readings = document["readings"]
    for group in ("conditions", "contradictions", "verdict_map"):
        for rule_id, rule in document.get(group, {}).items():
            yield (group, rule_id)
            if isinstance(rule["expected"], tuple) and len(rule["expected"]) > 1:
                yield from ((group, rule_id, "expected", index) for index in range(len(rule["expected"])))
    for rule_id, reading in readings.get("rules", {}).items():
        yield from (("readings", "rules", rule_id, member) for member in reading if member != "do_not_retry")
        expected = reading.get("unless", {}).get("expected")
        if isinstance(expected, tuple):
            yield from (("readings", "rules", rule_id, "unless", "expected", index) for index in range(len(expected)))
    for channel, events in readings["events"].items():
        if "since" in events:
            yield ("readings", "events", channel, "since")
        if len(events["where"]) > 1:
            yield from (("readings", "events", channel, "where", name) for name in events["where"])
        if len(events["types"]) > 1:
            yield from (("readings", "events", channel, "types", index) for index in range(len(events["types"])))


def changes() -> Iterator[Any]:
    for file in yaml_files(BUILT_IN):
        document = read_yaml(file).data
        for steps in places(document):
            name = "without " + ".".join(map(str, steps))
            if name not in UNSEEN:
                yield pytest.param(document["id"], without(document, steps), id=f"{document['id']} {name}")
        for rule_id, rule in document["conditions"].items():
            if "[kind=REFUND]" in rule["path"]:
                text = rule["path"].replace("[kind=REFUND]", "[*]")
                changed = {**document["conditions"], rule_id: {**rule, "path": text}}
                yield pytest.param(document["id"], {**document, "conditions": changed}, id=f"{rule_id} of any kind")


@cache
def histories_of(contract_id: str) -> tuple[History, ...]:
    texts = {path: path.read_text(encoding="utf-8") for path in HISTORIES}
    of_contract = [path for path, text in texts.items() if f'"contract": "{contract_id}"' in text]
    # Those that last to the timeout take the longest, and often another one differs already.
    return tuple(load_history(path) for path in sorted(of_contract, key=lambda path: "UNVERIFIABLE" in texts[path]))


def context(document: Mapping[str, Any]) -> Context:
    """The catalogue with one contract changed."""
    contract = Contract.model_validate(document)
    entries = (Entry(contract, one.file) if one.contract.id == contract.id else one for one in CATALOGUE.entries)
    return Context(Catalogue(tuple(entries)), {}, Policy())


@pytest.mark.parametrize(("contract_id", "document"), list(changes()))
def test_a_contract_that_is_changed_in_one_place_fails_some_history(contract_id: str, document: Document) -> None:
    changed = context(document)
    assert any(differences(history, replay(history, changed)) for history in histories_of(contract_id))
