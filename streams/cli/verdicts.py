"""``proofstream verdicts``."""

import json
from typing import Any

import click

from streams.cli.common import bootstrap_option, load_settings, run
from streams.settings import Settings
from streams.transport.clients import follow
from streams.transport.topics import VERDICTS


@click.group()
def verdicts() -> None:
    """Look at the verdicts."""


@verdicts.command()
@click.option("--operation", metavar="ID", help="Only the verdicts of this operation.")
@click.option("--json", "as_json", is_flag=True, help="Print whole records, one JSON object a line.")
@click.option("--new", "only_new", is_flag=True, help="Leave out what was published before now.")
@bootstrap_option
def tail(operation: str | None, *, as_json: bool, only_new: bool, bootstrap_servers: str | None) -> None:
    """Print verdicts as they are published, those from before first. Ends with Ctrl-C."""
    settings = load_settings(bootstrap_servers=bootstrap_servers)
    run(_tail(settings, operation, as_json=as_json, only_new=only_new), settings)


async def _tail(settings: Settings, operation: str | None, *, as_json: bool, only_new: bool) -> None:
    try:
        async for record in follow(settings, VERDICTS, from_beginning=not only_new):
            if operation is not None and record.key != operation.encode():
                continue
            text = (record.value or b"").decode(errors="replace")
            click.echo(text if as_json else summary(text))
    except LookupError as error:
        raise click.ClickException(str(error)) from None


def summary(text: str) -> str:
    """Return one line for a verdict record; a record that is none is shown as it is."""
    try:
        record: Any = json.loads(text)
        line = (
            f"{record['decided_at']}  {record['verdict']:<12}  {record['operation_id']}"
            f"  {record['rule']}: {record['reason']}"
        )
        return line + ("  (supersedes the verdict before)" if record["supersedes"] else "")
    except (ValueError, KeyError, TypeError):
        return f"?  not a verdict record: {text[:200]}"
