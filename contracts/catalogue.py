"""The contracts at hand: those built in, and those of the user's directories."""

import difflib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, Self

from contracts.contract_file import ContractFile, read_contract
from contracts.lint import Finding, lint
from contracts.model import Contract
from contracts.problems import ContractFileError, Problem
from contracts.yaml_source import read_yaml

__all__ = [
    "BUILT_IN",
    "CarriedBy",
    "Catalogue",
    "ContractFileError",
    "Entry",
    "Problem",
    "UnknownContractError",
    "load_contract",
    "yaml_files",
]

Order = tuple[int, ...]
CarriedBy = Callable[[str], Mapping[str, frozenset[str]] | None]

BUILT_IN: Final = Path(__file__).parent / "catalog"
_SUFFIXES: Final = (".yaml", ".yml")
_NOBODY: Final[Mapping[str, tuple[Contract, ...]]] = MappingProxyType({})


class UnknownContractError(LookupError):
    """No contract of this id, or no such version of it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A contract and where it comes from.

    Attributes:
        contract: the contract.
        file: the file that says it.
        text: what that file says, as it stands there.
        warnings: what lint would have its author weigh.
    """

    contract: Contract
    file: Path
    text: str = ""
    warnings: tuple[Problem, ...] = ()

    @property
    def origin(self) -> Literal["built-in", "user"]:
        """Tell a contract that comes with the project from one of the user's."""
        return "built-in" if self.file.is_relative_to(BUILT_IN) else "user"


@dataclass(frozen=True)
class Catalogue:
    """Every contract that can be used, and what is wrong with the files of those that cannot.

    Attributes:
        entries: the contracts with their files, sorted by id, then version.
        problems: why files were refused.
    """

    entries: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()

    @classmethod
    def load(cls, directories: Iterable[Path] = (), *, carried: CarriedBy | None = None) -> Self:
        """Read the built-in contracts and those of the user's directories.

        Args:
            directories: searched with everything below them for ``*.yaml`` and ``*.yml``.
            carried: provider → event type → the identifiers that such an event carries, None for an unknown
                provider; without it, nothing is checked against providers.

        Returns:
            The catalogue. A bad file is among its problems and never takes the others down.
        """
        files, problems = list(yaml_files(BUILT_IN)), list[Problem]()
        for directory in directories:
            try:
                files += yaml_files(directory)
            except ContractFileError as error:
                problems += error.problems
        catalogue = cls.of_files(files, carried=carried)
        return cls(catalogue.entries, (*problems, *catalogue.problems))

    @classmethod
    def of_files(cls, files: Iterable[Path], *, carried: CarriedBy | None = None) -> Self:
        """Read these files; of two with the same id and version the first stands, the later is refused."""
        entries: dict[tuple[str, Order], Entry] = {}
        problems: list[Problem] = []
        seen: set[Path] = set()
        for file in files:
            if (real := file.resolve()) in seen:
                continue
            seen.add(real)
            try:
                entry = _read(file, carried)
            except ContractFileError as error:
                problems += error.problems
                continue
            if (first := entries.setdefault(_key(entry), entry)) is not entry:
                said = f"{entry.contract.id} {entry.contract.version} is already defined by {first.file}"
                problems.append(Problem(file, read_yaml(file).line_of(("id",)), "id", said))
        return cls(tuple(entries[key] for key in sorted(entries)), tuple(problems))

    @property
    def contracts(self) -> tuple[Contract, ...]:
        """The contracts, sorted by id, then version."""
        return tuple(entry.contract for entry in self.entries)

    def get(self, contract_id: str, version: str | None = None) -> Contract:
        """Return a contract.

        Args:
            contract_id: its id.
            version: its version; the newest where there is none.

        Raises:
            UnknownContractError: there is none; the sentence names those that there are.
        """
        return self.entry(contract_id, version).contract

    def entry(self, contract_id: str, version: str | None = None) -> Entry:
        """Return a contract with its file; as :meth:`get`."""
        versions = self._by_id.get(contract_id)
        if versions is None:
            raise UnknownContractError(self._unknown_id(contract_id))
        if version is None:
            return next(reversed(versions.values()))
        if version not in versions:
            raise UnknownContractError(
                f"There is no version {version} of {contract_id}; there is {', '.join(versions)}."
            )
        return versions[version]

    def versions(self, contract_id: str) -> tuple[Contract, ...]:
        """Return every version of a contract, the newest last; none for an unknown id."""
        return tuple(entry.contract for entry in self._by_id.get(contract_id, {}).values())

    def listening_to(self, provider: str) -> Mapping[str, tuple[Contract, ...]]:
        """Return event type → the contracts of a provider with some channel that counts such events."""
        return self._listening.get(provider, _NOBODY)

    @cached_property
    def _by_id(self) -> dict[str, dict[str, Entry]]:
        found: dict[str, dict[str, Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.contract.id, {})[entry.contract.version] = entry
        return found

    @cached_property
    def _listening(self) -> dict[str, Mapping[str, tuple[Contract, ...]]]:
        found: dict[str, dict[str, tuple[Contract, ...]]] = {}
        for contract in self.contracts:
            types = found.setdefault(contract.provider, {})
            for event_type in {name for one in contract.readings.events.values() for name in one.types}:
                types[event_type] = (*types.get(event_type, ()), contract)
        return {provider: MappingProxyType(types) for provider, types in found.items()}

    def _unknown_id(self, contract_id: str) -> str:
        close = difflib.get_close_matches(contract_id, self._by_id, n=1)
        meant = f" Did you mean {close[0]}?" if close else ""
        known = f"There is {', '.join(self._by_id)}." if self._by_id else "There is no contract at all."
        return f"There is no contract {contract_id}.{meant} {known}"


def load_contract(file: Path) -> Contract:
    """Read a contract file.

    Raises:
        ContractFileError: the file is no contract; it carries one problem for each thing that is wrong.
    """
    return read_contract(file).contract


def yaml_files(directory: Path) -> Iterator[Path]:
    """Go through the ``*.yaml`` and ``*.yml`` files below a directory, in the order of their names.

    What is hidden is left out: a mounted Kubernetes ConfigMap shows each file again below ``..data``.

    Raises:
        ContractFileError: the directory, or one below it, cannot be read.
    """
    if not directory.is_dir():
        what = "this is a file" if directory.exists() else "there is no such directory"
        raise ContractFileError.of(directory, f"{what}: contracts are read from directories")
    for parent, below, names in os.walk(directory, onerror=_refuse):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(_SUFFIXES) and not name.startswith("."):
                yield Path(parent, name)


def _refuse(error: OSError) -> None:
    raise ContractFileError.of(Path(error.filename), f"the directory cannot be read: {error.strerror}")


def _read(file: Path, carried: CarriedBy | None) -> Entry:
    """Read a contract file, and refuse it when lint finds an error."""
    read = read_contract(file)
    known = carried(read.contract.provider) if carried is not None else None
    findings = lint(read.contract, known)
    if carried is not None and known is None:
        message = f"there is no provider `{read.contract.provider}` here: its events and answers mean nothing"
        findings.append(Finding("error", "provider", message))
    problems = sorted((_placed(read, one) for one in findings), key=lambda problem: problem.line)
    if any(problem.level == "error" for problem in problems):
        raise ContractFileError(problems)
    return Entry(read.contract, file, read.source.text, tuple(problems))


def _placed(read: ContractFile, finding: Finding) -> Problem:
    location = [int(step) if step.isdigit() else step for step in finding.field.split(".")]
    return Problem(read.source.file, read.source.line_of(location), finding.field, finding.message, finding.level)


def _key(entry: Entry) -> tuple[str, Order]:
    return entry.contract.id, tuple(int(part) for part in entry.contract.version.split("."))
