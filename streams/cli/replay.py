"""``proofstream replay``."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from contracts.catalogue import Catalogue
from streams.cli.common import load_settings
from streams.intake import Context
from streams.replay.comparison import differences
from streams.replay.history import History, HistoryError, load_history
from streams.replay.runner import Outcome
from streams.replay.runner import replay as run_history
from verifiers.connections import ConnectionsError, carried_by

DIFFERENT = 1
MALFORMED = 2


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each file, with its verdict records.")
def replay(files: tuple[Path, ...], *, as_json: bool) -> None:
    """Run histories on a virtual clock through the worker's own stages, and compare.

    A history is a script of the world in JSON lines: accounts, operations, deliveries, what the provider would answer,
    and the verdicts that are right. Nothing is sent anywhere. Exit code 0 when every expectation holds, 1 when one
    does not, 2 when a file is malformed.
    """
    settings = load_settings()
    histories = [load_or_complain(path) for path in files]
    try:
        carried = carried_by(one for history in histories if history for one in history.connections.values())
    except ConnectionsError as error:
        raise click.ClickException(f"the histories disagree: {error}") from None
    catalogue = Catalogue.load(settings.contract_directories, carried=carried)
    for problem in catalogue.problems:
        click.echo(f"contract refused: {problem}", err=True)
    context = Context(catalogue, {}, settings.policy)
    codes = [run_one(history, context, as_json=as_json) if history else MALFORMED for history in histories]
    sys.exit(max(codes))


def load_or_complain(path: Path) -> History | None:
    """Load a history; say what is wrong with a malformed one, and return None."""
    try:
        return load_history(path)
    except HistoryError as error:
        click.echo(f"malformed  {error}", err=True)
        return None


def run_one(history: History, context: Context, *, as_json: bool = False) -> int:
    """Run a history and print what came of it; return :data:`DIFFERENT` where that is not what it expects, else 0."""
    path = history.path
    outcome = run_history(history, context)
    found = differences(history, outcome)
    if as_json:
        click.echo(json.dumps(_report(path, outcome, found), ensure_ascii=False))
    elif found:
        click.echo(f"different  {path}")
        for sentence in found:
            click.echo(f"  {sentence}")
    else:
        click.echo(f"ok         {path}")
    return DIFFERENT if found else 0


def _report(path: Path, outcome: Outcome, found: list[str]) -> dict[str, Any]:
    return {
        "file": str(path),
        "ok": not found,
        "differences": found,
        "verdicts": outcome.verdicts,
        "dead_letters": [
            {"topic": one.topic, "offset": one.offset, "stage": one.stage, "class": one.class_, "reason": one.reason}
            for one in outcome.refused.values()
        ],
        "rejected_webhooks": outcome.rejected_webhooks,
    }
