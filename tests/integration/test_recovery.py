"""What lies in the topics while nobody works is not lost, and what lies there wrongly does no harm."""

import asyncio
from datetime import UTC, datetime

import pytest
from system import System

from streams.simulation import paypal

pytestmark = pytest.mark.timeout(180)


async def test_evidence_that_arrived_in_time_counts_although_the_worker_was_down_at_the_timeout(system: System):
    worker = await system.start_worker()
    now = datetime.now(UTC)
    refund = system.account.add(paypal.Refund("REFUND-1", "CAP-1", "60.00", now))
    await system.start(
        "quick.paypal.refund.recorded",
        {"capture_id": "CAP-1", "amount": "60.00", "currency_code": "USD"},
        "op-down",
        action={"result": {"id": refund.id}},
    )
    await system.read("readbacks", lambda found: len(found) >= 1)
    worker.kill()
    await worker.wait()

    await system.deliver(paypal.capture_refunded(refund, webhook_id="W", sent_at=now), "pp")
    await asyncio.sleep(7)  # past the timeout of 6 seconds
    await system.start_worker()

    assert [one["verdict"] for one in await system.verdicts("op-down", within_s=60)] == ["VERIFIED"]


async def test_junk_in_the_changelog_harms_no_other_row(system: System):
    worker = await system.start_worker()
    operation, made = await system.refund_order(6001)
    await system.read("cases", lambda found: len(found) >= 2)
    worker.terminate()
    await worker.wait()

    changelog = f"{system.prefix}app-cases-changelog"
    for partition in range(4):
        await system.kafka.send_and_wait(changelog, b"junk", key=b"case/acme/order_id/junk", partition=partition)
        await system.kafka.send_and_wait(changelog, b"\xff", key=b"\xfe", partition=partition)
    await system.start_worker()
    await system.deliver_refund(made)

    assert [one["verdict"] for one in await system.verdicts(operation, within_s=60)] == ["VERIFIED"]
