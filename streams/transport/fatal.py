"""Ending the process, where going on would lose or double something."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

EXIT_CODE: Final = 70
_log = logging.getLogger(__name__)


def end_process(stage: str, error: BaseException) -> NoReturn:
    """Log an error and end the process at once: no acknowledgement, no commit, no cleaning up.

    A supervisor starts the worker again, and it goes on from the last committed offset.
    """
    _log.critical("%s failed, the process ends: %r", stage, error, exc_info=error)
    logging.shutdown()
    sys.stderr.flush()
    os._exit(EXIT_CODE)


@contextmanager
def fatal(stage: str) -> Iterator[None]:
    """End the process when the body raises, even by cancellation: to leave an agent's loop body is to acknowledge."""
    try:
        yield
    except BaseException as error:  # noqa: BLE001 - see above
        end_process(stage, error)
