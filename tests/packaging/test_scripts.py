"""The scripts that a newcomer runs first: they parse, they can be run, and they say what is missing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
SCRIPTS = sorted((REPOSITORY / "scripts").iterdir())
# What scripts/env calls besides Python.
TOOLS = ("cmp", "cp", "dirname", "sh")


@pytest.fixture
def path_without_python(tmp_path: Path) -> Path:
    """A directory for PATH with the shell's tools in it and no Python."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found
        (directory / tool).symlink_to(found)
    return directory


def run_env(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [path / "sh", REPOSITORY / "scripts" / "env"],
        env={"PATH": str(path), "PROOFSTREAM_VENV": str(path / "venv")},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def fake_python(path: Path, name: str, code: str) -> None:
    (path / name).write_text(f"#!/bin/sh\n{code}\n")
    (path / name).chmod(0o755)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_can_be_run(script: Path) -> None:
    assert os.access(script, os.X_OK)
    subprocess.run(["sh", "-n", script], check=True, timeout=10)


def test_no_python_is_said_in_one_line(path_without_python: Path) -> None:
    done = run_env(path_without_python)
    assert done.returncode == 1
    assert done.stderr == "Python 3.11 or newer is needed, and none was found on the path.\n"


def test_an_old_python_does_not_count(path_without_python: Path) -> None:
    fake_python(path_without_python, "python3", "exit 1")
    assert "Python 3.11 or newer is needed" in run_env(path_without_python).stderr


def test_a_python_without_venv_is_named_with_its_package(path_without_python: Path) -> None:
    fake_python(path_without_python, "python3.12", 'case "$2" in *ensurepip*) exit 1 ;; esac')
    done = run_env(path_without_python)
    assert done.returncode == 1
    assert "apt install python3.12-venv" in done.stderr
