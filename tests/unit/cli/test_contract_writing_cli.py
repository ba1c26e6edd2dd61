"""`proofstream contracts schema|new|test`, as one who writes a contract uses them."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contracts.catalogue import BUILT_IN, load_contract
from contracts.schema import schema_text
from streams.cli import cli

HISTORIES = Path(__file__).parents[2] / "histories"
STRIPE = Path("examples/stripe")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["contracts", *(str(one) for one in arguments)])


def new(path: Path, *arguments: str) -> Path:
    result = run("new", *arguments)
    assert result.exit_code == 0, result.output
    path.write_text(result.stdout, encoding="utf-8")
    return path


def test_schema_prints_the_schema() -> None:
    assert run("schema").stdout == schema_text()


@pytest.mark.parametrize(
    ("arguments", "event_type", "key"),
    [
        (("paypal", "paypal.refund.mine"), "PAYMENT.CAPTURE.REFUNDED", "capture_id"),
        (("paypal", "paypal.capture.mine"), "PAYMENT.CAPTURE.COMPLETED", "order_id"),
        (
            ("paypal", "paypal.capture.mine", "--event", "PAYMENT.CAPTURE.PENDING"),
            "PAYMENT.CAPTURE.PENDING",
            "order_id",
        ),
        (("shopify", "shopify.refund.mine"), "REFUNDS_CREATE", "order_id"),
        (("shopify", "shop.thing"), "ORDER_TRANSACTIONS_CREATE", "order_id"),
    ],
)
def test_a_new_contract_lints_clean(tmp_path: Path, arguments: tuple[str, ...], event_type: str, key: str) -> None:
    file = new(tmp_path / "new.yaml", *arguments)
    result = run("lint", file)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "1 file, 0 errors, 0 warnings\n")
    contract = load_contract(file)
    assert (contract.provider, contract.id) == arguments[:2]
    assert contract.readings.events["own_events"].types == (event_type,)
    assert contract.readings.case_key.name == key
    assert key not in contract.readings.events["own_events"].where


def test_a_new_contract_may_be_of_a_provider_that_a_connection_declares(tmp_path: Path) -> None:
    declared = ("--connections", STRIPE / "connections.yaml")
    result = run(*declared, "new", "stripe", "stripe.refund.mine")
    file = tmp_path / "new.yaml"
    file.write_text(result.stdout, encoding="utf-8")
    assert run(*declared, "lint", file).stderr == "1 file, 0 errors, 0 warnings\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nobody", "nobody.refund.mine"), "there is no provider 'nobody' here"),
        (("paypal", "Refund"), "'Refund' is no id: names joined by points"),
        (("paypal", "paypal.refund.mine\n"), "is no id"),
        (
            ("paypal", "paypal.refund.mine", "--event", "REFUNDED"),
            "no event REFUNDED of paypal is known: there are PAY",
        ),
    ],
)
def test_what_no_contract_can_begin_with(arguments: tuple[str, ...], said: str) -> None:
    result = run("new", *arguments)
    assert result.exit_code == 1
    assert said in result.stderr


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A copy of a built-in contract under another id, and two histories beside it."""
    text = (BUILT_IN / "paypal" / "refund.completed.yaml").read_text(encoding="utf-8")
    file = tmp_path / "mine.yaml"
    file.write_text(text.replace("id: paypal.refund.completed", "id: paypal.refund.mine"), encoding="utf-8")
    beside = tmp_path / "mine.histories"
    beside.mkdir()
    for name in ("good", "cancelled"):
        history = (HISTORIES / f"paypal.refund.completed.{name}.jsonl").read_text(encoding="utf-8")
        (beside / f"{name}.jsonl").write_text(
            history.replace('"paypal.refund.completed"', '"paypal.refund.mine"'), encoding="utf-8"
        )
    return file


def test_the_histories_beside_a_contract_are_run(mine: Path) -> None:
    for path in (mine, mine.parent):
        result = run("test", path)
        assert result.exit_code == 0, result.output
        assert [line.split()[0] for line in result.stdout.splitlines()] == ["ok", "ok"]


def test_a_rule_that_is_wrong_shows(mine: Path) -> None:
    mine.write_text(mine.read_text(encoding="utf-8").replace("[FAILED, CANCELLED]", "[FAILED]"), encoding="utf-8")
    result = run("test", mine)
    assert result.exit_code == 1
    assert "cancelled.jsonl:4: op-paypal-0001: verdicts: expected FAILED, got UNVERIFIABLE" in result.stdout


def test_a_contract_that_is_refused_is_no_success(mine: Path) -> None:
    (mine.parent / "other.yaml").write_text("id: x.y\n", encoding="utf-8")
    result = run("test", mine.parent)
    assert result.exit_code == 1
    assert f"untested   {mine.parent / 'other.yaml'}: there is no other.histories/*.jsonl" in result.stdout
    assert "contract refused" in result.stderr


def test_a_malformed_history_is_the_worst(mine: Path) -> None:
    (mine.parent / "mine.histories" / "bad.jsonl").write_text("{", encoding="utf-8")
    result = run("test", mine)
    assert result.exit_code == 2
    assert "malformed" in result.stderr


def test_nothing_tested_is_no_success(mine: Path) -> None:
    shutil.rmtree(mine.parent / "mine.histories")
    assert run("test", mine).exit_code == 1


def test_a_declared_provider_is_known_from_the_histories(tmp_path: Path) -> None:
    file = shutil.copy(STRIPE / "contracts" / "refund.recorded.yaml", tmp_path / "stripe.yaml")
    (tmp_path / "stripe.histories").mkdir()
    shutil.copy(STRIPE / "history.jsonl", tmp_path / "stripe.histories")
    result = run("test", file)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("ok")
