"""GraphQL, as much of it as a simulated answer needs: only the fields that were asked for come back."""

import re
from collections.abc import Iterator
from typing import Any

Selection = dict[str, "Selection"]
_WORD = re.compile(r"[{}]|\([^()]*\)|\w+")


class UnknownField(LookupError):
    """A field that the type does not have."""


def parse_selection(document: str) -> Selection:
    """Read the fields that a query selects; arguments are passed over. There are no fragments and no aliases."""
    words = iter(_WORD.findall(document[document.index("{") + 1 :]))
    return _fields(words)


def _fields(words: Iterator[str]) -> Selection:
    fields: Selection = {}
    last = ""
    for word in words:
        if word == "}":
            break
        if word == "{":
            fields[last] = _fields(words)
        elif not word.startswith("("):
            fields[word], last = {}, word
    return fields


def select(selection: Selection, value: Any) -> Any:
    """Reduce a value to the fields selected.

    Raises:
        UnknownField: a field is selected that the value does not have.
    """
    if isinstance(value, list):
        return [select(selection, one) for one in value]
    if not isinstance(value, dict):
        return value
    unknown = selection.keys() - value.keys()
    if unknown:
        raise UnknownField(min(unknown))
    return {name: select(below, value[name]) for name, below in selection.items()}
