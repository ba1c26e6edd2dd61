"""Records that were put back after a repair, and how the stages tell them from new ones.

A record that is put back lies in its topic once more, at another offset, and perhaps twice: two people repaired it, or
the first one's command died. So it brings the place it lay in first, in a header, and that place is what it is told by,
however often it is put back, and however often it is refused in between.

The header's name has a space in it, which no HTTP header's name can have (RFC 9110, section 5.1; RFC 9113, section
8.2.1). On `webhooks` HTTP headers travel under their own names; a sender who could give a delivery another one's place
could have a real one taken for seen.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from streams.messages import CaseMessage, Events, Source, Start, Submission
from streams.records import Record

REQUEUED_HEADER: Final = "requeued from"
_PLACE = re.compile(rb"([A-Za-z0-9._-]{1,249})/([0-9]{1,9})/([0-9]{1,18})")


class RequeuedHeaderError(ValueError):
    """A record whose header does not say where it lay first. ``class_``: the word for its dead letter."""

    def __init__(self, class_: str, reason: str) -> None:
        super().__init__(f"the Kafka header `{REQUEUED_HEADER}`: {reason}")
        self.class_ = class_


def first_place(topic: str, headers: Iterable[tuple[str, bytes | None]]) -> Source | None:
    """Return where a record of a topic that was put back lay first; None for one that was not put back.

    Raises:
        RequeuedHeaderError: the header is there several times, is no place, or a place in another topic.
    """
    values = [value for name, value in headers if name == REQUEUED_HEADER]
    if not values:
        return None
    if len(values) > 1:
        raise RequeuedHeaderError("ambiguous_header", "it is there several times")
    found = _PLACE.fullmatch(values[0] or b"")
    if found is None:
        raise RequeuedHeaderError("malformed_message", "it is no `topic/partition/offset`")
    if (named := found[1].decode()) != topic:
        raise RequeuedHeaderError("malformed_message", f"it names the topic {named}, and the record lies in {topic}")
    return Source(topic, int(found[2]), int(found[3]), requeued=True)


def source_of(record: Record) -> Source:
    """Return what a record of `operations` or `webhooks` is told by: its place, or its first one if it was put back.

    Raises:
        RequeuedHeaderError: see :func:`first_place`.
    """
    return first_place(record.topic, record.headers) or Source(record.topic, record.partition, record.offset)


def as_requeued(message: CaseMessage) -> CaseMessage:
    """Mark a message of `cases` that was put back: what it is told by no longer stands in the order of its source."""
    if isinstance(message, Submission | Start | Events):
        return replace(message, source=replace(message.source, requeued=True))
    return message
