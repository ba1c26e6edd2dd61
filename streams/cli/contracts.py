"""``proofstream contracts``: look at the contracts at hand, and check one's own before they are needed."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click

from contracts.catalogue import (
    BUILT_IN,
    CarriedBy,
    Catalogue,
    ContractFileError,
    Entry,
    Problem,
    UnknownContractError,
    yaml_files,
)
from contracts.page import render_page

_COLUMNS = ("id", "version", "published hash", "content hash", "level", "certification", "origin", "warnings")


@click.group("contracts")
@click.option(
    "--directory",
    "directories",
    multiple=True,
    type=click.Path(path_type=Path),
    envvar="PROOFSTREAM_CONTRACT_DIRECTORIES",
    show_envvar=True,
    help="A directory with contracts of your own, read with all below it. May be given more than once.",
)
@click.option(
    "--connections",
    "connections_file",
    type=click.Path(path_type=Path),
    envvar="PROOFSTREAM_CONNECTIONS_FILE",
    show_envvar=True,
    default="connections.yaml",
    show_default=True,
    help="Where providers of your own are declared. Its secrets are not read, and it need not exist.",
)
@click.pass_context
def contracts_group(context: click.Context, directories: tuple[Path, ...], connections_file: Path) -> None:
    """Look at completion contracts and check them.

    A completion contract is a YAML file. It says which evidence proves that an operation really happened:
    what to read back from the provider, which of its events count, and which verdict they make.
    """
    context.obj = AtHand(directories, connections_file)


@contracts_group.command("list")
@click.pass_obj
def list_contracts(at_hand: "AtHand") -> None:
    """List every contract that an operation may name.

    The published hash is that of the contract's page; the content hash is computed from everything in the
    file, so it changes whenever the file's meaning does. Files that are refused are named on standard error,
    and the exit code is then 1. `contracts lint` shows what the warnings are.
    """
    catalogue = at_hand.catalogue()
    rows = [_row(entry) for entry in catalogue.entries]
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *rows, strict=True)]
    for row in (_COLUMNS, *rows):
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    _complain(catalogue.problems)
    if catalogue.problems:
        raise click.exceptions.Exit(1)


@contracts_group.command("show")
@click.argument("contract_id", metavar="ID")
@click.option("--version", help="The version to show; the newest if left out.")
@click.option("--yaml", "as_yaml", is_flag=True, help="Show the contract's file instead of its page.")
@click.pass_obj
def show_contract(at_hand: "AtHand", contract_id: str, version: str | None, as_yaml: bool) -> None:
    """Show a contract as the Markdown page that publishes it.

    What the page leaves open and the file settles (types of inputs, requests, filters of events) is shown
    only by --yaml.
    """
    catalogue = at_hand.catalogue()
    try:
        entry = catalogue.entry(contract_id, version)
    except UnknownContractError as error:
        _complain(catalogue.problems)  # the contract may be in a file that was refused
        raise click.ClickException(str(error)) from None
    if as_yaml:
        click.echo(entry.text, nl=not entry.text.endswith("\n"))
    else:
        click.echo(render_page(entry.contract))


@contracts_group.command("lint")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.pass_obj
def lint_contracts(at_hand: "AtHand", paths: tuple[Path, ...]) -> None:
    """Check contract files, or directories of them.

    Every finding is one line, FILE:LINE: LEVEL: FIELD: MESSAGE. An error keeps a contract from being used: it
    is malformed, can never be VERIFIED, takes absence for evidence, or waits for events that no provider
    sends. A warning is for you to weigh. The exit code is 1 where there is an error, 2 where a path does not
    exist.
    """
    files, problems = _files(paths)
    checked = {file.resolve() for file in files}
    # The built-in ones are read too, since a file that repeats one of them would be refused.
    built_in = [file for file in yaml_files(BUILT_IN) if file.resolve() not in checked]
    catalogue = Catalogue.of_files([*built_in, *files], carried=at_hand.carried())
    found = [*catalogue.problems, *(one for entry in catalogue.entries for one in entry.warnings)]
    problems += sorted((one for one in found if one.file in files), key=lambda one: (str(one.file), one.line))
    for problem in problems:
        click.echo(str(problem))
    errors = sum(problem.level == "error" for problem in problems)
    counts = (
        _count(len(checked), "file"),
        _count(errors, "error"),
        _count(len(problems) - errors, "warning"),
    )
    click.echo(", ".join(counts), err=True)
    if errors:
        raise click.exceptions.Exit(1)


@dataclass(frozen=True, slots=True)
class AtHand:
    """Where contracts of one's own lie, and where providers of one's own are declared."""

    directories: tuple[Path, ...]
    connections_file: Path

    def catalogue(self) -> Catalogue:
        """Read the built-in contracts and those of these directories."""
        return Catalogue.load(self.directories, carried=self.carried())

    def carried(self) -> CarriedBy:
        """Return what says which events are carried, with the providers that the connections' file declares."""
        # Providers bring an HTTP client with them: `--help` need not wait for it.
        from verifiers.connections import ConnectionsError, declared_in  # noqa: PLC0415
        from verifiers.providers import carried_identifiers  # noqa: PLC0415

        if not self.connections_file.exists():
            return carried_identifiers
        try:
            return declared_in(self.connections_file)
        except ConnectionsError as error:
            raise click.ClickException(str(error)) from None


def _row(entry: Entry) -> tuple[str, ...]:
    contract = entry.contract
    return (
        contract.id,
        contract.version,
        contract.published.hash or "-",
        contract.content_hash,
        contract.completion_level,
        contract.published.certification,
        entry.origin,
        str(len(entry.warnings)),
    )


def _files(paths: Iterable[Path]) -> tuple[list[Path], list[Problem]]:
    """Find the files to check, and the directories that hold none."""
    files: list[Path] = []
    problems: list[Problem] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        try:
            below = list(yaml_files(path))
        except ContractFileError as error:
            problems += error.problems
            continue
        if not below:
            problems.append(Problem(path, 1, "", "the directory holds no *.yaml or *.yml file"))
        files += below
    return files, problems


def _complain(problems: Iterable[Problem]) -> None:
    for problem in problems:
        click.echo(str(problem), err=True)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
