"""What a catalogue makes of the files that it finds."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from mutation import PAYPAL, SHOPIFY, TEXT, Write, line_with

from contracts.catalogue import BUILT_IN, Catalogue, UnknownContractError

IDS = [
    "paypal.capture.completed",
    "paypal.capture.recorded",
    "paypal.refund.completed",
    "paypal.refund.recorded",
    "shopify.refund.created",
    "shopify.refund.financially_completed",
]


def test_a_catalogue_holds_the_built_in_contracts() -> None:
    catalogue = Catalogue.load()
    assert [contract.id for contract in catalogue.contracts] == IDS
    assert catalogue.problems == ()
    assert {entry.origin for entry in catalogue.entries} == {"built-in"}
    assert [entry.text for entry in catalogue.entries][3:5] == [TEXT[PAYPAL], TEXT[SHOPIFY]]
    for entry in catalogue.entries:
        assert entry.file.parent.name == entry.contract.provider
        assert entry.contract.id == f"{entry.contract.provider}.{entry.file.stem}"


def test_a_users_directory_is_read_with_all_below_it(write: Write, tmp_path: Path) -> None:
    write(("id: paypal.refund", "id: paypal.b"), name="b.yml")
    write(("id: paypal.refund", "id: paypal.a"), name="deep/er/a.yaml")
    write(("id: paypal.refund", "id: paypal.hidden"), name=".hidden.yaml")
    write(("id: paypal.refund", "id: paypal.mounted"), name="..data/c.yaml")
    (tmp_path / "README.md").write_text("no contract")
    catalogue = Catalogue.load([tmp_path])
    users = [entry for entry in catalogue.entries if entry.origin == "user"]
    assert [entry.contract.id for entry in users] == ["paypal.a.recorded", "paypal.b.recorded"]
    assert catalogue.problems == ()


def test_a_bad_file_takes_no_other_down(write: Write, tmp_path: Path) -> None:
    write(("id: paypal.refund", "id: paypal.good"), name="a.yaml")
    malformed = write(("minimum_level: E2", "minimum_level: E7"), name="b.yaml")
    contradictory = write(("expected: $input.currency_code", "expected: $input.currency"), name="c.yaml")
    catalogue = Catalogue.load([tmp_path])
    assert "paypal.good.recorded" in [contract.id for contract in catalogue.contracts]
    errors = [(one.file, one.line, one.field) for one in catalogue.problems if one.level == "error"]
    field = "conditions.refund_currency_matches.expected"
    assert errors == [
        (malformed, line_with(malformed, "E7"), "evidence.minimum_level"),
        (contradictory, line_with(contradictory, "$input.currency\n".strip()), field),
    ]


def test_warnings_do_not_hinder(write: Write, tmp_path: Path) -> None:
    path = write(("id: paypal.refund", "id: paypal.mine"))
    entry = Catalogue.load([tmp_path]).entry("paypal.mine.recorded")
    (warning,) = entry.warnings
    assert (warning.file, warning.line, warning.level) == (path, line_with(path, "max_attempts"), "warning")
    assert str(warning).startswith(f"{path}:{warning.line}: warning: timing.max_attempts: 60 attempts")


def test_what_lint_misses_in_a_file_is_placed_at_its_parent(write: Write, tmp_path: Path) -> None:
    path = write(("id: paypal.refund", "id: paypal.mine"), ("method: GET", "method: POST"))
    warning, error = Catalogue.load([tmp_path]).problems
    assert (warning.level, error.level) == ("warning", "error")  # in the order of their lines
    assert error.field == "readings.requests.refund_readback.graphql"
    assert path.read_text().splitlines()[error.line - 2 : error.line] == [
        "  requests:",
        "    refund_readback:",
    ]


def test_a_finding_within_a_list_is_placed_there(write: Write, tmp_path: Path) -> None:
    path = write(
        ("id: paypal.refund", "id: paypal.mine"),
        ("types: [PAYMENT.CAPTURE.REFUNDED]", "types:\n        - PAYMENT.CAPTURE.REFUNDED\n        - SECOND"),
    )
    carried = {"PAYMENT.CAPTURE.REFUNDED": frozenset({"capture_id"})}
    catalogue = Catalogue.load([tmp_path], carried=lambda provider: carried if provider == "paypal" else {})
    (error,) = [one for one in catalogue.problems if one.file == path and one.level == "error"]
    assert (error.line, error.field) == (
        line_with(path, "- SECOND"),
        "readings.events.capture_refunded_events.types.1",
    )


def test_each_provider_is_asked_for_its_own_events() -> None:
    asked: list[str] = []

    def carried(provider: str) -> None:
        asked.append(provider)

    catalogue = Catalogue.load(carried=carried)
    assert sorted(asked) == [name.split(".")[0] for name in IDS]
    assert [(one.field, one.line) for one in catalogue.problems if one.level == "error"] == [("provider", 4)] * len(IDS)
    assert catalogue.contracts == ()


def test_the_same_contract_twice_keeps_the_first(write: Write, tmp_path: Path) -> None:
    first = write(("id: paypal.refund", "id: paypal.mine"), name="a.yaml")
    later = write(("id: paypal.refund", "id: paypal.mine"), ("factor: 2", "factor: 3"), name="b.yaml")
    overriding = write(("factor: 2", "factor: 3"), name="c.yaml")
    catalogue = Catalogue.load([tmp_path])
    assert catalogue.get("paypal.mine.recorded").timing.backoff.factor == 2
    assert catalogue.entry("paypal.mine.recorded").file == first
    assert catalogue.get("paypal.refund.recorded").timing.backoff.factor == 2
    assert [(one.file, one.level) for one in catalogue.problems] == [(later, "error"), (overriding, "error")]
    assert catalogue.problems[0].message == f"paypal.mine.recorded 1.0.0 is already defined by {first}"


def test_the_first_is_that_of_the_first_directory_by_name(write: Write, tmp_path: Path) -> None:
    files = [write(("id: paypal.refund", "id: paypal.mine"), name=f"{name}/x.yaml") for name in "gebdacf"]
    catalogue = Catalogue.load([tmp_path])
    assert catalogue.entry("paypal.mine.recorded").file == tmp_path / "a" / "x.yaml"
    assert [one.file for one in catalogue.problems] == sorted(files)[1:]


def test_a_clash_is_placed_at_the_id(write: Write, tmp_path: Path) -> None:
    path = write(("id: paypal.refund.recorded\n", "# Mine.\nid: paypal.refund.recorded\n"))
    (problem,) = Catalogue.load([tmp_path]).problems
    assert (problem.file, problem.line, problem.field) == (path, 3, "id")


def test_a_version_written_otherwise_is_the_same(write: Write, tmp_path: Path) -> None:
    write(('version: "1.0.0"', 'version: "1.00.0"'))
    assert "already defined" in Catalogue.load([tmp_path]).problems[0].message


def test_the_same_file_twice_is_one_file(write: Write, tmp_path: Path) -> None:
    write(("id: paypal.refund", "id: paypal.mine"))
    (tmp_path / "link.yaml").symlink_to("one.yaml")
    catalogue = Catalogue.load([tmp_path, tmp_path / ".." / tmp_path.name, BUILT_IN])
    assert len(catalogue.entries) == len(IDS) + 1
    assert catalogue.problems == ()


def test_a_directory_that_is_none_is_a_problem(write: Write, tmp_path: Path) -> None:
    file = write()
    catalogue = Catalogue.load([tmp_path / "none", file])
    assert [(one.file, one.message.split(":")[0]) for one in catalogue.problems] == [
        (tmp_path / "none", "there is no such directory"),
        (file, "this is a file"),
    ]
    assert len(catalogue.contracts) == len(IDS)


def test_a_directory_below_that_cannot_be_read_is_a_problem(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(("id: paypal.refund", "id: paypal.mine"), name="below/one.yaml")

    def refusing(path: str) -> Any:
        if str(path).endswith("below"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", refusing)
    (problem,) = Catalogue.load([tmp_path]).problems
    assert (problem.file, problem.message) == (
        tmp_path / "below",
        "the directory cannot be read: Permission denied",
    )


def test_the_newest_version_is_the_highest_number(write: Write, tmp_path: Path) -> None:
    for version in ("1.9.0", "1.10.0", "1.2.0"):
        write(('version: "1.0.0"', f'version: "{version}"'), name=f"{version}.yaml")
    catalogue = Catalogue.load([tmp_path])
    of_paypal = [one.version for one in catalogue.contracts if one.id == "paypal.refund.recorded"]
    assert of_paypal == ["1.0.0", "1.2.0", "1.9.0", "1.10.0"]
    assert catalogue.get("paypal.refund.recorded").version == "1.10.0"
    assert catalogue.get("paypal.refund.recorded", "1.9.0").version == "1.9.0"
    with pytest.raises(
        UnknownContractError,
        match=re.escape("no version 2.0.0 of paypal.refund.recorded; there is 1.0.0, 1.2.0, 1.9.0, 1.10.0"),
    ):
        catalogue.get("paypal.refund.recorded", "2.0.0")


def test_an_unknown_contract_names_those_that_there_are() -> None:
    with pytest.raises(LookupError) as caught:
        Catalogue.load().get("paypal.refund.recoded")
    assert str(caught.value) == (
        f"There is no contract paypal.refund.recoded. Did you mean paypal.refund.recorded? There is {', '.join(IDS)}."
    )
    with pytest.raises(UnknownContractError) as caught_empty:
        Catalogue().get("x")
    assert str(caught_empty.value) == "There is no contract x. There is no contract at all."


def test_contracts_listen_to_the_events_that_some_channel_of_theirs_counts(write: Write, tmp_path: Path) -> None:
    write(
        ("id: paypal.refund", "id: paypal.both"),
        ("types: [PAYMENT", "types: [PAYMENT.CAPTURE.REVERSED, PAYMENT"),
    )
    catalogue = Catalogue.load([tmp_path])
    listening = catalogue.listening_to("paypal")
    refunds, captures = ["paypal.refund.completed", "paypal.refund.recorded"], IDS[:2]
    assert {event_type: [one.id for one in contracts] for event_type, contracts in listening.items()} == {
        "PAYMENT.CAPTURE.REFUNDED": ["paypal.both.recorded", *refunds],
        "PAYMENT.CAPTURE.REVERSED": ["paypal.both.recorded", "paypal.capture.completed"],
        **{f"PAYMENT.CAPTURE.{kind}": captures for kind in ("COMPLETED", "DECLINED", "DENIED")},
        "PAYMENT.CAPTURE.PENDING": ["paypal.capture.recorded"],
    }
    assert catalogue.listening_to("paypal") is listening
    # Two channels of one contract count the same type: the contract listens once.
    assert [one.id for one in catalogue.listening_to("shopify")["REFUNDS_CREATE"]] == IDS[4:]
    assert dict(catalogue.listening_to("nobody")) == {}
