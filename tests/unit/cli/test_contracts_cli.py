"""``proofstream contracts`` as somebody at a terminal sees it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contracts.catalogue import BUILT_IN, Catalogue
from streams.cli.contracts import contracts_group

PAGES = Path(__file__).parents[2] / "data" / "pages"
PAYPAL = BUILT_IN / "paypal" / "refund.recorded.yaml"

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a user's contract below the test's directory, with some of its text replaced."""

    def written(*replacements: tuple[str, str], name: str = "mine.yaml") -> Path:
        text = PAYPAL.read_text(encoding="utf-8")
        for old, new in (("id: paypal.refund.recorded", "id: paypal.mine.recorded"), *replacements):
            assert old in text, old
            text = text.replace(old, new, 1)
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return written


def run(*arguments: str | Path, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(contracts_group, [str(one) for one in arguments], env=env)


def line_with(path: Path, marker: str) -> int:
    return next(n for n, line in enumerate(path.read_text().splitlines(), start=1) if marker in line)


def test_list_is_an_aligned_table() -> None:
    result = run("list")
    header, *rows = result.stdout.splitlines()
    assert result.exit_code == 0
    assert result.stderr == ""
    names = [
        "id",
        "version",
        "published hash",
        "content hash",
        "level",
        "certification",
        "origin",
        "warnings",
    ]
    starts = [header.index(name) for name in names]
    cells = [[row[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)] for row in rows]
    catalogue = Catalogue.load()
    paypal, shopify = catalogue.get("paypal.refund.recorded"), catalogue.get("shopify.refund.created")
    completed = catalogue.get("paypal.refund.completed")
    rest = ["built-in", "1"]
    assert cells[2:5] == [
        [completed.id, "1.0.0", "-", completed.content_hash, "refund_completed", "provisional", "built-in", "0"],
        [paypal.id, "1.0.0", "7d45cbc2d30f5005", paypal.content_hash, "refund_recorded", "provisional", *rest],
        [shopify.id, "1.0.0", "3b0c1707cf0adcf1", shopify.content_hash, "created", "community", *rest],
    ]
    assert [row[0] for row in cells] == [one.id for one in catalogue.contracts]
    assert not any(line.endswith(" ") for line in result.stdout.splitlines())


def test_list_shows_contracts_of_ones_own(write: Write) -> None:
    path = write()
    row = next(line for line in run("--directory", path.parent, "list").stdout.splitlines() if "mine" in line)
    assert row.split()[0] == "paypal.mine.recorded"
    assert row.split()[-2:] == ["user", "1"]


def test_list_names_refused_files_and_lists_the_others(write: Write, tmp_path: Path) -> None:
    write(name="good/a.yaml")
    bad = write(("minimum_level: E2", "minimum_level: E7"), name="bad/b.yaml")
    result = run("--directory", tmp_path / "bad", "--directory", tmp_path / "good", "list")
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == len(Catalogue.load().contracts) + 2
    assert result.stderr.startswith(f"{bad}:{line_with(bad, 'E7')}: error: evidence.minimum_level: should be")


def test_list_holds_contracts_against_their_provider(write: Write) -> None:
    path = write(("where: {capture_id", "where: {capture"))
    result = run("--directory", path.parent, "list")
    assert result.exit_code == 1
    assert "readings.events.capture_refunded_events.where.capture: " in result.stderr


def test_directories_may_come_from_the_environment(write: Write, tmp_path: Path) -> None:
    write(name="one/a.yaml")
    write(("id: paypal.mine", "id: paypal.other"), name="two/b.yaml")
    variable = os.pathsep.join([str(tmp_path / "one"), str(tmp_path / "two")])
    result = run("list", env={"PROOFSTREAM_CONTRACT_DIRECTORIES": variable})
    assert result.exit_code == 0
    built_in = [one.id for one in Catalogue.load().contracts]
    listed = [line.split()[0] for line in result.stdout.splitlines()[1:]]
    assert listed == sorted([*built_in, "paypal.mine.recorded", "paypal.other.recorded"])


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_show_prints_the_published_page(page: Path) -> None:
    result = run("show", page.stem)
    assert result.exit_code == 0
    assert result.stdout == page.read_text(encoding="utf-8") + "\n"


def test_show_prints_the_file_as_it_stands(write: Write) -> None:
    assert run("show", "paypal.refund.recorded", "--yaml").stdout == PAYPAL.read_text(encoding="utf-8")
    path = write()
    path.write_text(path.read_text().rstrip("\n"))
    assert run("--directory", path.parent, "show", "paypal.mine.recorded", "--yaml").stdout == path.read_text() + "\n"


def test_show_takes_a_version(write: Write) -> None:
    path = write(('version: "1.0.0"', 'version: "1.1.0"'), ("paypal.mine", "paypal.refund"))
    directory = path.parent
    assert "Version 1.1.0" in run("--directory", directory, "show", "paypal.refund.recorded").stdout
    old = run("--directory", directory, "show", "paypal.refund.recorded", "--version", "1.0.0")
    assert "Version 1.0.0" in old.stdout
    unknown = run("show", "paypal.refund.recorded", "--version", "3.0.0")
    assert unknown.exit_code == 1
    assert unknown.stderr == "Error: There is no version 3.0.0 of paypal.refund.recorded; there is 1.0.0.\n"


def test_show_of_a_refused_contract_says_why(write: Write) -> None:
    path = write(("minimum_level: E2", "minimum_level: E7"))
    result = run("--directory", path.parent, "show", "paypal.mine.recorded")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "evidence.minimum_level" in result.stderr.splitlines()[0]
    assert "There is no contract paypal.mine.recorded." in result.stderr.splitlines()[-1]


def test_lint_of_good_files_tells_their_warnings(write: Write) -> None:
    path = write()
    result = run("lint", path)
    assert result.exit_code == 0
    (line,) = result.stdout.splitlines()
    assert line.startswith(f"{path}:{line_with(path, 'max_attempts')}: warning: timing.max_attempts: 60 attempts")
    assert result.stderr == "1 file, 0 errors, 1 warning\n"


def test_lint_of_directories_and_files(write: Write, tmp_path: Path) -> None:
    bad = write(("expected: $input.currency_code", "expected: $input.currency"), name="deep/bad.yaml")
    malformed = write(("minimum_level: E2", "minimum_level: E7"), name="malformed.txt")
    warned = write(("id: paypal.mine", "id: paypal.warned"), name="deep/a.yaml")
    good = write(("max_attempts: 60", "max_attempts: 8"), name="deep/good.yml")
    result = run("lint", tmp_path / "deep", malformed, good)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    field = "conditions.refund_currency_matches.expected"
    assert [line.partition(": ")[0] for line in lines] == [
        f"{warned}:{line_with(warned, 'max_attempts')}",
        f"{bad}:{line_with(bad, '$input.currency')}",
        f"{bad}:{line_with(bad, 'max_attempts')}",
        f"{malformed}:{line_with(malformed, 'E7')}",
    ]
    assert [line.split(": ")[1] for line in lines] == ["warning", "error", "warning", "error"]
    assert f" error: {field}: " in lines[1]
    assert result.stderr == "4 files, 2 errors, 2 warnings\n"


def test_lint_knows_what_events_carry(write: Write) -> None:
    result = run("lint", write(("case_key: {name: capture_id", "case_key: {name: order_id")))
    assert result.exit_code == 1
    assert "error: readings.case_key.name: " in result.stdout


def test_lint_refuses_a_provider_that_is_not_there(write: Write) -> None:
    result = run("lint", write(("provider: paypal", "provider: nobody")))
    assert result.exit_code == 1
    assert ":4: error: provider: there is no provider `nobody`" in result.stdout


def test_lint_refuses_what_is_there_already(write: Write) -> None:
    again = write(("id: paypal.mine", "id: paypal.refund"))
    result = run("lint", again)
    assert result.exit_code == 1
    assert f"{again}:2: error: id: paypal.refund.recorded 1.0.0 is already defined by " in result.stdout
    assert run("lint", BUILT_IN).exit_code == 0


def test_lint_of_a_directory_without_contracts(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    result = run("lint", tmp_path)
    assert result.exit_code == 1
    assert result.stdout == f"{tmp_path}:1: error: the directory holds no *.yaml or *.yml file\n"
    assert result.stderr == "0 files, 1 error, 0 warnings\n"


def test_lint_of_a_path_that_does_not_exist(tmp_path: Path) -> None:
    result = run("lint", tmp_path / "none.yaml")
    assert result.exit_code == 2
    assert "none.yaml' does not exist" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "A completion contract is a YAML file."),
        (["list"], "content hash"),
        (["show"], "--yaml"),
        (["lint"], "FILE:LINE: LEVEL: FIELD: MESSAGE"),
    ],
)
def test_help_tells_a_newcomer_what_it_is(arguments: list[str], said: str) -> None:
    result = run(*arguments, "--help")
    assert result.exit_code == 0
    assert said in result.stdout
