"""Reading one contract file, and saying in plain words what is wrong with it."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import ValidationError

from contracts.model import Contract, Model
from contracts.problems import ContractFileError, Problem
from contracts.yaml_source import Location, YamlSource, dotted, read_yaml

_LONGEST_SHOWN = 60

# What each pattern of the model asks for. A test holds this against the model.
PATTERNS: Final = {
    r"^[a-z][a-z0-9_]*$": "lower-case letters, digits and underscores, a letter first",
    r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$": "names joined by points, such as `shop.refund.created`",
    r"^[0-9]+\.[0-9]+\.[0-9]+$": "three numbers joined by points, such as `1.0.0`",
    r"^[^{}]*\{number\}[^{}]*$": "the full form of the identifier, with `{number}` once in it",
    r"^/[^\s?#]*$": "a path from the root, such as `/v2/refunds/{refund_id}` (no space, `?`, `#`)",
    r"^[A-Za-z_][A-Za-z0-9_.\[\]]*$": "a path within the answer's body, such as `data.refund`",
}
_UNION = "should be text, a whole number, true or false, or a list of these"
_WORDS: Final = {
    "missing": "this field is missing",
    "string_type": "should be text (in quotes where it looks like a number or a date)",
    "string_too_short": "should not be empty",
    "too_short": "should not be empty",
    "int_type": "should be a whole number",
    "bool_type": "should be true or false",
    "date_type": "should be a date such as 2026-09-05",
    "tuple_type": "should be a list",
    "dict_type": "should be a mapping, `name: value`",
    "model_type": "should be a mapping of fields, `name: value`",
}
# Errors whose sentence says enough without the value.
_SELF_EXPLANATORY = ("missing", "extra_forbidden", "string_too_short", "too_short", "value_error")


@dataclass(frozen=True, slots=True)
class ContractFile:
    """A contract and the file that says it."""

    contract: Contract
    source: YamlSource


def read_contract(file: Path) -> ContractFile:
    """Read a contract file.

    Raises:
        ContractFileError: the file is no contract; it carries one problem for each thing that is wrong.
    """
    source = read_yaml(file)
    try:
        return ContractFile(Contract.model_validate(source.data), source)
    except ValidationError as error:
        raise ContractFileError(_problems(source, error)) from None


def _problems(source: YamlSource, error: ValidationError) -> list[Problem]:
    found: dict[Location, list[Any]] = {}
    for one in error.errors(include_url=False):
        found.setdefault(_location(source, one), []).append(one)
    problems = [
        Problem(source.file, source.line_of(location), dotted(location), _message(location, errors))
        for location, errors in found.items()
        if len(errors) == 1 or not _explained_within(location, found)
    ]
    return sorted(problems, key=lambda problem: problem.line)


def _location(source: YamlSource, error: Any) -> tuple[str | int, ...]:
    """Return where an error is, without the steps that pydantic adds for the branches of a union."""
    location = source.known(error["loc"])
    return (*location, error["loc"][-1]) if error["type"] == "missing" else location


def _explained_within(location: Location, found: dict[Location, list[Any]]) -> bool:
    """Tell whether some error lies deeper: then "should be this or that" says nothing."""
    return any(len(other) > len(location) and other[: len(location)] == location for other in found)


def _message(location: Location, errors: list[Any]) -> str:
    error = next((one for one in errors if one["type"] == "value_error"), errors[0])
    kind = error["type"]
    if kind == "value_error":
        return str(error["ctx"]["error"])
    if kind == "extra_forbidden":
        return "there is no such field here" + _suggestion(location)
    if len(errors) > 1:
        said = _UNION
    elif kind == "string_pattern_mismatch":
        pattern = error["ctx"]["pattern"]
        said = "should be " + PATTERNS.get(pattern, f"text of the form {pattern}")
    else:
        said = _WORDS.get(kind) or error["msg"].replace("Input should", "should")
    return said if kind in _SELF_EXPLANATORY else f"{said}, not {_shown(error['input'])}"


def _shown(value: Any) -> str:
    """Show a value as YAML would."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, tuple):
        return "a list"
    if isinstance(value, date):
        return f"the date {value}"
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"


def _suggestion(location: Location) -> str:
    fields = [field.alias or name for name, field in _model_at(location[:-1]).model_fields.items()]
    close = difflib.get_close_matches(str(location[-1]), fields, n=1)
    return f"; did you mean `{close[0]}`?" if close else f"; the fields are {', '.join(fields)}"


def _model_at(location: Location) -> type[Model]:
    """Return the model that describes the mapping at a location."""
    model: type[Model] = Contract
    for step in location:
        for name, field in model.model_fields.items():
            if step == (field.alias or name):
                model = next(_models_in(field.annotation), model)
                break
    return model


def _models_in(annotation: Any) -> Iterator[type[Model]]:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
