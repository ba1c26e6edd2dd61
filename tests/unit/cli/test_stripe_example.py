"""The example of a provider that a connection declares: everything in it fits together."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.cli import cli
from verifiers.connections import load_connections

EXAMPLE = Path(__file__).parents[3] / "examples" / "stripe"
CONNECTIONS, CONTRACTS, HISTORY = EXAMPLE / "connections.yaml", EXAMPLE / "contracts", EXAMPLE / "history.jsonl"


def run(*arguments: str | Path, **env: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(one) for one in arguments], env={name: str(one) for name, one in env.items()})


def test_the_contract_is_checked_against_what_the_connection_declares() -> None:
    result = run("contracts", "--connections", CONNECTIONS, "lint", CONTRACTS)
    assert (result.exit_code, result.stdout) == (0, "")
    listed = run(
        "contracts", "list", PROOFSTREAM_CONNECTIONS_FILE=CONNECTIONS, PROOFSTREAM_CONTRACT_DIRECTORIES=CONTRACTS
    )
    assert "stripe.refund.recorded" in listed.stdout


def test_without_the_connection_there_is_no_such_provider(tmp_path: Path) -> None:
    result = run("contracts", "--connections", tmp_path / "none.yaml", "lint", CONTRACTS)
    assert result.exit_code == 1
    assert "there is no provider `stripe` here" in result.stdout


def test_a_wrong_declaration_is_told_in_one_sentence(tmp_path: Path) -> None:
    wrong = tmp_path / "connections.yaml"
    wrong.write_text(CONNECTIONS.read_text().replace("form: unix_s", "form: iso"))
    result = run("contracts", "--connections", wrong, "lint", CONTRACTS)
    assert result.exit_code == 1
    assert f"Error: {wrong}: connection acme-stripe: events: types.refund.created.created.form: " in result.stderr


def test_the_connection_needs_its_secrets_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_STRIPE_KEY", "rk_test")
    monkeypatch.setenv("ACME_STRIPE_WEBHOOK_SECRET", "whsec_test")
    assert list(load_connections(CONNECTIONS)) == ["acme-stripe"]


def test_the_history_comes_out_as_it_says() -> None:
    result = run("replay", HISTORY, PROOFSTREAM_CONTRACT_DIRECTORIES=CONTRACTS)
    assert (result.exit_code, result.output) == (0, f"ok         {HISTORY}\n")


def test_histories_that_declare_one_provider_differently_are_not_run_together(tmp_path: Path) -> None:
    first, *others = HISTORY.read_text().splitlines(keepends=True)
    connection = json.loads(first)
    del connection["connection"]["events"]["types"]["charge.refunded"]
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps(connection) + "\n" + "".join(others))
    result = run("replay", HISTORY, other, PROOFSTREAM_CONTRACT_DIRECTORIES=CONTRACTS)
    assert result.exit_code == 1
    assert "Error: the histories disagree: connection acme-stripe: events: " in result.stderr
    assert run("replay", other, PROOFSTREAM_CONTRACT_DIRECTORIES=CONTRACTS).exit_code == 0
