"""Child processes that end with us: started with a log file, stopped politely and then for certain."""

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import Callable, Mapping
from pathlib import Path

STOP_WITHIN_S = 3.0
LOG_TAIL_LINES = 20

_PR_SET_PDEATHSIG = 1


async def start_child(*command: str, log: Path, environment: Mapping[str, str] | None = None) -> Process:
    """Start a command whose output goes to the end of a log file.

    The child gets a session of its own: a terminal's Ctrl-C reaches us alone, so a worker can still commit
    to a living broker while it shuts down. On Linux the child dies with the *thread* that calls this;
    call it from one that lives as long as the child should, such as the main thread.

    Args:
        command: The executable and its arguments.
        log: The file for its output and its errors.
        environment: Variables that it gets beside ours.

    Returns:
        The process; hand it to `stop_child` in a `finally`.

    Raises:
        OSError: The executable cannot be started.
    """
    with log.open("ab") as output:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=DEVNULL,
            stdout=output,
            stderr=STDOUT,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
            preexec_fn=_die_with_parent(),
        )


async def stop_child(process: Process, within_s: float = STOP_WITHIN_S) -> None:
    """End exactly this process: SIGTERM, and SIGKILL when it is still there after `within_s` seconds."""
    for end in (process.terminate, process.kill):
        with contextlib.suppress(ProcessLookupError):
            end()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), within_s)
            return


def log_tail(log: Path) -> str:
    """Return the last lines of a log, with a heading, for an error's message."""
    lines = log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]
    return "\n".join(["The end of its log:", *lines]) if lines else "Its log is empty."


def _die_with_parent() -> Callable[[], None] | None:
    """Return what the child calls before exec so that it does not outlive a parent killed by SIGKILL.

    No `finally` runs in a killed parent, so the kernel has to do it. Linux only (prctl); elsewhere a
    killed parent leaves its children behind.
    """
    if sys.platform != "linux":
        return None
    # Loaded here and not in the child: between fork and exec a child should do little but system calls.
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def in_child() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent died before that call, so no signal will come
            os._exit(1)

    return in_child
