"""The values that rules compare, and how money and numbers travel through JSON without becoming floats."""

import re
from decimal import Decimal, InvalidOperation
from typing import Any

from contracts.paths import MISSING

_DECIMAL = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)", re.ASCII)
_NUMBER_TAG = "$number"
MAX_DECIMAL_DIGITS = 64
_INT64 = 2**63


def as_decimal(value: object) -> Decimal | None:
    """Read an exact number from decimal text, an int or a Decimal.

    Returns:
        The number, or None where there is none: other text, an exponent, NaN, a bool, a float.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, Decimal):
        return value if value.is_finite() else None
    if isinstance(value, str) and len(value) <= MAX_DECIMAL_DIGITS and _DECIMAL.fullmatch(value):
        try:
            return Decimal(value)
        except InvalidOperation:  # pragma: no cover - the pattern leaves nothing that Decimal refuses
            return None
    return None


def is_money(text: str) -> bool:
    """Tell whether text is an amount of money: decimal digits, at most one point, no sign but a minus."""
    return as_decimal(text) is not None


def pack(value: Any) -> Any:
    """Make a value that JSON can carry: a number that is no 64-bit integer becomes ``{"$number": "60.00"}``.

    A list is packed element by element, and an element that is missing becomes null.
    """
    if type(value) is str:
        return value
    if isinstance(value, list):
        return [None if one is MISSING else pack(one) for one in value]
    if isinstance(value, Decimal) or (isinstance(value, int) and not -_INT64 <= value < _INT64):
        return {_NUMBER_TAG: str(value)}
    return value


def unpack(value: Any) -> Any:
    """Undo :func:`pack`."""
    if type(value) is list:
        return [MISSING if one is None else unpack(one) for one in value]
    if type(value) is dict and value.keys() == {_NUMBER_TAG}:
        return Decimal(value[_NUMBER_TAG])
    return value
