"""The connections' file as the gateway reads it: signing secrets, and no keys to the accounts."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from streams.gateway.senders import load_senders
from verifiers.connections import ConnectionsError, load_connections

SHOP = {
    "id": "acme",
    "provider": "shopify",
    "shop": "acme.myshopify.com",
    "credentials": {"access_token": {"env": "NOT_SET_HERE"}},
    "webhook_auth": {"hmac_secrets": [{"env": "SIGNING"}]},
}


@pytest.fixture(autouse=True)
def signing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNING", "a secret of the tests")
    monkeypatch.delenv("NOT_SET_HERE", raising=False)


def written(path: Path, *connections: Any) -> Path:
    file = path / "connections.yaml"
    file.write_text(yaml.safe_dump({"connections": list(connections)}))
    return file


def test_credentials_are_neither_needed_nor_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = written(tmp_path, SHOP)
    with pytest.raises(ConnectionsError, match="NOT_SET_HERE"):
        load_connections(file)
    monkeypatch.setenv("NOT_SET_HERE", "a key to the account")

    senders = load_senders(file)

    assert getattr(senders["acme"], "credentials", "?") is None


def test_the_example_is_read_with_its_signing_secret_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ACME_SHOPIFY_SECRET", "x")

    assert "acme" in load_senders(Path("examples/connections.yaml"))


@pytest.mark.parametrize(
    ("connections", "said"),
    [
        ([SHOP, SHOP], "connection acme: id: there is another connection of this id"),
        ([SHOP | {"webhook_auth": {"hmac_secrets": [{"env": "NOT_SET_HERE"}]}}], "NOT_SET_HERE is not set"),
        ([{name: SHOP[name] for name in SHOP if name != "webhook_auth"}], "connection acme: webhook_auth"),
        ([SHOP | {"provider": "nobody"}], "unknown provider"),
        (["a text"], "connection number 1: a connection is a mapping"),
        ([{"provider": "shopify"}], "connection number 1: id"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, connections: list[Any], said: str):
    with pytest.raises(ConnectionsError, match=said):
        load_senders(written(tmp_path, *connections))


def test_a_file_that_is_none_is_named(tmp_path: Path):
    with pytest.raises(ConnectionsError, match=r"connections\.yaml: cannot be read"):
        load_senders(tmp_path / "connections.yaml")
    (tmp_path / "list.yaml").write_text("[]")
    with pytest.raises(ConnectionsError, match="the file holds one member"):
        load_senders(tmp_path / "list.yaml")
