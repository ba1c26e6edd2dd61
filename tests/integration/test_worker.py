"""A real worker process, on a real Kafka and on the embedded broker, with providers that answer over HTTP."""

import asyncio
import time
from datetime import UTC, datetime

import orjson
import pytest
from system import System, until

from streams.simulation import paypal, shopify

pytestmark = pytest.mark.timeout(180)


async def test_every_verdict_comes_out_of_a_real_worker(system: System):
    await system.start_worker()

    good, made = await system.refund_order(1001)
    await system.deliver_refund(made)
    failed, _ = await system.refund_order(1002, status="FAILURE")
    wrong, made = await system.refund_order(1003, "quick.shopify.refund.created", amount="42.05")
    await system.deliver_refund(made)
    lost = "op-lost"
    await system.start(
        "quick.paypal.refund.recorded",
        {"capture_id": "CAP-LOST", "amount": "60.00", "currency_code": "USD"},
        lost,
        action={"result": {"id": "REFUND-LOST"}},
    )

    verified = (await system.verdicts(good))[0]
    assert (verified["verdict"], verified["rule"], verified["sequence"]) == ("VERIFIED", "completion", 1)
    channel = verified["evidence"]["channels"]["refund_readback"]
    assert (channel["last_status"], channel["served_version"]) == (200, "2025-07")
    assert verified["evidence"]["channels"]["order_refund_events"]["count"] == 1
    assert [(one["verdict"], one["rule"]) for one in await system.verdicts(failed)] == [
        ("FAILED", "transaction_failed")
    ]
    assert [(one["verdict"], one["rule"]) for one in await system.verdicts(wrong)] == [
        ("CONTRADICTED", "refund_amount_mismatch")
    ]
    assert [(one["verdict"], one["reason"]) for one in await system.verdicts(lost)] == [
        ("UNVERIFIABLE", "evidence_unavailable_before_timeout")
    ]
    reviews = await system.read("reviews", lambda found: len(found) >= 1)
    assert {one.key for one in reviews} == {lost.encode()}


async def test_a_second_refund_supersedes_verified(system: System):
    await system.start_worker()
    now = datetime.now(UTC)
    first = system.account.add(paypal.Refund("REFUND-1", "CAP-1", "60.00", now))
    second = paypal.Refund("REFUND-2", "CAP-1", "60.00", now)
    await system.start(
        "paypal.refund.recorded",
        {"capture_id": "CAP-1", "amount": "60.00", "currency_code": "USD"},
        "op-pp",
        action={"result": {"id": first.id}},
    )

    await system.deliver(paypal.capture_refunded(first, webhook_id="W", sent_at=now), "pp")
    await system.verdicts("op-pp")
    await system.deliver(paypal.capture_refunded(second, webhook_id="W", sent_at=now), "pp")

    one, two = await system.verdicts("op-pp", count=2)
    assert (one["verdict"], two["verdict"], two["rule"]) == ("VERIFIED", "CONTRADICTED", "duplicate_refund_present")
    assert two["supersedes"] == one["verdict_id"]
    assert two["do_not_retry"] is True


async def test_a_worker_killed_in_the_middle_loses_nothing_and_counts_nothing_twice(system: System):
    worker = await system.start_worker()
    operation, made = await system.refund_order(2001)
    system.shop.fail_next(shopify.ABSENT, times=3)
    await system.deliver_refund(made)
    await system.deliver_refund(made)
    await system.read("cases", lambda found: sum(b'"kind":"events"' in (one.value or b"") for one in found) == 2)

    worker.kill()
    await worker.wait()
    await system.deliver_refund(made)
    other, made = await system.refund_order(2002)
    await system.deliver_refund(made)
    await system.start_worker()

    (record,) = await system.verdicts(operation, within_s=60)
    assert record["verdict"] == "VERIFIED"
    events = record["evidence"]["channels"]["order_refund_events"]
    assert (events["count"], events["duplicates_dropped"]) == (1, 2)
    assert [one["verdict"] for one in await system.verdicts(other)] == ["VERIFIED"]


async def test_a_worker_that_is_asked_to_stop_is_quick_and_leaves_nothing_behind(system: System):
    worker = await system.start_worker()
    operation, made = await system.refund_order(3001)
    await system.deliver_refund(made)
    await system.verdicts(operation)

    begun = time.monotonic()
    worker.terminate()
    assert await asyncio.wait_for(worker.wait(), 15) == 0
    assert time.monotonic() - begun < 10

    await system.start_worker()
    other, made = await system.refund_order(3002)
    await system.deliver_refund(made)
    assert [one["verdict"] for one in await system.verdicts(other)] == ["VERIFIED"]
    assert len(await system.verdicts(operation)) == 1


async def test_poison_on_every_topic_costs_one_dead_letter_each_and_nothing_else(system: System):
    await system.start_worker()
    poison = [None, b"", b"\xff\xfe", b"{}", b"[]", b'"text"', b"1e999", b'{"kind":"tick","at":"x"}']
    topics = ("operations", "webhooks", "cases", "readbacks")

    for topic in topics:
        for number, value in enumerate(poison):
            headers = [("connection_id", b"pp"), ("trace", b"\xff\x00"), ("nothing", None)]
            await system.publish(topic, value, key=f"case/pp/capture_id/{number}".encode(), headers=headers)
    operation, made = await system.refund_order(4001)
    await system.deliver_refund(made)

    assert [one["verdict"] for one in await system.verdicts(operation)] == ["VERIFIED"]
    letters = await system.read("dead-letters", lambda found: len(found) >= len(topics) * len(poison))
    assert len(letters) == len(topics) * len(poison)
    kept = {(dict(one.headers)["dead_letter_topic"].decode(), one.value) for one in letters}
    assert kept == {(system.prefix + topic, value) for topic in topics for value in poison}
    for letter in letters:
        headers = dict(letter.headers)
        assert headers["trace"] == b"\xff\x00"
        assert headers["dead_letter_class"]
        assert headers["dead_letter_reason"]
        assert headers["dead_letter_stage"] in {b"intake", b"decide", b"readback"}


async def test_topics_that_are_not_as_they_must_be_stop_the_start(system: System):
    worker = await system.start_worker()
    worker.terminate()
    await worker.wait()

    refused = await system.run("worker", partitions="5")

    assert await asyncio.wait_for(refused.wait(), 30) == 1
    last = system.log.read_text().splitlines()[-1]
    assert last.startswith("Error: the topic")
    assert "has 4 partitions, but PROOFSTREAM_PARTITIONS is 5" in last


async def test_a_person_publishes_an_operation_and_reads_its_verdict(system: System):
    await system.start_worker()
    file = system.directory / "operation.json"
    now = datetime.now(UTC)
    refund = system.shop.add(shopify.Refund(5001, 5001, "42.50", now))
    file.write_bytes(
        orjson.dumps(
            {
                "operation_id": "op-5001",
                "contract": "shopify.refund.created",
                "connection": "acme",
                "created_at": now.isoformat(),
                "input": {"order_id": "5001", "amount": "42.50"},
                "action": {"result": {"refundCreate": {"refund": {"id": refund.id}}}},
            }
        )
    )

    published = await system.run("operations", "publish", str(file))
    assert await asyncio.wait_for(published.wait(), 30) == 0
    await system.deliver_refund(refund)
    await system.verdicts("op-5001")

    tail = await system.run("verdicts", "tail", "--operation", "op-5001")
    try:
        await until(lambda: "VERIFIED      op-5001" in system.log.read_text(), within_s=30)
    finally:
        tail.kill()
        await tail.wait()
