"""``proofstream dead-letters``."""

import sys
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, BinaryIO, get_args

import click
import orjson

from streams.cli.common import bootstrap_option, load_settings, run
from streams.clock import clock_ms
from streams.dead_letters.desk import CannotPutBackError, Desk, open_desk
from streams.dead_letters.letter import Letter, LetterId, parse_letter_id
from streams.dead_letters.search import Found, Wanted, parse_moment
from streams.dead_letters.show import document_of, line_of, page_of
from streams.outputs import Stage
from streams.settings import Settings
from streams.transport.clients import producer
from streams.transport.topics import READBACKS

_FAILED = 1


class _LetterIdType(click.ParamType):
    """A dead letter's id."""

    name = "id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> LetterId:
        try:
            return parse_letter_id(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _MomentType(click.ParamType):
    """An RFC 3339 date-time, or how long ago; in milliseconds since the epoch."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return parse_moment(value, clock_ms())
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _filters(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say which letters are meant."""
    options = (
        click.option("--stage", "stages", multiple=True, type=click.Choice(get_args(Stage)), help="Refused by it."),
        click.option("--class", "classes", multiple=True, metavar="WORD", help="Of this class, see docs/topics.md."),
        click.option("--since", type=_MomentType(), help="Refused then or later: RFC 3339, or 90s, 30m, 2h, 7d ago."),
        click.option("--until", type=_MomentType(), help="Refused before then."),
        click.option("--operation", "operation_id", metavar="ID", help="About this operation, its id in full."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _wanted(filters: dict[str, Any], ids: Iterable[LetterId] = ()) -> Wanted:
    return Wanted(
        frozenset(ids),
        frozenset(filters["stages"]),
        frozenset(filters["classes"]),
        filters["since"],
        filters["until"],
        filters["operation_id"],
    )


def _run(work: Coroutine[Any, Any, None], settings: Settings) -> None:
    try:
        run(work, settings)
    except LookupError as error:
        raise click.ClickException(str(error)) from None


@click.group("dead-letters")
def dead_letters() -> None:
    """Look at what could not be processed, and put it back after a fix.

    A dead letter's ID is its place on the topic, partition/offset.
    """


@dead_letters.command("list")
@_filters
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="The most that are shown.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@bootstrap_option
def list_letters(*, limit: int, as_json: bool, bootstrap_servers: str | None, **filters: Any) -> None:
    """List dead letters, the newest first, one a line.

    Each with its id, when it was refused, the stage, the class, the place it came from, the reason, and when it was put
    back if it was. An option given more than once means any of its values.
    """
    settings = load_settings(bootstrap_servers=bootstrap_servers)
    _run(_list(settings, _wanted(filters), limit, as_json=as_json), settings)


async def _list(settings: Settings, wanted: Wanted, limit: int, *, as_json: bool) -> None:
    async with open_desk(settings) as desk:
        found = await desk.find(wanted)
    letters = found.newest_first()
    for letter in letters[:limit]:
        mark = found.put_back.get(letter.id)
        click.echo(orjson.dumps(document_of(letter, mark)) if as_json else line_of(letter, mark))
    if len(letters) > limit:
        click.echo(f"{len(letters) - limit} older ones are not shown, see --limit", err=True)
    if found.strangers:
        click.echo(f"{found.strangers} records of the topic {desk.dead_letters} are no dead letters", err=True)


@dead_letters.command("show")
@click.argument("letter_id", metavar="ID", type=_LetterIdType())
@click.option("--raw", type=click.File("wb"), help="Write the value's bytes to this file, `-` for standard output.")
@bootstrap_option
def show_letter(letter_id: LetterId, raw: BinaryIO | None, bootstrap_servers: str | None) -> None:
    """Show a dead letter: why it was refused, and the record as it came.

    The value is shown as text, JSON indented; as a hex dump where it is no text.
    """
    settings = load_settings(bootstrap_servers=bootstrap_servers)
    _run(_show(settings, letter_id, raw), settings)


async def _show(settings: Settings, letter_id: LetterId, raw: BinaryIO | None) -> None:
    async with open_desk(settings) as desk:
        found = await desk.find(Wanted(frozenset({letter_id})))
        letter = _only(found)
        contents = await desk.open(letter)
    if raw is None:
        click.echo(page_of(letter, contents, found.put_back.get(letter_id)))
        return
    raw.write(contents.value or b"")
    if letter.cut is not None:
        click.echo(f"cut: {letter.cut}; the whole lies at {letter.source.place}", err=True)


def _only(found: Found) -> Letter:
    for missing in found.missing():
        raise LookupError(f"there is no dead letter {missing}")
    return found.letters[0]


@dead_letters.command("requeue")
@click.argument("ids", metavar="[ID]...", nargs=-1, type=_LetterIdType())
@_filters
@click.option("--all", "every", is_flag=True, help="All that the filters leave and that were not put back yet.")
@click.option("--yes", is_flag=True, help="Do not ask first.")
@click.option("--dry-run", is_flag=True, help="Say what would be put back, and do nothing.")
@bootstrap_option
def requeue_letters(
    ids: tuple[LetterId, ...],
    *,
    every: bool,
    yes: bool,
    dry_run: bool,
    bootstrap_servers: str | None,
    **filters: Any,
) -> None:
    """Put dead letters back where they came from, the oldest first.

    Mend the cause first: what is refused again becomes a new dead letter. To put one back twice is harmless, since
    whoever receives it has seen it. Exit code 1 when one could not be put back.
    """
    if every == bool(ids):
        raise click.UsageError("name the dead letters by their ids, or give --all")
    if ids and _wanted(filters) != Wanted():
        raise click.UsageError("filters go with --all, not with ids")
    settings = load_settings(bootstrap_servers=bootstrap_servers)
    _run(_requeue(settings, _wanted(filters, ids), yes=yes or not every, dry_run=dry_run), settings)


async def _requeue(settings: Settings, wanted: Wanted, *, yes: bool, dry_run: bool) -> None:
    async with open_desk(settings) as desk:
        found = await desk.find(wanted)
    missing = list(found.missing())
    for letter_id in missing:
        click.echo(f"{letter_id}: there is no such dead letter", err=True)
    letters = found.newest_first()[::-1]
    if not wanted.ids:
        letters = [one for one in letters if one.id not in found.put_back]
    if not (yes or dry_run):
        for letter in letters:
            click.echo(line_of(letter, None))
        if letters:
            click.confirm(f"Put back {len(letters)}?", abort=True)
    if not letters and not missing:
        click.echo("there is nothing to put back", err=True)
    async with open_desk(settings) as desk:
        failed = await (_rehearse(desk, letters) if dry_run else _put_back(settings, desk, letters))
    if failed or missing:
        sys.exit(_FAILED)


async def _rehearse(desk: Desk, letters: Iterable[Letter]) -> int:
    failed = 0
    for letter in letters:
        try:
            plain = desk.plain_topic(letter)
            await desk.whole(letter)
        except (CannotPutBackError, LookupError) as error:
            click.echo(f"{letter.id}: {error}", err=True)
            failed += 1
        else:
            place = f"{letter.source.topic}/{letter.source.partition}"
            click.echo(f"{letter.id} would go to {place}{_remark(plain)}")
    return failed


async def _put_back(settings: Settings, desk: Desk, letters: Iterable[Letter]) -> int:
    failed = 0
    async with producer(settings) as kafka:
        for letter in letters:
            try:
                mark = await desk.put_back(letter, kafka)
            except (CannotPutBackError, LookupError) as error:
                click.echo(f"{letter.id}: {error}", err=True)
                failed += 1
            else:
                click.echo(f"{letter.id} → {mark.to}{_remark(desk.plain_topic(letter))}")
    return failed


def _remark(plain: str) -> str:
    return "  (a read that its case no longer waits for is dropped)" if plain == READBACKS else ""
