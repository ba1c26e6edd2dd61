"""The page on connections names every setting that a connection may have, and its examples are good."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pydantic import BaseModel

from verifiers.connection import INLINE_SECRETS, Connection
from verifiers.connections import parse_connection
from verifiers.declared import DeclaredConnection
from verifiers.providers import providers

PAGE = (Path(__file__).parents[3] / "docs" / "connections.md").read_text(encoding="utf-8")


def fields(model: type[BaseModel]) -> Iterator[str]:
    """Every field's name of a model, and of the models within it."""
    for name, field in model.model_fields.items():
        yield name
        for found in models(field.annotation):
            yield from fields(found)


def models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for one in get_args(annotation):
        yield from models(one)


@pytest.mark.parametrize("model", [*(one.connection for one in providers().values()), DeclaredConnection])
def test_every_setting_is_named(model: type[Connection]) -> None:
    missing = {name for name in fields(model) if not re.search(rf"`(?:[a-z_.]+\.)?{name}\b", PAGE)}
    assert missing == set()


def without_env(value: Any) -> Any:
    """Write secrets out, as a history may."""
    if isinstance(value, dict):
        return "a secret" if value.keys() == {"env"} else {name: without_env(one) for name, one in value.items()}
    return [without_env(one) for one in value] if isinstance(value, list) else value


def test_the_examples_are_good() -> None:
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
    whole = [one for block in blocks for one in (block if isinstance(block, list) else block.get("connections", []))]
    assert [one["id"] for one in whole] == ["acme", "acme-stripe"]
    for one in whole:
        parse_connection(without_env(one), "the page", INLINE_SECRETS)
    (simulator,) = [block for block in blocks if "webhook_auth" in block]
    document = {"id": "sim", "provider": "paypal", "base_url": "https://api-m.sandbox.paypal.com", **simulator}
    parse_connection(document, "the page")


def test_the_schemes_of_the_table_are_good() -> None:
    rows = re.findall(r"^\| (?:Stripe|GitHub|Slack) \| (.*) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 3
    for row in rows:
        scheme: dict[str, Any] = {"secrets": ["a secret"]}
        for part in re.findall(r"`([^`]*)`", row):
            scheme |= yaml.safe_load(part)
        declaration = {"type": "type", "types": {"x": {"resource": "id", "created": {"path": "t", "form": "unix_s"}}}}
        declaration["types"]["x"]["identifiers"] = {"x_id": "id"}
        document = {"id": "x", "provider": "x", "webhook_auth": {"hmac": scheme}, "events": declaration}
        parse_connection(document, "the table", INLINE_SECRETS)
