"""``proofstream operations``."""

import json
import sys
from pathlib import Path
from typing import Any, BinaryIO

import click
import orjson

from streams.cli.common import bootstrap_option, load_settings, run
from streams.settings import Settings
from streams.transport.clients import producer
from streams.transport.topics import OPERATIONS


@click.group()
def operations() -> None:
    """Publish operations by hand."""


@operations.command()
@click.argument("file", type=click.File("rb"))
@bootstrap_option
def publish(file: BinaryIO, bootstrap_servers: str | None) -> None:
    """Publish the operations in FILE, or `-` for standard input.

    FILE holds one JSON object, a list of them, or one object a line. Each has `operation_id`, `contract`, `connection`,
    `created_at`, `input` and, once it is known, `action`. Publishing an operation again is harmless: with its action's
    result it is completed, as it was it is a repeat.
    """
    found = _read(file)
    settings = load_settings(bootstrap_servers=bootstrap_servers)
    run(_publish(found, settings), settings)


def _read(file: BinaryIO) -> list[dict[str, Any]]:
    name, data = Path(file.name).name, file.read()
    try:
        document = json.loads(data)
        found = document if isinstance(document, list) else [document]
    except ValueError:
        found = []
        for number, line in enumerate(data.split(b"\n"), start=1):
            if line.strip():
                try:
                    found.append(json.loads(line))
                except ValueError as error:
                    raise click.ClickException(f"{name}:{number}: no JSON: {error}") from None
    for number, one in enumerate(found, start=1):
        if not isinstance(one, dict) or not isinstance(one.get("operation_id"), str):
            raise click.ClickException(f"{name}: operation {number}: operation_id: missing, or no text")
    if not found:
        raise click.ClickException(f"{name}: holds no operation")
    return found


async def _publish(found: list[dict[str, Any]], settings: Settings) -> None:
    topic = settings.topic(OPERATIONS)
    async with producer(settings) as kafka:
        for one in found:
            sent = await kafka.send_and_wait(topic, orjson.dumps(one), key=one["operation_id"].encode())
            click.echo(f"{one['operation_id']} → {topic}/{sent.partition}/{sent.offset}", file=sys.stderr)
