"""The connections' file: what it may say, what an error names, and that no secret ever shows."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from accounts import paypal, shop

from verifiers.connection import INLINE_SECRETS
from verifiers.connections import ConnectionsError, load_connections, parse_connection

ACME: dict[str, Any] = {
    "id": "acme",
    "provider": "shopify",
    "shop": "acme.myshopify.com",
    "credentials": {"access_token": {"env": "ACME_TOKEN"}},
    "webhook_auth": {"hmac_secrets": [{"env": "ACME_HMAC"}, {"env": "ACME_HMAC_OLD"}]},
}
PAY: dict[str, Any] = {
    "id": "pay",
    "provider": "paypal",
    "credentials": {"client_id": {"env": "PAY_ID"}, "client_secret": {"env": "PAY_SECRET"}},
    "webhook_auth": "trusted",
}
SECRETS = {
    "ACME_TOKEN": "shpat_0123456789",
    "ACME_HMAC": "hmac-new-0123456789",
    "ACME_HMAC_OLD": "hmac-old-0123456789",
    "PAY_ID": "client-0123456789",
    "PAY_SECRET": "secret-0123456789",
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


def written(directory: Path, document: Any) -> Path:
    path = directory / "connections.yaml"
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document), encoding="utf-8")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ConnectionsError) as caught:
        load_connections(path)
    return str(caught.value)


def test_the_file_is_read_and_secrets_come_from_the_environment(tmp_path: Path) -> None:
    connections = load_connections(written(tmp_path, {"connections": [ACME, PAY]}))
    assert list(connections) == ["acme", "pay"]
    acme: Any = connections["acme"]
    pay: Any = connections["pay"]
    assert acme.credentials.access_token.get_secret_value() == SECRETS["ACME_TOKEN"]
    hmacs = [one.get_secret_value() for one in acme.webhook_auth.hmac_secrets]
    assert hmacs == [SECRETS["ACME_HMAC"], SECRETS["ACME_HMAC_OLD"]]
    assert pay.credentials.client_secret.get_secret_value() == SECRETS["PAY_SECRET"]


def test_an_account_knows_where_its_api_is(tmp_path: Path) -> None:
    connections = load_connections(written(tmp_path, {"connections": [ACME, PAY]}))
    assert connections["acme"].url == "https://acme.myshopify.com"
    assert connections["pay"].url == "https://api-m.paypal.com"
    assert paypal(base_url="https://api-m.sandbox.paypal.com/").url == "https://api-m.sandbox.paypal.com"
    assert shop(base_url="http://127.0.0.1:8080/shop/").url == "http://127.0.0.1:8080/shop"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("", "one member, `connections`, a list"),
        ("[]", "one member, `connections`, a list"),
        ("connections: {}", "one member, `connections`, a list"),
        ("connections: []\nother: 1", "one member, `connections`, a list"),
        ("connections: [a, b", "no YAML"),
        ("connections: !!python/object/apply:os.getcwd []", "no YAML"),
    ],
)
def test_a_file_that_is_no_list_of_connections_is_refused(tmp_path: Path, document: str, said: str) -> None:
    path = written(tmp_path, document)
    sentence = refusal(path)
    assert sentence.startswith(f"{path}")
    assert said in sentence


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "connections.yaml"
    assert refusal(path).startswith(f"{path}: ")
    path.write_bytes(b"\xff\xfe\x00connections")
    assert refusal(path).startswith(f"{path}: ")


def test_an_empty_list_is_no_mistake(tmp_path: Path) -> None:
    assert load_connections(written(tmp_path, "connections: []")) == {}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"shpo": "x"}, "shpo"),
        ({"id": "a b"}, "id"),
        ({"id": ""}, "id"),
        ({"id": "a/b"}, "id"),
        ({"id": "-a"}, "id"),
        ({"id": "a\n"}, "id"),
        ({"id": "x" * 65}, "id"),
        ({"id": 7}, "id"),
        ({"shop": 7}, "shop"),
        ({"credentials": None}, "credentials"),
        ({"credentials": {}}, "credentials.access_token"),
        ({"credentials": {"access_token": {"env": "UNSET_VARIABLE"}}}, "credentials.access_token"),
        ({"credentials": {"access_token": {"env": 7}}}, "credentials.access_token"),
        ({"credentials": {"access_token": {"environment": "ACME_TOKEN"}}}, "credentials.access_token"),
        ({"credentials": {"access_token": {"env": "ACME_TOKEN"}, "extra": 1}}, "credentials.extra"),
        ({"webhook_auth": None}, "webhook_auth"),
        ({"webhook_auth": "trust"}, "webhook_auth"),
        ({"webhook_auth": {"hmac_secrets": []}}, "hmac_secrets"),
        ({"webhook_auth": {"hmac_secrets": {"env": "ACME_HMAC"}}}, "hmac_secrets"),
        ({"base_url": "ftp://host"}, "base_url must look like"),
        ({"base_url": "host/path"}, "base_url must look like"),
        ({"base_url": "https://"}, "base_url must look like"),
        ({"base_url": "https://host?x=1"}, "base_url must look like"),
        ({"base_url": "https://host/#x"}, "base_url must look like"),
        ({"base_url": "https://user@host"}, "base_url must not hold credentials"),
        ({"base_url": "https://user:pass@host"}, "base_url must not hold credentials"),
        ({"shop": None}, "base_url"),
        ({"provider": "stripe"}, "provider: unknown provider 'stripe'"),
        ({"provider": None}, "provider: unknown provider None"),
        ({"provider": ["shopify"]}, "provider: unknown provider"),
    ],
)
def test_every_error_names_file_connection_and_field(tmp_path: Path, changes: dict[str, Any], field: str) -> None:
    document = {name: value for name, value in (ACME | changes).items() if value is not None}
    path = written(tmp_path, {"connections": [PAY, document]})
    sentence = refusal(path)
    where = changes.get("id", "acme") or "number 2"
    assert sentence.startswith(f"{path}: connection {where}: ")
    assert field in sentence


def test_a_connection_without_an_id_is_named_by_its_number(tmp_path: Path) -> None:
    path = written(tmp_path, {"connections": [PAY, {"provider": "shopify"}, 7]})
    assert refusal(path).startswith(f"{path}: connection number 2: id: ")
    path = written(tmp_path, {"connections": [7]})
    assert refusal(path) == f"{path}: connection number 1: a connection is a mapping with id, provider, …"


def test_an_id_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {"connections": [ACME, {**PAY, "id": "acme"}]})
    assert refusal(path) == f"{path}: connection acme: id: there is another connection of this id"


def test_every_field_that_is_wrong_is_named_at_once(tmp_path: Path) -> None:
    sentence = refusal(written(tmp_path, {"connections": [{**ACME, "shop": 7, "webhook_auth": "trust", "x": 1}]}))
    assert all(f" {field}" in sentence for field in ("shop:", "webhook_auth", "x:"))


def test_an_unset_variable_is_named() -> None:
    with pytest.raises(ConnectionsError, match="the environment variable UNSET is not set"):
        parse_connection({**ACME, "credentials": {"access_token": {"env": "UNSET"}}}, "test")


def test_an_empty_variable_is_an_unset_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_TOKEN", "")
    with pytest.raises(ConnectionsError, match="the environment variable ACME_TOKEN is not set"):
        parse_connection(ACME, "test")


# -- secrets


def test_a_secret_may_be_written_out_only_where_that_is_allowed() -> None:
    document = {**ACME, "credentials": {"access_token": "shpat_WRITTEN"}, "webhook_auth": "trusted"}
    with pytest.raises(ConnectionsError, match=r"as \{env: NAME\}") as caught:
        parse_connection(document, "test")
    assert "shpat_WRITTEN" not in str(caught.value)
    found: Any = parse_connection(document, "test", INLINE_SECRETS)
    assert found.credentials.access_token.get_secret_value() == "shpat_WRITTEN"


@pytest.mark.parametrize("secret", ["", 7, None, True, [], {}, {"env": "ACME_TOKEN", "more": 1}, {"env": ""}])
def test_what_is_no_secret_is_refused_even_there(secret: Any) -> None:
    with pytest.raises(ConnectionsError, match="access_token"):
        parse_connection({**ACME, "credentials": {"access_token": secret}}, "test", INLINE_SECRETS)


def test_no_secret_shows_in_any_text_of_a_connection(tmp_path: Path) -> None:
    connections = load_connections(written(tmp_path, {"connections": [ACME, PAY]}))
    for connection in connections.values():
        texts = [
            repr(connection),
            str(connection),
            f"{connection}",
            connection.model_dump_json(),
            repr(vars(connection)),
        ]
        texts.append(repr(connection.model_dump()))
        assert not [secret for secret in SECRETS.values() for text in texts if secret in text]


@pytest.mark.parametrize(
    "broken",
    [
        {"shop": 7},
        {"credentials": {"access_token": "LEAKED", "extra": "LEAKED"}},
        {"credentials": "LEAKED"},
        {"credentials": ["LEAKED"]},
        {"webhook_auth": "LEAKED"},
        {"webhook_auth": {"hmac_secrets": "LEAKED"}},
        {"webhook_auth": {"hmac_secrets": ["LEAKED"]}},
        {"webhook_auth": {"hmac_secret": ["LEAKED"]}},
        {"base_url": "https://user:LEAKED@host"},
        {"shop": {"x": "LEAKED"}},
    ],
)
def test_no_value_shows_in_an_error(tmp_path: Path, broken: dict[str, Any]) -> None:
    with pytest.raises(ConnectionsError) as caught:
        load_connections(written(tmp_path, {"connections": [{**ACME, **broken}]}))
    shown = f"{caught.value} {caught.value!r} {caught.value.__cause__!r}"
    assert "LEAKED" not in shown
    assert not [secret for secret in SECRETS.values() if secret in shown]


@pytest.mark.parametrize(
    "text",
    [
        "connections:\n  - id: acme\n    credentials: {access_token: LEAKED\n    shop: [",
        "connections:\n  - access_token: LEAKED: LEAKED\n",
        "connections: ['LEAKED\n",
        "connections: [LEAKED, \x01]",
        "connections: &LEAKED [*UNKNOWN]",
        "connections: !LEAKED x",
    ],
)
def test_no_value_shows_in_the_error_of_a_file_that_is_no_yaml(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    sentence = refusal(path)
    assert "LEAKED" not in sentence.replace("!LEAKED", "")
    assert sentence.startswith(str(path))


def test_the_environment_is_read_once_when_the_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connections = load_connections(written(tmp_path, {"connections": [ACME]}))
    monkeypatch.delenv("ACME_TOKEN")
    acme: Any = connections["acme"]
    assert acme.credentials.access_token.get_secret_value() == SECRETS["ACME_TOKEN"]
    assert "ACME_TOKEN" not in os.environ


def test_a_connection_cannot_be_changed(tmp_path: Path) -> None:
    acme: Any = load_connections(written(tmp_path, {"connections": [ACME]}))["acme"]
    with pytest.raises(ValueError, match="frozen"):
        acme.shop = "evil.myshopify.com"


@pytest.mark.parametrize(
    "secret", ["shpat_LEAKED\n", " shpat_LEAKED", "shpat_LEAKED\r\n", "\tshpat_LEAKED", "a\x00LEAKED"]
)
def test_a_secret_that_no_header_can_carry_is_refused_when_it_is_read(
    secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "\x00" in secret:
        document = {**ACME, "credentials": {"access_token": secret}}  # no environment variable holds it
    else:
        monkeypatch.setenv("ACME_TOKEN", secret)
        document = ACME
    with pytest.raises(ConnectionsError, match="access_token") as caught:
        parse_connection(document, "test", INLINE_SECRETS)
    assert "LEAKED" not in str(caught.value)
