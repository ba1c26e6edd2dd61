"""What kind of value a path or a literal holds, as far as a contract tells."""

from types import MappingProxyType
from typing import Any, Final, Literal

from contracts.instants import parse_instant
from contracts.model import Contract
from contracts.paths import channel_of, is_path, is_plural, parse_path
from contracts.values import as_decimal

# `text` may turn out to be a number or an instant; a `name` is neither, such as a currency or `COMPLETED`.
Kind = Literal["number", "text", "amount", "name", "instant", "truth value", "list"]

TEXTS: Final[frozenset[Kind]] = frozenset({"text", "amount", "name", "instant"})

_INPUTS: Final[dict[str, Kind]] = {
    "text": "text",
    "money": "amount",
    "currency": "name",
    "identifier": "name",
}
_OPERATION: Final[dict[str, Kind]] = {
    "id": "name",
    "created_at": "instant",
    "contract": "name",
    "connection": "name",
}
OPERATION_MEMBERS: Final = tuple(_OPERATION)

# What the webhook verifier returns, from the pages' "Which evidence does the contract require?".
WEBHOOK_MEMBERS: Final[MappingProxyType[str, Kind]] = MappingProxyType(
    {
        "events": "list",
        "count": "number",
        "latest": "instant",
        "earliest": "instant",
        "types": "list",
        "duplicates_dropped": "number",
    }
)
# The same of a channel without any event: nothing is earliest or latest.
EMPTY_WEBHOOK: Final[MappingProxyType[str, Any]] = MappingProxyType(
    {"events": [], "count": 0, "types": [], "duplicates_dropped": 0}
)


def is_webhook(contract: Contract, channel: str | None) -> bool:
    """Tell whether a channel counts events; an unknown one does not."""
    known = contract.channels.get(channel or "")
    return known is not None and known.verifier == "webhook"


def is_list(contract: Contract, path: str) -> bool:
    """Tell whether a path holds a list of values: it goes through one, or it is one that a webhook channel holds."""
    _, segments = parse_path(path)
    whole = is_webhook(contract, channel_of(path)) and len(segments) == 2  # noqa: PLR2004 - the channel, its member
    return is_plural(path) or (whole and WEBHOOK_MEMBERS.get(str(segments[1])) == "list")


def kind_of(contract: Contract, value: str | bool | int) -> Kind | None:
    """Return the kind of what a path or a literal holds, None where only the provider knows it."""
    if isinstance(value, bool):
        return "truth value"
    if isinstance(value, int):
        return "number"
    return _kind_of_path(contract, value) if is_path(value) else _kind_of_text(value)


def _kind_of_text(text: str) -> Kind:
    if as_decimal(text) is not None:
        return "amount"
    try:
        parse_instant(text)
    except ValueError:
        return "name"
    return "instant"


def _kind_of_path(contract: Contract, path: str) -> Kind | None:
    root, segments = parse_path(path)
    first = str(segments[0])
    if root == "input":
        declared = contract.readings.input.get(first)
        return _INPUTS[declared.type] if declared else None
    if root == "operation":
        return _OPERATION.get(first)
    if is_webhook(contract, channel_of(path)) and len(segments) > 1:
        member = WEBHOOK_MEMBERS.get(str(segments[1]))
        return "name" if member == "list" and len(segments) > 2 else member  # noqa: PLR2004 - an element
    return None
