"""The README's table of settings is the settings."""

import re
from pathlib import Path

from pydantic_core import PydanticUndefined

from streams.settings import Settings

README = Path("README.md")


def settings_table() -> str:
    """Write the table as it must stand in the README."""
    rows = ["| variable | default | meaning |", "| --- | --- | --- |"]
    for name, field in Settings.model_fields.items():
        assert field.default is not PydanticUndefined
        shown = "" if field.default in (None, "", ()) else f"`{field.default}`"
        rows.append(f"| `PROOFSTREAM_{name.upper()}` | {shown} | {field.description} |")
    return "\n".join(rows) + "\n"


def test_the_readme_documents_every_setting():
    found = re.search(r"<!-- settings -->\n(.*?)<!-- /settings -->", README.read_text(), re.DOTALL)

    assert found is not None
    assert found[1] == settings_table()
