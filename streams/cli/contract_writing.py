"""``proofstream contracts schema|new|test``: what helps to write a contract."""

import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import click

from contracts.catalogue import BUILT_IN, CarriedBy, Catalogue, ContractFileError, yaml_files
from contracts.schema import schema_text
from contracts.skeleton import SkeletonError, skeleton
from streams.cli.common import load_settings
from streams.cli.contracts import AtHand
from streams.cli.replay import DIFFERENT, MALFORMED, load_or_complain, run_one
from streams.intake import Context
from streams.replay.history import History
from verifiers.connections import ConnectionsError, carried_by

_HISTORIES = ".histories"


@click.command("schema")
def print_schema() -> None:
    r"""Print the JSON Schema of contract files, for an editor.

    Put it beside your contracts and name it in their first line:

    \b
        # yaml-language-server: $schema=contract.schema.json
    """
    click.echo(schema_text(), nl=False)


@click.command("new")
@click.argument("provider")
@click.argument("contract_id", metavar="ID")
@click.option("--event", "event_type", metavar="TYPE", help="The events to count; a likely type if left out.")
@click.pass_obj
def new_contract(at_hand: AtHand, provider: str, contract_id: str, event_type: str | None) -> None:
    r"""Print a contract to begin with, each member with a word of what it is for.

    PROVIDER is a built-in one, or one that the connections' file declares; ID is provider.thing.level. What is printed
    lints clean, and proves nothing until you have changed the lines marked with <<.

    \b
        proofstream contracts new paypal paypal.refund.mine > my-contracts/paypal.refund.mine.yaml
    """
    carried = at_hand.carried()(provider)
    if carried is None:
        raise click.ClickException(f"there is no provider {provider!r} here, and the connections declare none")
    try:
        text = skeleton(provider, contract_id, carried, datetime.now(UTC).date(), event_type=event_type)
    except SkeletonError as error:
        raise click.ClickException(str(error)) from None
    click.echo(text, nl=False)


@click.command("test")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.pass_obj
def test_contract(at_hand: AtHand, path: Path) -> None:
    """Run the histories that lie beside a contract, or beside each contract of a directory.

    The histories of my.contract.yaml are the *.jsonl files in my.contract.histories/. They run as `proofstream replay`
    runs them, with the built-in contracts and those of PATH. Exit code 0 when every expectation holds, 1 when one does
    not, when a contract is refused, or when there is no history at all, 2 when a history is malformed.
    """
    files = _files(path)
    beside = {file: sorted(file.with_name(file.stem + _HISTORIES).glob("*.jsonl")) for file in files}
    loaded = {path: load_or_complain(path) for paths in beside.values() for path in paths}
    histories = [one for one in loaded.values() if one is not None]
    catalogue = Catalogue.of_files([*_built_in_but(files), *files], carried=_carried(at_hand, histories))
    for problem in catalogue.problems:
        click.echo(f"contract refused: {problem}", err=True)
    context = Context(catalogue, {}, load_settings().policy)
    codes = [run_one(one, context) if one is not None else MALFORMED for one in loaded.values()]
    for file, paths in beside.items():
        if not paths:
            click.echo(f"untested   {file}: there is no {file.stem}{_HISTORIES}/*.jsonl")
    refused = any(one.level == "error" for one in catalogue.problems)
    sys.exit(max(codes) if codes and not refused else max([DIFFERENT, *codes]))


def _files(path: Path) -> list[Path]:
    try:
        return list(yaml_files(path)) if path.is_dir() else [path]
    except ContractFileError as error:
        raise click.ClickException(str(error)) from None


def _built_in_but(files: Iterable[Path]) -> list[Path]:
    """Return the built-in contracts' files without those that are asked for: a file is to be read once."""
    asked_for = {file.resolve() for file in files}
    return [file for file in yaml_files(BUILT_IN) if file.resolve() not in asked_for]


def _carried(at_hand: AtHand, histories: Iterable[History]) -> CarriedBy:
    """Ask the providers here, then what the histories' connections declare, then the connections' file."""
    try:
        declared = carried_by(one for history in histories for one in history.connections.values())
    except ConnectionsError as error:
        raise click.ClickException(f"the histories disagree: {error}") from None

    def carried(provider: str) -> Mapping[str, frozenset[str]] | None:
        known = declared(provider)
        return known if known is not None else at_hand.carried()(provider)

    return carried
