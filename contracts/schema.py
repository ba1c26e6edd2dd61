"""The contract format as JSON Schema, for editors that complete and check YAML while one writes.

It says what the model says of a file's form: its fields, which of them must be there, and the words that each may hold.
What depends on several fields, or on what a provider sends, only `contracts lint` finds.
"""

import json
from pathlib import Path
from typing import Any, Final

from contracts.model import Contract

# The file that the repository keeps, and that the catalogue's own files name in their first line.
SCHEMA_FILE: Final = Path(__file__).parent / "contract.schema.json"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """Return the schema of a contract file."""
    schema: dict[str, Any] = _tidy(Contract.model_json_schema(by_alias=True))
    return {"$schema": _DIALECT, "title": "A completion contract of proofstream", **schema}


def schema_text() -> str:
    """Write the schema as the repository keeps it."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _tidy(node: Any, *, named: bool = False) -> Any:
    """Drop the titles, which repeat the fields' names, and allow no name that the format does not."""
    if isinstance(node, list):
        return [_tidy(one) for one in node]
    if not isinstance(node, dict):
        return node
    kept = {
        name: _tidy(one, named=name in ("properties", "$defs"))
        for name, one in node.items()
        if named or name != "title" or not isinstance(one, str)
    }
    if "patternProperties" in kept and not named:
        kept["additionalProperties"] = False
    return kept
