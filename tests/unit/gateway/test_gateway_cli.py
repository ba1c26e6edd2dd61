"""``proofstream gateway`` that cannot start says why, in one sentence."""

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.cli import cli


@pytest.fixture
def connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "connections.yaml"
    file.write_text("connections: []\n")
    monkeypatch.setenv("PROOFSTREAM_CONNECTIONS_FILE", str(file))
    monkeypatch.chdir(tmp_path)
    return file


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["gateway", *arguments])


def test_a_setting_that_is_wrong_is_named(connections: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PROOFSTREAM_GATEWAY_MAX_BODY_BYTES", "5000000")

    done = run()

    assert done.exit_code == 1
    assert done.output.startswith("Error: the setting PROOFSTREAM_GATEWAY_MAX_BODY_BYTES: ")


def test_an_option_goes_before_the_environment(connections: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PROOFSTREAM_GATEWAY_PORT", "1")

    assert "PROOFSTREAM_GATEWAY_PORT: " in run("--port", "70000").output


def test_a_token_that_is_wrong_is_not_echoed(connections: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PROOFSTREAM_GATEWAY_TRUSTED_TOKEN", "guessable")

    done = run()

    assert "PROOFSTREAM_GATEWAY_TRUSTED_TOKEN: " in done.output
    assert "guessable" not in done.output


def test_connections_that_are_wrong_are_named(connections: Path):
    connections.unlink()

    assert f"Error: {connections}: cannot be read" in run().output


def test_an_address_that_is_taken_is_named(connections: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("--port", str(port))

    assert done.exit_code == 1
    assert done.output.startswith(f"Error: cannot listen on 127.0.0.1, port {port}: ")


def test_a_host_that_is_none_is_named(connections: Path):
    assert run("--host", "nowhere.invalid", "--port", "0").output.startswith("Error: cannot listen on nowhere.invalid")
