"""Paths such as ``$observed.refund_readback.data.refund.transactions[0].status``.

A path names one value: a root, then names and indexes. One that reads a channel may once go through a list instead,
``transactions[*].status`` or ``transactions[kind=REFUND].status``, and then names one value for each element. There are
no defaults, so what a rule reads can be seen from its text, and a missing value stays missing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

ROOTS: Final = ("input", "action", "operation", "observed")
_SEGMENT = re.compile(
    r"\.([A-Za-z_][A-Za-z0-9_-]*)|\[(0|[1-9][0-9]{0,5})\]"
    r"|\[(?:(\*)|([A-Za-z_][A-Za-z0-9_-]*)=([A-Za-z0-9_.:/-]{1,64}))\]"
)
_ROOT = re.compile(r"\$([a-z]+)(?=[.\[])")


class Missing:
    """The type of :data:`MISSING`: a path that does not resolve."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


@dataclass(frozen=True, slots=True)
class Each:
    """The step of a path through a list: to every element, or to those whose member ``name`` is the text ``value``."""

    name: str | None = None
    value: str | None = None


Segment = str | int | Each


class PartialList(list[Any]):
    """A list of which more lies elsewhere: a page of a longer one. By index it is read like any other."""


class IncompleteListError(LookupError):
    """A path goes through each element of a list that is not all there."""


def is_path(text: object) -> bool:
    """Tell a path from a literal: paths begin with ``$``."""
    return isinstance(text, str) and text.startswith("$")


@lru_cache(maxsize=1024)
def parse_path(text: str) -> tuple[str, tuple[Segment, ...]]:
    """Split a path into its root and its segments.

    Args:
        text: ``$root.name.name[0]``.

    Returns:
        The root's name without ``$``, and the segments: names as text, indexes as int, the way through a list as
        :class:`Each`.

    Raises:
        ValueError: the text is no path, its root is unknown, or it goes through a list where it must not.
    """
    root = _ROOT.match(text)
    if root is None:
        raise ValueError(f"{text!r} is no path: it should look like $input.amount")
    if root[1] not in ROOTS:
        raise ValueError(f"{text!r} has the unknown root ${root[1]}: roots are $" + ", $".join(ROOTS))
    segments: list[Segment] = []
    position = root.end()
    while position < len(text):
        found = _SEGMENT.match(text, position)
        if found is None:
            raise ValueError(f"{text!r} cannot be read from character {position + 1} on: {text[position:]!r}")
        segments.append(_segment(found))
        position = found.end()
    through = [index for index, segment in enumerate(segments) if isinstance(segment, Each)]
    if through and (root[1] != "observed" or through[0] == 0):
        raise ValueError(f"{text!r}: only what a channel holds is read element by element")
    if len(through) > 1:
        raise ValueError(f"{text!r} goes through more than one list")
    return root[1], tuple(segments)


def _segment(found: re.Match[str]) -> Segment:
    name, index, every, member, value = found.groups()
    if name is not None:
        return str(name)
    if index is not None:
        return int(index)
    return Each() if every is not None else Each(member, value)


def is_plural(path: str) -> bool:
    """Tell whether a path goes through a list, and so holds a list of values and not one value."""
    return any(isinstance(segment, Each) for segment in parse_path(path)[1])


def resolve(document: object, segments: Sequence[Segment]) -> Any:
    """Follow segments into a parsed JSON document.

    Returns:
        The value there, or :data:`MISSING` where a segment does not exist, has the wrong type above it, or the
        value is null: a null proves nothing, in an answer as in an operation. For a path through a list, the list of
        such values, one for each element; an element that cannot be told to be meant or not counts as MISSING.

    Raises:
        IncompleteListError: the path goes through a list that is not all there.
    """
    for position, segment in enumerate(segments):
        if isinstance(segment, Each):
            return _resolve_each(document, segment, segments[position + 1 :])
        if isinstance(segment, str):
            if not isinstance(document, Mapping) or segment not in document:
                return MISSING
            document = document[segment]
        else:
            if not isinstance(document, list) or segment >= len(document):
                return MISSING
            document = document[segment]
    return MISSING if document is None else document


def _resolve_each(document: object, each: Each, rest: Sequence[Segment]) -> Any:
    if not isinstance(document, list):
        return MISSING
    if isinstance(document, PartialList):
        raise IncompleteListError("the list goes on, on another page")
    values = []
    for element in document:
        member = each.value if each.name is None else resolve(element, (each.name,))
        if each.name is not None and not isinstance(member, str):
            values.append(MISSING)
        elif member == each.value:
            values.append(resolve(element, rest))
    return values


def channel_of(path: str) -> str | None:
    """Return the channel that a path reads, or None for a path with another root than ``$observed``."""
    root, segments = parse_path(path)
    return str(segments[0]) if root == "observed" else None
