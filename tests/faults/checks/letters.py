"""Dead letters: one for each record that is refused, whole, and none for any other; and what was put back for them."""

from collections import defaultdict
from collections.abc import Mapping

from aiokafka import ConsumerRecord

from tests.faults.checks.evidence import Evidence, Letter, Violation, Violations
from tests.faults.expected import Place

_REQUEUED = "requeued from"
# The place that a letter names; and whether it is of a record that was put back, where that has no place of its own.
_Named = tuple[Place, bool]


def check_letters(evidence: Evidence) -> Violations:
    """Check every dead letter against the record that it is about."""
    wanted, found = _wanted(evidence), defaultdict[_Named, list[Letter]](list)
    for letter in evidence.letters:
        found[_named(letter)].append(letter)
    for named in found.keys() - wanted.keys():
        yield Violation("refused", str(named[0]), f"nothing was wrong with it, but {found[named][0].record!r}")
    for named, (why, records) in wanted.items():
        letters, subject = found.get(named, []), f"{named[0]}{' put back' if named[1] else ''}"
        if len(letters) < len(records) or not letters:
            said = f"it should have become a dead letter, {why}, {len(records)} times: {len(letters)}"
            yield Violation("swallowed", subject, said)
        if len({one.content for one in letters}) > 1:
            yield Violation("refused", subject, f"in different ways: {[one.record for one in letters]}")
        for letter in letters:
            if letter.why != why:
                said = f"it was to be refused as {why}, not {letter.why}: {letter.record!r:.1000}"
                yield Violation("refused", subject, said)
            if not _is_whole(letter, records[0]):
                yield Violation("refused", subject, f"its letter is not the record: {letter.record!r}, {records[0]!r}")


def _named(letter: Letter) -> _Named:
    # Only an operation that `decide` refuses is named by the place it lay in first: intake's message has no other.
    return letter.place, letter.again and letter.why[0] == "decide" and letter.place[0] == "operations"


def _wanted(evidence: Evidence) -> Mapping[_Named, tuple[tuple[str, str], list[ConsumerRecord]]]:
    """Return for each letter that there must be why it is written, and the records that it is written for."""
    wanted: dict[_Named, tuple[tuple[str, str], list[ConsumerRecord]]] = {}
    for place, record in evidence.originals.items():
        if (why := evidence.fate(place, again=False).letter) is not None:
            wanted[place, False] = why, [record]
    for first, records in evidence.put_back.items():
        if (why := evidence.fate(first, again=True).letter) is None:
            continue
        if why[0] == "decide" and first[0] == "operations":
            wanted[first, True] = why, records
        else:
            wanted |= {(evidence.place_of(one), False): (why, [one]) for one in records}
    return wanted


def _is_whole(letter: Letter, record: ConsumerRecord) -> bool:
    headers = tuple(record.headers)
    same = (letter.record.key, letter.record.value) == (record.key, record.value)
    return same and tuple(letter.record.headers[: len(headers)]) == headers


def check_put_back(evidence: Evidence) -> Violations:
    """Check that only letters were put back, as they came, and that marks are true."""
    lettered = {letter.place for letter in evidence.letters}
    for first, records in evidence.put_back.items():
        original = evidence.originals.get(first)
        if original is None or first not in lettered:
            yield Violation("put back", str(first), "there is no dead letter of it")
            continue
        for one in records:
            headers = [each for each in one.headers if each[0] != _REQUEUED]
            if not any(name.lower() == "arrived_at" for name, _ in original.headers):
                headers = [each for each in headers if each[0] != "arrived_at"]
            kept = [each for each in original.headers if each[0] != _REQUEUED]
            if (one.key, one.value, headers) != (original.key, original.value, kept):
                yield Violation("put back", str(first), f"{original!r} is {one!r} now")
    yield from _marks(evidence)


def _marks(evidence: Evidence) -> Violations:
    letters = {(one.record.partition, one.record.offset): one for one in evidence.letters}
    records = {evidence.place_of(one): first for first, ones in evidence.put_back.items() for one in ones}
    for mark in evidence.contents.of("dead-letters"):
        if "dead_letter_stage" in dict(mark.headers):
            continue  # it is a letter
        told = {name: (value or b"").decode() for name, value in mark.headers}
        partition, offset = told["dead_letter_requeued"].split("/")
        topic, *where = told["dead_letter_requeued_to"].rsplit("/", 2)
        letter = letters.get((int(partition), int(offset)))
        first = records.get((topic.removeprefix(evidence.prefix), int(where[0]), int(where[1])))
        if letter is None or first is None or letter.place not in {first, *_places(evidence, first)}:
            yield Violation("put back", told["dead_letter_requeued"], f"its mark is not true: {told}")


def _places(evidence: Evidence, first: Place) -> set[Place]:
    return {evidence.place_of(one) for one in evidence.put_back[first]}
