"""Paths such as ``$observed.refund_readback.data.refund.transactions[0].status``.

A path names one value: a root, then names and indexes. No wildcards, filters or defaults, so what a rule reads can
be seen from its text, and a missing value stays missing.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

ROOTS: Final = ("input", "action", "operation", "observed")
_SEGMENT = re.compile(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\[(0|[1-9][0-9]{0,5})\]")
_ROOT = re.compile(r"\$([a-z]+)(?=[.\[])")


class Missing:
    """The type of :data:`MISSING`: a path that does not resolve."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


def is_path(text: object) -> bool:
    """Tell a path from a literal: paths begin with ``$``."""
    return isinstance(text, str) and text.startswith("$")


@lru_cache(maxsize=1024)
def parse_path(text: str) -> tuple[str, tuple[str | int, ...]]:
    """Split a path into its root and its segments.

    Args:
        text: ``$root.name.name[0]``.

    Returns:
        The root's name without ``$``, and the segments: names as text, indexes as int.

    Raises:
        ValueError: the text is no path, or its root is unknown.
    """
    root = _ROOT.match(text)
    if root is None:
        raise ValueError(f"{text!r} is no path: it should look like $input.amount")
    if root[1] not in ROOTS:
        raise ValueError(f"{text!r} has the unknown root ${root[1]}: roots are $" + ", $".join(ROOTS))
    segments: list[str | int] = []
    position = root.end()
    while position < len(text):
        found = _SEGMENT.match(text, position)
        if found is None:
            raise ValueError(f"{text!r} cannot be read from character {position + 1} on: {text[position:]!r}")
        segments.append(found[1] if found[1] is not None else int(found[2]))
        position = found.end()
    return root[1], tuple(segments)


def resolve(document: object, segments: Sequence[str | int]) -> Any:
    """Follow segments into a parsed JSON document.

    Returns:
        The value there, or :data:`MISSING` where a segment does not exist, has the wrong type above it, or the
        value is null: a null proves nothing, in an answer as in an operation.
    """
    for segment in segments:
        if isinstance(segment, str):
            if not isinstance(document, Mapping) or segment not in document:
                return MISSING
            document = document[segment]
        else:
            if not isinstance(document, list) or segment >= len(document):
                return MISSING
            document = document[segment]
    return MISSING if document is None else document


def channel_of(path: str) -> str | None:
    """Return the channel that a path reads, or None for a path with another root than ``$observed``."""
    root, segments = parse_path(path)
    return str(segments[0]) if root == "observed" else None
