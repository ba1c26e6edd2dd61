"""Every history here comes out as it says."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import cli

HISTORIES = sorted(Path(__file__).parent.glob("*.jsonl"))


def test_there_are_histories():
    assert len(HISTORIES) >= 70


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_a_history_comes_out_as_it_says(path: Path):
    outcome = CliRunner().invoke(cli, ["replay", str(path)])

    assert outcome.exit_code == 0, outcome.output


def test_a_wrong_expectation_is_a_difference_in_words(tmp_path: Path):
    text = HISTORIES[0].read_text().replace('"verdict": "VERIFIED"', '"verdict": "FAILED"')
    file = tmp_path / "wrong.jsonl"
    file.write_text(text)

    outcome = CliRunner().invoke(cli, ["replay", str(file)])

    assert outcome.exit_code == 1
    assert "verdicts: expected FAILED, got VERIFIED" in outcome.output


def test_a_malformed_history_names_line_and_field(tmp_path: Path):
    file = tmp_path / "malformed.jsonl"
    file.write_text(HISTORIES[0].read_text() + '{"expect": {"operation_id": "x", "verdicts": [{"verdict": "YES"}]}}\n')

    outcome = CliRunner().invoke(cli, ["replay", str(HISTORIES[0]), str(file)])

    assert outcome.exit_code == 2
    assert f"malformed.jsonl:{len(file.read_text().splitlines())}: verdicts.0.verdict: " in outcome.output
