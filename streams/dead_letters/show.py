"""Dead letters as text. What a sender wrote is shown so that it cannot steer the terminal."""

import re
from collections.abc import Iterable
from typing import Any

import orjson

from contracts.instants import to_rfc3339
from streams.dead_letters.letter import Contents, Letter
from streams.dead_letters.requeue import PutBack

_HEX_WIDTH = 16
_JSON_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')


def line_of(letter: Letter, put_back: PutBack | None) -> str:
    """Return one line for a letter: id, time, stage, class, source place, reason, and whether it was put back."""
    told = (
        f"{letter.id!s:<8}",
        to_rfc3339(letter.at),
        f"{letter.stage:<8}",
        f"{letter.class_:<18}",
        letter.source.place,
        letter.reason,
    )
    return _on_one_line("  ".join(told)) + (f"  (put back {to_rfc3339(put_back.at)})" if put_back is not None else "")


def document_of(letter: Letter, put_back: PutBack | None) -> dict[str, Any]:
    """Return a letter as an object for machines."""
    return {
        "id": str(letter.id),
        "at": to_rfc3339(letter.at),
        "stage": letter.stage,
        "class": letter.class_,
        "reason": letter.reason,
        "topic": letter.source.topic,
        "partition": letter.source.partition,
        "offset": letter.source.offset,
        "operation_id": letter.operation_id,
        "bytes": letter.size,
        "cut": letter.cut is not None,
        "put_back": None if put_back is None else {"at": to_rfc3339(put_back.at), "to": put_back.to},
    }


def page_of(letter: Letter, contents: Contents, put_back: PutBack | None) -> str:
    """Return everything about a letter: what is said of it, and the record that it holds."""
    about = {
        "dead letter": str(letter.id),
        "refused at": to_rfc3339(letter.at),
        "stage": letter.stage,
        "class": letter.class_,
        "reason": letter.reason,
        "came from": letter.source.place,
        "operation": letter.operation_id or "-",
        "put back": f"{to_rfc3339(put_back.at)}, to {put_back.to}" if put_back is not None else "no",
    }
    if letter.cut is not None:
        about["cut"] = f"{letter.cut}; the whole lies at {letter.source.place} until that topic drops it"
    headers = [(name, _text(value)) for name, value in contents.headers]
    lines = [
        *_aligned(about.items()),
        "",
        f"key: {_text(contents.key)}",
        "headers:" if headers else "headers: none",
        *(f"  {one}" for one in _aligned(headers)),
        "",
        f"value, the first {letter.size} bytes:" if letter.cut is not None else f"value, {letter.size} bytes:",
        value_text(contents.value),
    ]
    return "\n".join(lines)


def value_text(value: bytes | None) -> str:
    """Return a record's value to look at: JSON indented, other text as it is, and bytes that are no text as hex."""
    if value is None:
        return "(null)"
    try:
        orjson.loads(value)
        return printable(_indented(value.decode()))
    except orjson.JSONDecodeError:
        pass
    try:
        return printable(value.decode())
    except UnicodeDecodeError:
        return "\n".join(_hex_lines(value))


def _indented(json: str) -> str:
    """Break JSON into lines. All of it stays as it was written: 42.50, an id above 2^64, a member there twice."""
    lines, depth = [""], 0
    for piece in _JSON_PIECE.findall(json):
        if piece in ("]", "}"):
            depth -= 1
            if lines[-1].strip():
                lines.append("  " * depth)
            else:  # nothing stands between it and its beginning
                lines.pop()
        lines[-1] += ": " if piece == ":" else piece
        if piece in ("[", "{"):
            depth += 1
        if piece in ("[", "{", ","):
            lines.append("  " * depth)
    return "\n".join(lines)


def printable(text: str) -> str:
    """Write out what would steer a terminal; line breaks and tabs stay."""
    return "".join(one if one.isprintable() or one in "\n\t" else one.encode("unicode_escape").decode() for one in text)


def _on_one_line(text: str) -> str:
    return printable(text).replace("\n", "\\n")


def _text(value: bytes | None) -> str:
    if value is None:
        return "(null)"
    try:
        return _on_one_line(value.decode())
    except UnicodeDecodeError:
        return f"0x{value.hex()}"


def _aligned(pairs: Iterable[tuple[str, str]]) -> list[str]:
    shown = [(_on_one_line(name), _on_one_line(text)) for name, text in pairs]
    width = max((len(name) for name, _ in shown), default=0) + 2
    return [f"{name + ':':<{width}}{text}" for name, text in shown]


def _hex_lines(value: bytes) -> Iterable[str]:
    for at in range(0, len(value), _HEX_WIDTH):
        row = value[at : at + _HEX_WIDTH]
        seen = "".join(chr(one) if chr(one).isascii() and chr(one).isprintable() else "." for one in row)
        yield f"{at:08x}  {row.hex(' '):<{_HEX_WIDTH * 3}} {seen}"
