"""YAML files that still know the line of everything they say.

Stricter than YAML at large, because a contract must mean what its author reads:

- A key that is given twice is refused; YAML would silently keep the second.
- Plain words stay text: only ``true`` and ``false`` are booleans and only decimals are numbers. YAML 1.1
  reads ``NO`` as false, ``012`` as ten and ``1:30`` as ninety; a contract compares words like ``NO``.
- Tags that make objects are refused; so is a value that contains itself.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import yaml
from yaml.reader import ReaderError

from contracts.problems import ContractFileError

Location = Sequence[str | int]

_TAG = "tag:yaml.org,2002:"


class _Loader(yaml.CSafeLoader):
    """Composes nodes as the YAML 1.2 core schema reads them, plus dates."""

    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012 - as PyYAML declares it


for _name, _pattern, _first in (
    ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", "true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:(?:0|[1-9][0-9]*)?\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.|(?=[eE])))(?:[eE][-+]?[0-9]+)?",
        list("-+.0123456789"),
    ),
    ("timestamp", r"[0-9]{4}-[0-9]{2}-[0-9]{2}", list("0123456789")),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(f"^(?:{_pattern})$"), _first)

_SCALARS: Final[Mapping[str, Callable[[str], Any]]] = MappingProxyType(
    {
        _TAG + "str": str,
        _TAG + "null": lambda _: None,
        _TAG + "bool": lambda text: text.lower() == "true",
        _TAG + "int": int,
        _TAG + "float": float,
        _TAG + "timestamp": date.fromisoformat,
    }
)


@dataclass(frozen=True, slots=True)
class YamlSource:
    """A YAML file as it was read.

    Attributes:
        file: where it was read from.
        text: what it says, byte for byte (decoded).
        data: its values: a dict with tuples for sequences and dates for dates.
    """

    file: Path
    text: str
    data: dict[str, Any]
    _root: yaml.MappingNode

    def line_of(self, location: Location) -> int:
        """Return the line of a key, or of an element of a sequence.

        Args:
            location: keys and indexes from the top, such as ``("sources", 3, "ref")``.

        Returns:
            The line, counted from 1; where the location does not exist, that of the nearest parent.
        """
        return _walk(self._root, location)[1]

    def known(self, location: Location) -> tuple[str | int, ...]:
        """Return the location without the steps that the file does not have."""
        return _walk(self._root, location)[0]


def read_yaml(file: Path) -> YamlSource:
    """Read a YAML file that holds one mapping.

    Raises:
        ContractFileError: it cannot be read, is not UTF-8, is no YAML, or is not one mapping of unique keys.
    """
    text = _read_text(file)
    try:
        root = yaml.compose(text, _Loader)
        data = _Builder(file).build(root, ()) if isinstance(root, yaml.MappingNode) else {}
    except yaml.YAMLError as error:
        raise _syntax_error(file, text, error) from None
    except RecursionError:
        raise ContractFileError.of(file, "the values are nested too deeply to be read") from None
    if root is None:
        raise ContractFileError.of(file, "the file is empty: a contract begins with its `id`")
    if not isinstance(root, yaml.MappingNode):
        kind = "a list" if isinstance(root, yaml.SequenceNode) else "a single value"
        raise ContractFileError.of(
            file,
            f"the file holds {kind}: a contract is a mapping that begins with its `id`",
            line=_line(root),
        )
    return YamlSource(file, text, data, root)


def dotted(location: Location) -> str:
    """Write a location as ``sources.3.ref``."""
    return ".".join(map(str, location))


def _read_text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        message = f"the file is not UTF-8: byte {error.start + 1} is 0x{error.object[error.start]:02x}"
        raise ContractFileError.of(file, message, line=line) from None
    except OSError as error:
        raise ContractFileError.of(file, f"the file cannot be read: {error.strerror}") from None


def _syntax_error(file: Path, text: str, error: yaml.YAMLError) -> ContractFileError:
    line, said = 1, str(error)
    if isinstance(error, yaml.MarkedYAMLError):
        said = ", ".join(part for part in (error.context, error.problem) if part)
        if (mark := error.problem_mark or error.context_mark) is not None:
            line = mark.line + 1
    elif isinstance(error, ReaderError):
        said = error.reason
        line += text.encode().count(b"\n", 0, error.position)  # libyaml counts bytes
    return ContractFileError.of(file, f"the file is no YAML: {said}", line=line)


def _is_plain(node: yaml.Node) -> bool:
    """Tell whether a node's tag is one of YAML's own for this kind of node."""
    if isinstance(node, yaml.MappingNode):
        return bool(node.tag == _TAG + "map")
    return node.tag == _TAG + "seq" if isinstance(node, yaml.SequenceNode) else node.tag in _SCALARS


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _walk(node: yaml.Node, location: Location) -> tuple[tuple[str | int, ...], int]:
    """Follow a location; steps that do not exist are left out."""
    known: list[str | int] = []
    line = _line(node)
    for step in location:
        child: tuple[yaml.Node, yaml.Node] | None = None
        if isinstance(node, yaml.MappingNode):
            child = next(((key, value) for key, value in node.value if key.value == step), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            child = (node.value[step], node.value[step])
        if child is not None:
            known.append(step)
            line, node = _line(child[0]), child[1]
    return tuple(known), line


class _Builder:
    """Builds the values of one file's nodes."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._open: set[int] = set()
        self._done: dict[int, Any] = {}

    def build(self, node: yaml.Node, location: Location) -> Any:
        """Build a node's value, once for all of its aliases."""
        if id(node) in self._done:
            return self._done[id(node)]
        if id(node) in self._open:
            raise self._problem(node, location, "the value contains itself")
        if not _is_plain(node):
            raise self._problem(node, location, f"the tag {node.tag.replace(_TAG, '!!')} has no meaning here")
        self._open.add(id(node))
        if isinstance(node, yaml.MappingNode):
            value: Any = self._mapping(node, location)
        elif isinstance(node, yaml.SequenceNode):
            value = tuple(self.build(child, (*location, index)) for index, child in enumerate(node.value))
        else:
            value = self._scalar(node, location)
        self._open.remove(id(node))
        self._done[id(node)] = value
        return value

    def _mapping(self, node: yaml.MappingNode, location: Location) -> dict[str, Any]:
        lines: dict[str, int] = {}
        value: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self.build(key_node, location)
            if not isinstance(key, str):
                raise self._problem(key_node, location, f"the key {key!r} is no text: put it in quotes")
            if key in lines:
                raise self._problem(key_node, (*location, key), f"the key is given twice, first on line {lines[key]}")
            lines[key] = _line(key_node)
            value[key] = self.build(value_node, (*location, key))
        return value

    def _scalar(self, node: yaml.Node, location: Location) -> Any:
        try:
            return _SCALARS[node.tag](node.value)
        except ValueError as error:
            raise self._problem(node, location, f"{node.value[:64]!r} cannot be read: {error}") from None

    def _problem(self, node: yaml.Node, location: Location, message: str) -> ContractFileError:
        return ContractFileError.of(self._file, message, line=_line(node), field=dotted(location))
