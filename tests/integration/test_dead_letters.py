"""Dead letters repaired by command: found, looked at, put back after a fix, and put back again without harm."""

import asyncio
import os
import sys
from asyncio.subprocess import Process
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
import yaml
from aiokafka import AIOKafkaProducer, ConsumerRecord
from system import SECRET, SHOP, System, now_text, write_contracts

from contracts.instants import parse_instant
from streams.clock import clock_ms
from streams.messages import Intent, Source, Start, encode
from streams.simulation import shopify

pytestmark = pytest.mark.timeout(240)


@dataclass
class Said:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in self.out.splitlines()]


async def dead_letters(system: System, *arguments: str, answer: str = "") -> Said:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "streams.cli", "dead-letters", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | system.environment,
    )
    out, err = await asyncio.wait_for(process.communicate(answer.encode()), 60)
    assert process.returncode is not None
    return Said(process.returncode, out.decode(), err.decode())


def told(records: Iterable[ConsumerRecord]) -> list[ConsumerRecord]:
    """The letters among the records of the topic."""
    return [one for one in records if "dead_letter_stage" in dict(one.headers)]


async def letters(system: System, count: int) -> list[dict[str, Any]]:
    """Wait for so many letters, and list them, the oldest first."""
    await system.read("dead-letters", lambda found: len(told(found)) >= count)
    listed = await dead_letters(system, "list", "--json")
    assert listed.code == 0, listed.err
    assert len(listed.objects) == count
    return listed.objects[::-1]


async def restart(system: System, worker: Process, **settings: str) -> Process:
    worker.terminate()
    assert await asyncio.wait_for(worker.wait(), 20) == 0
    return await system.start_worker(**settings)


def add_connection(system: System, name: str) -> None:
    """Configure the shop once more, under another name."""
    file = system.directory / "connections.yaml"
    document = yaml.safe_load(file.read_text())
    document["connections"].append(document["connections"][0] | {"id": name})
    file.write_text(yaml.safe_dump(document))


def operation_of(number: int, refund: shopify.Refund, connection: str) -> dict[str, Any]:
    return {
        "operation_id": f"op-{number}",
        "contract": "shopify.refund.created",
        "connection": connection,
        "created_at": now_text(),
        "input": {"order_id": number, "amount": "42.50"},
        "action": {"result": {"refundCreate": {"refund": {"id": refund.id}}}},
    }


async def through(system: System, number: int) -> None:
    """Wait until everything before has been worked off, by the verdict of an operation behind it."""
    operation, made = await system.refund_order(number)
    await system.deliver_refund(made)
    await system.verdicts(operation)


async def test_letters_are_put_back_after_a_fix_in_any_order_and_twice_without_harm(system: System):
    worker = await system.start_worker()
    asked = operation_of(1, refund := shopify.Refund(1, 1, "42.50", datetime.now(UTC)), "later")
    system.shop.add(refund)
    await system.publish("operations", orjson.dumps(asked), b"op-1", [("trace", b"\xff"), ("none", None)])
    delivery = shopify.refund_created(refund, shop=SHOP, secret=SECRET, sent_at=datetime.now(UTC))
    await system.deliver(delivery, "later")
    await system.deliver(delivery, "later")  # the provider's own repeat
    await through(system, 2)

    found = await letters(system, 3)
    assert {(one["stage"], one["class"], one["put_back"]) for one in found} == {("intake", "unknown_connection", None)}
    (operation,) = [one for one in found if one["operation_id"] == "op-1"]
    listed = await dead_letters(system, "list", "--operation", "op-1", "--since", "1h")
    (line,) = listed.out.splitlines()
    assert line.startswith(operation["id"])
    assert "there is no connection 'later'" in line
    assert (await dead_letters(system, "list", "--until", "1h")).out == ""
    shown = await dead_letters(system, "show", operation["id"])
    assert '"operation_id": "op-1"' in shown.out
    assert "trace: 0xff" in shown.out
    raw = system.directory / "raw"
    assert (await dead_letters(system, "show", operation["id"], "--raw", str(raw))).code == 0
    assert raw.read_bytes() == orjson.dumps(asked)
    rehearsed = await dead_letters(system, "requeue", "--all", "--dry-run")
    assert len(rehearsed.out.splitlines()) == 3
    refused = await dead_letters(system, "requeue", "--all", answer="n\n")
    assert refused.code == 1
    assert len(await letters(system, 3)) == 3

    add_connection(system, "later")
    worker = await restart(system, worker)
    ids = [one["id"] for one in found]
    two_people = (dead_letters(system, "requeue", *given) for given in (reversed(ids), ids))
    for requeued in await asyncio.gather(*two_people):
        assert requeued.code == 0, requeued.err
        assert len(requeued.out.splitlines()) == 3
    assert all(one["put_back"] for one in await letters(system, 3))
    nothing = await dead_letters(system, "requeue", "--all", "--yes")
    assert (nothing.code, nothing.out) == (0, "")

    (verified,) = await system.verdicts("op-1")
    assert (verified["verdict"], verified["sequence"]) == ("VERIFIED", 1)
    # What is put back once more changes nothing: a second refund's verdict shows what has been counted by then.
    await through(system, 3)
    assert (await dead_letters(system, "requeue", *ids, *ids)).code == 0
    await through(system, 4)
    second = system.shop.add(shopify.Refund(101, 1, "42.50", datetime.now(UTC)))
    await system.deliver(shopify.refund_created(second, shop=SHOP, secret=SECRET, sent_at=datetime.now(UTC)), "later")
    first, contradicted = await system.verdicts("op-1", count=2)
    assert first == verified
    assert (contradicted["verdict"], contradicted["sequence"]) == ("CONTRADICTED", 2)
    events = contradicted["evidence"]["channels"]["order_refund_events"]
    assert (events["count"], events["duplicates_dropped"]) == (2, 1)
    assert len(await letters(system, 3)) == 3


async def test_a_message_that_a_case_refused_is_put_back_behind_later_ones_of_its_source(system: System):
    worker = await system.start_worker()
    now = clock_ms()
    refund = system.shop.add(shopify.Refund(7, 7, "42.50", datetime.now(UTC)))

    def start(operation_id: str, contract: str, offset: int) -> bytes:
        intent = Intent(
            contract,
            "1.0.0",
            "acme",
            created := now_text(),
            parse_instant(created).start_ms,
            {"order_id": "gid://shopify/Order/7", "amount": "42.50"},
        )
        action = {"$action.result.refundCreate.refund.id": refund.id}
        return encode(Start(now, Source(f"{system.prefix}cases", 3, offset), operation_id, intent, action))

    key = b"case/acme/order_id/gid://shopify/Order/7"
    await system.publish("cases", start("op-early", "later.shopify.refund.created", 5), key)
    await system.publish("cases", start("op-late", "shopify.refund.created", 9), key)
    await system.deliver_refund(refund)
    assert [one["verdict"] for one in await system.verdicts("op-late")] == ["VERIFIED"]
    (letter,) = await letters(system, 1)
    assert (letter["stage"], letter["class"], letter["operation_id"]) == ("decide", "unknown_contract", "op-early")

    more = write_contracts(system.directory / "more", "later", {})
    directories = f"{system.environment['PROOFSTREAM_CONTRACT_DIRECTORIES']}{os.pathsep}{more}"
    await restart(system, worker, contract_directories=directories)
    for _ in range(2):
        assert (await dead_letters(system, "requeue", letter["id"])).code == 0

    (verified,) = await system.verdicts("op-early")
    assert (verified["verdict"], verified["sequence"]) == ("VERIFIED", 1)
    await through(system, 8)
    assert len(await system.verdicts("op-early")) == 1
    assert len(await letters(system, 1)) == 1


async def test_what_is_refused_again_is_a_new_letter_and_what_cannot_go_back_is_named(system: System):
    early = await dead_letters(system, "list")
    assert early.code == 1
    assert early.err.startswith(f"Error: there is no topic {system.prefix}dead-letters")
    await system.start_worker()
    asked = operation_of(1, shopify.Refund(1, 1, "42.50", datetime.now(UTC)), "nowhere")
    await system.publish("operations", orjson.dumps(asked), b"op-1")
    (first,) = await letters(system, 1)
    foreign = [
        (f"dead_letter_{name}", value)
        for name, value in {
            "stage": b"intake",
            "class": b"not_json",
            "reason": b"because \x1b[31m",
            "topic": b"elsewhere",
            "partition": b"0",
            "offset": b"0",
            "at": now_text().encode(),
        }.items()
    ]
    await system.publish("dead-letters", b"\xff\x00", headers=foreign)
    await system.publish("dead-letters", b"?", headers=[("dead_letter_requeued", b"no place")])

    assert (await dead_letters(system, "requeue", first["id"])).code == 0
    listed = await letters(system, 3)
    (again,) = [one for one in listed if one["operation_id"] == "op-1" and one["id"] != first["id"]]
    assert again["put_back"] is None
    (other,) = [one for one in listed if one["topic"] == "elsewhere"]
    assert "because \\x1b[31m" in (await dead_letters(system, "list")).out
    assert "00000000  ff 00" in (await dead_letters(system, "show", other["id"])).out

    said = await dead_letters(system, "requeue", "3/99999", other["id"], again["id"])
    assert said.code == 1
    assert "3/99999: there is no such dead letter" in said.err
    assert f"{other['id']}: it came from the topic elsewhere, which is none of" in said.err
    assert said.out.startswith(f"{again['id']} → {system.prefix}operations/")
    third = [one for one in await letters(system, 4) if one["operation_id"] == "op-1"]
    assert len(third) == 3
    assert (await dead_letters(system, "show", "3/99999")).code == 1
    assert (await dead_letters(system, "show", "elsewhere")).code == 2
    assert (await dead_letters(system, "requeue")).code == 2


async def test_a_cut_letter_is_put_back_from_where_the_whole_lies(system: System):
    await system.start_worker()
    value = b"[" + b" " * (4 * 1024 * 1024 + 300 * 1024) + b"]"
    async with AIOKafkaProducer(bootstrap_servers=system.bootstrap, max_request_size=len(value) + 1000) as kafka:
        await kafka.send_and_wait(f"{system.prefix}webhooks", value, headers=[("connection_id", b"acme")])
    (letter,) = await letters(system, 1)
    assert letter["cut"]
    assert "the whole lies at" in (await dead_letters(system, "show", letter["id"])).out

    requeued = await dead_letters(system, "requeue", letter["id"])

    assert requeued.code == 0, requeued.err
    again = await letters(system, 2)
    assert [one["cut"] for one in again] == [True, True]
    records = await system.read("webhooks", lambda found: len(found) >= 2)
    assert [one.value for one in records] == [value, value]
