"""``proofstream demo`` as a newcomer runs it: everything is real but the providers."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.embedded

WITHIN_S = 75
EXPECTED = {
    "shopify-good": [("VERIFIED", "completion")],
    "shopify-pending": [("VERIFIED", "completion")],
    "shopify-amount": [("CONTRADICTED", "refund_amount_mismatch")],
    "shopify-failed": [("FAILED", "transaction_failed")],
    "paypal-good": [("VERIFIED", "completion")],
    "paypal-twice": [("VERIFIED", "completion"), ("CONTRADICTED", "duplicate_refund_present")],
    "paypal-lost": [("UNVERIFIABLE", "timeout")],
}


async def start_demo(*arguments: str, directory: Path) -> Process:
    """Start the demo where a user's settings for something else lie about: it must not heed them."""
    (directory / ".env").write_text("PROOFSTREAM_TOPIC_PREFIX=other-\n")
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "streams.cli",
        "demo",
        *arguments,
        cwd=directory,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PROOFSTREAM_BOOTSTRAP_SERVERS": "127.0.0.1:1",
            "PROOFSTREAM_PARTITIONS": "3",
            "TMPDIR": str(directory),
        },
    )


def names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


async def test_every_refund_comes_out_as_it_must(tmp_path: Path) -> None:
    demo = await start_demo("--json", directory=tmp_path)
    async with asyncio.timeout(WITHIN_S):
        out, err = await demo.communicate()
    assert demo.returncode == 0, err.decode()
    assert err == b""

    verdicts: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in out.splitlines():
        record = json.loads(line)
        verdicts[record["operation_id"]].append(record)
    assert {one: [(two["verdict"], two["rule"]) for two in found] for one, found in verdicts.items()} == EXPECTED

    first, second = verdicts["paypal-twice"]
    assert second["supersedes"] == first["verdict_id"]
    assert second["do_not_retry"]
    [lost] = verdicts["paypal-lost"]
    assert lost["contract"] == "demo.paypal.refund.recorded"
    assert lost["evidence"]["channels"]["refund_readback"]["last_error"] == "not_found"
    [pending] = verdicts["shopify-pending"]
    assert any(rule.get("unless", {}).get("result") == "true" for rule in pending["evidence"]["contradictions"])
    assert names(tmp_path) == [".env"]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_and_leaves_nothing(tmp_path: Path, ending: signal.Signals) -> None:
    demo = await start_demo(directory=tmp_path)
    assert demo.stdout is not None
    async with asyncio.timeout(WITHIN_S):
        assert b"Starting" in await demo.stdout.readline()
        await demo.stdout.readline()  # a verdict, or the forged delivery: the worker works
        demo.send_signal(ending)
        _, err = await demo.communicate()
    assert demo.returncode == 128 + ending
    assert err == b""
    assert names(tmp_path) == [".env"]
