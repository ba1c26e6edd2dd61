"""The JSON Schema says what the model says, as far as one file's form goes."""

import copy
import json
from datetime import date
from typing import Any

import jsonschema
import pytest
from mutation import PAYPAL

from contracts.catalogue import BUILT_IN, yaml_files
from contracts.operators import NAMES
from contracts.schema import SCHEMA_FILE, json_schema, schema_text
from contracts.yaml_source import read_yaml


def as_json(value: Any) -> Any:
    """Read a YAML value as an editor does: sequences are arrays, dates are text."""
    if isinstance(value, tuple):
        return [as_json(one) for one in value]
    if isinstance(value, dict):
        return {name: as_json(one) for name, one in value.items()}
    return value.isoformat() if isinstance(value, date) else value


def faults(document: Any) -> list[str]:
    return [one.json_path for one in jsonschema.Draft202012Validator(json_schema()).iter_errors(document)]


def test_the_schema_that_is_kept_is_that_of_the_model() -> None:
    """Write it anew with `proofstream contracts schema > contracts/contract.schema.json`."""
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text()


@pytest.mark.parametrize("file", list(yaml_files(BUILT_IN)), ids=lambda file: file.stem)
def test_every_built_in_contract_fits_and_names_the_schema(file: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    assert faults(as_json(read_yaml(file).data)) == []
    first = file.read_text(encoding="utf-8").splitlines()[0]
    named = first.removeprefix("# yaml-language-server: $schema=")
    assert (file.parent / named).resolve() == SCHEMA_FILE.resolve()


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        (("colour",), "red"),
        (("evidence", "minimum_level"), "E7"),
        (("conditions", "refund_present", "operator"), "equals"),
        (("conditions", "refund_present", "path"), "refund.id"),
        (("conditions", "Refund-Present"), {}),
        (("channels", "refund_readback", "verifier"), "ftp"),
        (("timing", "max_attempts"), 0),
        (("timing", "max_attempts"), "60"),
        (("readings", "input", "amount", "type"), "number"),
        (("readings", "rules", "duplicate_refund_present", "as"), "float"),
    ],
)
def test_what_the_model_refuses_the_schema_marks(steps: tuple[str, ...], value: Any) -> None:
    document = as_json(copy.deepcopy(read_yaml(BUILT_IN / PAYPAL).data))
    node = document
    for step in steps[:-1]:
        node = node[step]
    node[steps[-1]] = value
    assert faults(document)


@pytest.mark.parametrize("name", ["id", "timing", "readings", "conditions"])
def test_a_field_that_must_be_there_is_missed(name: str) -> None:
    document = as_json(read_yaml(BUILT_IN / PAYPAL).data)
    del document[name]
    assert faults(document) == ["$"]


def test_every_operator_is_offered() -> None:
    assert json_schema()["$defs"]["Rule"]["properties"]["operator"]["enum"] == list(NAMES)
    assert json.loads(schema_text()) == json_schema()
