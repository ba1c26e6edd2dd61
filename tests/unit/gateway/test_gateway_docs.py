"""The gateway's page says what the gateway does."""

import re
from pathlib import Path

import pytest
from gate import TOKEN
from pydantic import ValidationError

from streams.gateway import problems
from streams.gateway.settings import ENV_PREFIX, GatewaySettings

PAGE = Path("docs/gateway.md")


def settings_table() -> str:
    """Write the table as it must stand on the page."""
    rows = ["| variable | default | meaning |", "| --- | --- | --- |"]
    for name, field in GatewaySettings.model_fields.items():
        shown = "" if field.default is None else f"`{field.default}`"
        rows.append(f"| `{ENV_PREFIX}{name.upper()}` | {shown} | {field.description} |")
    return "\n".join(rows) + "\n"


def test_the_page_documents_every_setting():
    found = re.search(r"<!-- settings -->\n(.*?)<!-- /settings -->", PAGE.read_text(), re.DOTALL)

    assert found is not None
    assert found[1] == settings_table()


def test_the_page_names_every_problem():
    sources = "".join(file.read_text() for file in Path("streams/gateway").glob("*.py"))
    kinds = set(re.findall(r'(?:Problem\(\s*\d+,|try_again\(|40[45]:)\s*"(\w+)"', sources))

    assert {"not_authentic", "not_acknowledged", "not_verifiable", "busy", "method_not_allowed"} <= kinds
    assert not [kind for kind in kinds if f"`{kind}`" not in PAGE.read_text()]


def test_a_sender_is_asked_to_come_again_soon():
    assert problems.try_again("busy", "x").headers["Retry-After"] == str(problems.RETRY_AFTER_S)


@pytest.mark.parametrize("token", ["short", "x" * 23, "with a space in it and long enough", "ü" * 30, "line\nfeed" * 5])
def test_a_token_that_could_be_guessed_or_sent_wrongly_is_refused_and_not_echoed(token: str):
    with pytest.raises(ValidationError) as refused:
        GatewaySettings(_env_file=None, trusted_token=token)

    assert token not in str(refused.value)


def test_a_token_does_not_show():
    assert TOKEN not in repr(GatewaySettings(_env_file=None, trusted_token=TOKEN))
