"""Crash points: where a test may kill or pause the worker, in the middle of a batch.

``PROOFSTREAM_TEST_CRASH_AT=decide:outputs_acked:3`` kills the process with SIGKILL when it passes that point of that
stage for the third time; with ``:stop`` behind it, it pauses it with SIGSTOP instead, to become a zombie. Without the
variable a point costs one comparison.
"""

import asyncio
import os
import signal
from typing import Final, Literal

Step = Literal["batch_read", "outputs_sent", "outputs_acked", "state_sent", "state_acked", "before", "after"]
_ON_THE_WIRE_S = 0.002  # what is handed to the producer leaves the process a moment later


class _Plan:
    """Which point ends the process, and after how many passages."""

    def __init__(self, text: str) -> None:
        self._stage, self._step, count, *action = text.split(":")
        self._left = int(count)
        self._signal = signal.SIGSTOP if action == ["stop"] else signal.SIGKILL

    def pass_by(self, stage: str, step: Step) -> None:
        if (stage, step) != (self._stage, self._step):
            return
        self._left -= 1
        if self._left == 0 and step.endswith("_sent"):
            asyncio.get_running_loop().call_later(_ON_THE_WIRE_S, os.kill, os.getpid(), self._signal)
        elif self._left == 0:
            os.kill(os.getpid(), self._signal)


_text = os.environ.get("PROOFSTREAM_TEST_CRASH_AT")
_plan: Final = _Plan(_text) if _text else None


def crash_point(stage: str, step: Step) -> None:
    """Pass a point of a batch. ``stage`` is `intake` or `decide`, or `commit` with the steps `before` and `after`."""
    if _plan is not None:
        _plan.pass_by(stage, step)
