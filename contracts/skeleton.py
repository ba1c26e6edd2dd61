"""A contract to begin with: each member with a word of what it is for, and nothing in it that lint would refuse."""

import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from string import Template
from typing import Final

from contracts.model import CONTRACT_ID

_TEXT: Final = Path(__file__).parent / "skeleton.yaml"


class SkeletonError(ValueError):
    """There is nothing to begin with: the id has no such form, or the provider's events say too little."""


class _Text(Template):
    """Text with ``%{name}`` to fill in: a contract's own paths begin with ``$``."""

    delimiter = "%"


def skeleton(
    provider: str,
    contract_id: str,
    carried: Mapping[str, frozenset[str]],
    today: date,
    *,
    event_type: str | None = None,
) -> str:
    """Write a contract file that lints clean and that its author goes on from.

    Args:
        provider: the provider's name.
        contract_id: the new contract's id, ``provider.thing.level``.
        carried: the provider's event types, and the identifiers that each carries.
        today: the date of review.
        event_type: the events to count; without it such as carry the thing's own id and one more, if there are any.

    Raises:
        SkeletonError: see there.
    """
    if not re.fullmatch(CONTRACT_ID, contract_id):
        raise SkeletonError(f"{contract_id!r} is no id: names joined by points, such as {provider}.refund.completed")
    *_, thing, level = contract_id.split(".")
    if event_type is None:
        event_type = _likely(provider, f"{thing}_id", carried)
    elif not carried.get(event_type):
        raise SkeletonError(f"no event {event_type} of {provider} is known: there are {', '.join(carried)}")
    own, key = _own_and_key(f"{thing}_id", carried[event_type])
    filled = {"id": contract_id, "provider": provider, "thing": thing, "level": level, "event": event_type}
    return _Text(_TEXT.read_text(encoding="utf-8")).substitute(filled, own=own, key=key, today=today)


def _likely(provider: str, own: str, carried: Mapping[str, frozenset[str]]) -> str:
    def fitness(event_type: str) -> tuple[bool, bool]:
        identifiers = carried[event_type]
        return own in identifiers, len(identifiers) > 1

    named = [event_type for event_type, identifiers in carried.items() if identifiers]
    if not named:
        raise SkeletonError(f"no event of {provider} carries an identifier, so none could find its case")
    return max(reversed(named), key=fitness)


def _own_and_key(wanted: str, identifiers: frozenset[str]) -> tuple[str, str]:
    """Choose the identifier of the resource itself, and that of the subject which its case is about."""
    names = sorted(identifiers)
    own = wanted if wanted in names else names[-1]
    return own, next((name for name in names if name != own), own)
