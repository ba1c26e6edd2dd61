"""The inputs of an operation, checked against the types that its contract declares, in normal form."""

import re
from collections.abc import Mapping
from typing import Any

from contracts.model import Contract, InputType
from contracts.values import is_money

MAX_TEXT_CHARACTERS = 255
_CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,40}", re.ASCII)
_PLAIN = re.compile(r"[^\x00-\x1f\x7f]+")


class InputError(ValueError):
    """An input that is missing or of the wrong type. ``class_`` is a stable word for it."""

    def __init__(self, class_: str, message: str) -> None:
        super().__init__(message)
        self.class_ = class_


def normalise_input(contract: Contract, given: Mapping[str, Any]) -> dict[str, str]:
    """Check an operation's inputs.

    Args:
        contract: the contract, whose readings declare the inputs.
        given: the inputs as published; those that are not declared are left out.

    Returns:
        Name → text, identifiers in their full form.

    Raises:
        InputError: an input is missing (null counts as missing) or has the wrong type.
    """
    inputs = {}
    for name, type_ in contract.readings.input.items():
        value = given.get(name)
        if value is None:
            raise InputError("missing_input", f"input.{name}: missing; {contract.id} needs it")
        inputs[name] = _normal(name, type_, value)
    return inputs


def _normal(name: str, type_: InputType, value: Any) -> str:
    if type_.form is not None:
        return _identifier(name, type_.form, value)
    if not isinstance(value, str):
        hint = ": an amount of money is decimal text, in quotes" if type_.type == "money" else ""
        raise InputError("wrong_input_type", f"input.{name}: must be text, not {_json_type(value)}{hint}")
    if not value or len(value) > MAX_TEXT_CHARACTERS or not _PLAIN.fullmatch(value):
        raise InputError(
            "wrong_input_type",
            f"input.{name}: must be 1 to {MAX_TEXT_CHARACTERS} characters without control characters",
        )
    if type_.type == "money" and not is_money(value):
        raise InputError("wrong_input_type", f"input.{name}: {value!r} is no amount such as '42.50'")
    if type_.type == "currency" and not _CURRENCY.fullmatch(value):
        raise InputError("wrong_input_type", f"input.{name}: {value!r} is no currency code such as 'USD'")
    return value


def _identifier(name: str, form: str, value: Any) -> str:
    """Bring an identifier into its full form: it may be given as a number, as digits, or in full."""
    before, _, after = form.partition("{number}")
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        number = str(value)
    elif isinstance(value, str):
        number = value.removeprefix(before).removesuffix(after) if value.startswith(before) else value
    else:
        number = ""
    if not _NUMBER.fullmatch(number):
        raise InputError("wrong_input_type", f"input.{name}: {value!r} is neither a number nor of the form {form}")
    return f"{before}{int(number)}{after}"


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a JSON number"
    return "a list" if isinstance(value, list) else "an object"
