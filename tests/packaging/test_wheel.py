"""The wheel is what people get, so it is what is tested here: what is in it, and that it runs on its own."""

import os
import subprocess
import sys
import venv
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
PACKAGES = {"contracts", "streams", "verifiers"}

# The first test that installs the wheel downloads what it depends on.
pytestmark = pytest.mark.timeout(600)


def run(*command: str | Path, cwd: Path, within_s: float = 300) -> str:
    """Run a command away from the sources and return what it printed; its failure is the test's."""
    env = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=within_s,
        check=False,
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", directory, cwd=REPOSITORY)
    [built] = directory.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def metadata(wheel: Path, names: set[str]) -> Message:
    [name] = [name for name in names if name.endswith(".dist-info/METADATA")]
    with zipfile.ZipFile(wheel) as archive:
        return Parser().parsestr(archive.read(name).decode())


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a new virtualenv's commands, with the wheel and its extra in it and nothing else."""
    directory = tmp_path_factory.mktemp("venv")
    venv.create(directory, with_pip=True)
    commands = directory / ("Scripts" if os.name == "nt" else "bin")
    run(commands / "python", "-m", "pip", "install", "--quiet", f"{wheel}[demo]", cwd=directory)
    return commands


def test_the_wheel_holds_the_three_packages_and_nothing_else(names: set[str]) -> None:
    assert {name.split("/")[0] for name in names} == PACKAGES | {"proofstream-0.1.0.dist-info"}


def test_the_wheel_holds_every_contract(names: set[str]) -> None:
    catalogue = REPOSITORY / "contracts" / "catalog"
    expected = {path.relative_to(REPOSITORY).as_posix() for path in catalogue.rglob("*.yaml")}
    assert expected
    beside = {"contracts/skeleton.yaml", "contracts/contract.schema.json"}
    assert {name for name in names if name.endswith((".yaml", ".yml", ".json"))} == expected | beside


def test_the_wheel_says_that_it_is_typed(names: set[str]) -> None:
    assert {f"{package}/py.typed" for package in PACKAGES} <= names


def test_the_wheel_holds_no_leftovers(names: set[str]) -> None:
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".orig", ".log"))]


def test_the_metadata_says_what_it_is(metadata: Message) -> None:
    assert metadata["Name"] == "proofstream"
    assert metadata["Version"] == "0.1.0"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_all("Provides-Extra") == ["demo"]


def test_the_wheel_installs_on_its_own(installed: Path, tmp_path: Path) -> None:
    run(installed / "python", "-m", "pip", "check", cwd=tmp_path)
    shown = run(installed / "python", "-m", "pip", "show", "proofstream", cwd=tmp_path)
    assert {"Name: proofstream", "Version: 0.1.0"} <= set(shown.splitlines())
    imported = "import contracts, streams, verifiers; print(*(m.__file__ for m in (contracts, streams, verifiers)))"
    for path in run(installed / "python", "-c", imported, cwd=tmp_path).split():
        assert Path(path).is_relative_to(installed.parent)


def test_the_command_explains_itself(installed: Path, tmp_path: Path) -> None:
    assert "Usage: proofstream" in run(installed / "proofstream", "--help", cwd=tmp_path)


def test_the_command_lists_the_contracts(installed: Path, tmp_path: Path) -> None:
    listed = run(installed / "proofstream", "contracts", "list", cwd=tmp_path)
    assert "shopify.refund.created" in listed
    assert "paypal.refund.recorded" in listed


@pytest.mark.embedded
def test_the_demo_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    shown = run(installed / "proofstream", "demo", cwd=tmp_path, within_s=180)
    assert "VERIFIED" in shown
