"""What goes back for a dead letter: the record as it came, and the mark that it was put back."""

from dataclasses import dataclass
from typing import Final

from contracts.instants import parse_instant, to_rfc3339
from streams.dead_letters.letter import Contents, Letter, LetterId, parse_letter_id
from streams.intake import ARRIVED_HEADER
from streams.messages import Source
from streams.records import Headers, Record
from streams.requeued import REQUEUED_HEADER, RequeuedHeaderError, first_place
from streams.transport.topics import WEBHOOKS

_LETTER: Final = "dead_letter_requeued"
_TO: Final = "dead_letter_requeued_to"
_AT: Final = "dead_letter_requeued_at"


@dataclass(frozen=True, slots=True)
class PutBack:
    """That a letter was put back: when, in milliseconds, and the place it has now."""

    letter: LetterId
    at: int
    to: str


def headers_of(letter: Letter, contents: Contents, topic: str) -> Headers:
    """Return the headers that a record is put back with: its own, and where it lay first.

    A delivery that no gateway stamped gets the stamp that its record's time was, since it gets a new time now.

    Args:
        letter: what is said of it.
        contents: the record, whole.
        topic: the plain name of the topic it goes back to.
    """
    try:
        first = first_place(letter.source.topic, contents.headers)
    except RequeuedHeaderError:  # what it was refused for; where the letter says that it lay is true
        first = None
    kept = [one for one in contents.headers if one[0] != REQUEUED_HEADER]
    if topic == WEBHOOKS and not any(name.lower() == ARRIVED_HEADER for name, _ in kept):
        kept.append((ARRIVED_HEADER, to_rfc3339(_arrived(letter)).encode()))
    return (*kept, (REQUEUED_HEADER, (first or letter.source).place.encode()))


def _arrived(letter: Letter) -> int:
    """Return a delivery's time as intake would have taken it from its record."""
    stamped = letter.timestamp
    return min(stamped, letter.at) if stamped is not None and stamped > 0 else letter.at


def mark_headers(mark: PutBack) -> Headers:
    """Write the mark as the headers of a record without key and value."""
    return (
        (_LETTER, str(mark.letter).encode()),
        (_TO, mark.to.encode()),
        (_AT, to_rfc3339(mark.at).encode()),
    )


def parse_mark(record: Record) -> PutBack | None:
    """Read a mark from a record of `dead-letters` that is no letter; None where it is no mark either."""
    told = {name: (value or b"").decode(errors="replace") for name, value in record.headers}
    try:
        return PutBack(parse_letter_id(told[_LETTER]), parse_instant(told[_AT]).start_ms, told[_TO])
    except (KeyError, ValueError):
        return None


def place_of(topic: str, partition: int, offset: int) -> str:
    """Write a place as the commands do."""
    return Source(topic, partition, offset).place
