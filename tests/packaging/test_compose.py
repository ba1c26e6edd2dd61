"""The container files: what docker-compose reads in them, and what they promise. No image is built here."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from streams.cli import cli
from streams.gateway.settings import ENV_PREFIX, GatewaySettings
from streams.settings import Settings

REPOSITORY = Path(__file__).parent.parent.parent
COMPOSE = REPOSITORY / "docker-compose.yml"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return read["services"]


def test_docker_compose_accepts_the_file(tmp_path: Path) -> None:
    if shutil.which("docker-compose") is None:
        pytest.skip("docker-compose is not installed (Debian: apt install docker-compose)")
    shutil.copy(COMPOSE, tmp_path)
    (tmp_path / "connections.yaml").write_text("connections: []\n")
    (tmp_path / "secrets.env").write_text("")

    done = subprocess.run(
        ["docker-compose", "config"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr
    resolved = yaml.safe_load(done.stdout)
    assert set(resolved["services"]) == {"kafka", "worker", "gateway"}
    # Escaped here too: the dollar is the container's shell's, and not docker-compose's own.
    assert "$$(find " in done.stdout


def test_every_service_has_a_health_check_and_comes_back(services: dict[str, Any]) -> None:
    for service in services.values():
        assert service["healthcheck"]["test"]
        assert service["restart"] == "unless-stopped"


def test_the_worker_waits_for_a_healthy_kafka(services: dict[str, Any]) -> None:
    assert services["worker"]["depends_on"] == {"kafka": {"condition": "service_healthy"}}


def test_the_worker_is_given_settings_that_exist(services: dict[str, Any]) -> None:
    settings = {f"PROOFSTREAM_{name.upper()}" for name in Settings.model_fields}
    worker = services["worker"]
    assert set(worker["environment"]) <= settings
    assert worker["environment"]["PROOFSTREAM_CONNECTIONS_FILE"] == worker["volumes"][0]["target"]
    assert worker["environment"]["PROOFSTREAM_HEALTH_FILE"] in worker["healthcheck"]["test"][1]


def test_only_this_machine_reaches_what_is_published(services: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published == {"kafka": ["127.0.0.1:9092:9092"], "gateway": ["127.0.0.1:8080:8080"]}


def test_the_gateway_is_given_what_exists(services: dict[str, Any]) -> None:
    settings = {f"PROOFSTREAM_{name.upper()}" for name in Settings.model_fields}
    settings |= {f"{ENV_PREFIX}{name.upper()}" for name in GatewaySettings.model_fields}
    gateway, worker = services["gateway"], services["worker"]
    assert set(gateway["environment"]) <= settings
    assert gateway["environment"].items() <= worker["environment"].items()
    assert gateway["volumes"] == worker["volumes"]
    asked = CliRunner().invoke(cli, [*gateway["command"], "--help"])
    assert asked.exit_code == 0, asked.output
    assert f":{GatewaySettings.model_fields['port'].default}/readyz" in gateway["healthcheck"]["test"][-1]


def test_the_gateways_health_check_is_python_that_runs(services: dict[str, Any]) -> None:
    name, *arguments = services["gateway"]["healthcheck"]["test"][1:]
    assert name == "python"
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "Connection refused" in done.stderr or "HTTP Error" in done.stderr


def test_each_side_is_told_the_address_that_it_can_reach(services: dict[str, Any]) -> None:
    kafka = services["kafka"]["environment"]
    advertised = dict(entry.split("://") for entry in kafka["KAFKA_ADVERTISED_LISTENERS"].split(","))
    assert advertised["INSIDE"] == services["worker"]["environment"]["PROOFSTREAM_BOOTSTRAP_SERVERS"]
    assert advertised["OUTSIDE"] == "127.0.0.1:9092"
    assert kafka["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"
    listening = {entry.split("://")[0] for entry in kafka["KAFKA_LISTENERS"].split(",")}
    mapped = {entry.split(":")[0] for entry in kafka["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(",")}
    assert listening == mapped == {*advertised, "CONTROLLER"}


def test_kafka_keeps_its_data_in_the_volume(services: dict[str, Any]) -> None:
    directory = services["kafka"]["environment"]["KAFKA_LOG_DIRS"]
    assert services["kafka"]["volumes"] == [f"kafka-data:{directory}"]


def test_the_image_gets_what_it_copies_and_nothing_else() -> None:
    lines = (REPOSITORY / "Dockerfile").read_text().splitlines()
    copies = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    copied = {source for sources in copies for source in sources}
    let_through = {line[1:] for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied == let_through
    assert not [source for source in copied if not (REPOSITORY / source).exists()]


def test_the_image_does_not_run_as_root() -> None:
    users = [line.split()[1] for line in (REPOSITORY / "Dockerfile").read_text().splitlines() if "USER " in line]
    assert users[-1] not in {"0", "root"}
