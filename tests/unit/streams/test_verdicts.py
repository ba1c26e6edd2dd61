"""The records of verdicts: everything that a person or a machine needs to see why one is what it is."""

import json
import uuid
from typing import Any

import pytest
from casework import (
    CATALOGUE,
    DAY,
    DOWN,
    MINUTE,
    SECOND,
    SHOPIFY,
    STARTED,
    WRONG,
    at,
    case,
    found,
    refunded,
    start,
)
from endings import REFUND, contradicted, failed, last, rules, timed_out, verified, wrong_amount

from streams.verdicts import verdict_id

_NAMESPACE = uuid.UUID("6f3c0a52-9d0b-5a0e-8a53-6a0d5b1f7c11")

MEMBERS = {
    "verdict_id",
    "operation_id",
    "connection",
    "contract",
    "contract_version",
    "published_hash",
    "content_hash",
    "sequence",
    "supersedes",
    "verdict",
    "rule",
    "class",
    "reason",
    "explanation",
    "do_not_retry",
    "review",
    "decided_at",
    "input",
    "created_at",
    "evidence",
}
RULE_MEMBERS = {"id", "path", "operator", "expected_path", "expected", "actual", "result", "channel"}


EVERY = pytest.mark.parametrize("make", [verified, contradicted, failed, timed_out, wrong_amount])


@EVERY
def test_every_record_has_every_member_and_can_be_written(make: Any) -> None:
    record = last(make())
    assert record.keys() == MEMBERS
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["evidence"].keys() == {"conditions", "contradictions", "verdict_map", "channels"}


@EVERY
def test_every_record_shows_every_rule_and_every_channel_of_its_contract(make: Any) -> None:
    record = last(make())
    contract = CATALOGUE.get(record["contract"])
    for group in ("conditions", "contradictions", "verdict_map"):
        shown = rules(record, group)
        assert list(shown) == list(getattr(contract, group))
        for rule_id, one in shown.items():
            rule = contract.rules[rule_id]
            assert one.keys() >= RULE_MEMBERS
            assert (one["path"], one["operator"]) == (rule.path, rule.operator)
            assert one["result"] in ("true", "false", "unknown")
            assert one["channel"] in contract.channels
    assert list(record["evidence"]["channels"]) == list(contract.channels)


def test_a_verified_record_says_what_was_asked_and_by_which_contract() -> None:
    record = last(verified())
    contract = CATALOGUE.get(SHOPIFY)
    expected = {
        "operation_id": "op-1",
        "connection": "acme",
        "contract": SHOPIFY,
        "contract_version": "1.0.0",
        "published_hash": "3b0c1707cf0adcf1",
        "content_hash": contract.content_hash,
        "sequence": 1,
        "supersedes": None,
        "verdict": "VERIFIED",
        "rule": "completion",
        "class": None,
        "do_not_retry": False,
        "review": False,
        "decided_at": at(600),
        "input": {"order_id": "gid://shopify/Order/69", "amount": "42.50"},
        "created_at": STARTED,
    }
    assert {name: record[name] for name in expected} == expected


def test_a_superseding_record_names_the_one_that_it_supersedes() -> None:
    work = contradicted()
    first, second = [one.record for one in work.told if hasattr(one, "verdict_id")]
    assert (first["sequence"], second["sequence"]) == (1, 2)
    assert second["supersedes"] == first["verdict_id"]
    assert second["class"] == "duplicate_side_effect"
    assert second["do_not_retry"] is True
    assert second["reason"] == (
        "Shopify created more than one refund on the order since the operation started. Do not retry."
    )


def test_a_failed_record_names_the_rule_of_the_map() -> None:
    record = last(failed())
    assert (record["verdict"], record["rule"], record["class"]) == ("FAILED", "transaction_failed", None)
    assert record["reason"].startswith("The refund record exists, but its transaction failed")


def test_an_unverifiable_record_asks_for_a_person() -> None:
    record = last(timed_out())
    assert (record["verdict"], record["rule"], record["review"]) == ("UNVERIFIABLE", "timeout", True)
    assert record["reason"] == "evidence_unavailable_before_timeout"
    assert record["decided_at"] == at(15 * MINUTE)
    assert record["published_hash"] == "7d45cbc2d30f5005"


# -- ids


def test_an_id_follows_from_operation_contract_and_sequence() -> None:
    known = verdict_id("op-1", "0123456789abcdef", 1)
    assert known == str(uuid.uuid5(_NAMESPACE, "op-1\n0123456789abcdef\n1"))
    assert verdict_id("op-1", "0123456789abcdef", 1) == known
    others = [
        verdict_id("op-2", "0123456789abcdef", 1),
        verdict_id("op-1", "0123456789abcdee", 1),
        verdict_id("op-1", "0123456789abcdef", 2),
        verdict_id("op-1\n", "0123456789abcdef", 1),
        verdict_id("op", "-10123456789abcdef", 1),
    ]
    assert len({known, *others}) == 6


def test_the_id_of_a_record_is_that_of_its_members() -> None:
    for work in (verified(), contradicted(), timed_out()):
        record = last(work)
        assert record["verdict_id"] == verdict_id("op-1", record["content_hash"], record["sequence"])


# -- evidence


def test_a_rule_shows_what_it_compared() -> None:
    record = last(verified())
    assert rules(record, "conditions")["refund_present"] == {
        "id": "refund_present",
        "path": f"{REFUND}.id",
        "operator": "eq",
        "expected_path": "$action.result.refundCreate.refund.id",
        "expected": "gid://shopify/Refund/1",
        "actual": "gid://shopify/Refund/1",
        "result": "true",
        "channel": "refund_readback",
        "meaning": "The shop holds the refund with the returned global id.",
    }
    failed_map = rules(last(failed()), "verdict_map")["transaction_failed"]
    assert (failed_map["actual"], failed_map["expected"], failed_map["expected_path"]) == (
        "FAILURE",
        ["FAILURE", "ERROR"],
        None,
    )


def test_an_exception_that_excused_a_contradiction_is_shown() -> None:
    mismatch = rules(last(failed()), "contradictions")["refund_amount_mismatch"]
    assert (mismatch["actual"], mismatch["expected"], mismatch["result"]) == ("0.0", "42.50", "false")
    assert (mismatch["unless"]["actual"], mismatch["unless"]["result"]) == ("FAILURE", "true")
    assert mismatch["unless"]["path"] == f"{REFUND}.transactions[0].status"


def test_what_was_not_observed_is_null_and_unknown() -> None:
    record = last(timed_out())
    present = rules(record, "conditions")["refund_present"]
    assert (present["actual"], present["expected"], present["result"]) == (None, "R1", "unknown")
    tied = rules(record, "conditions")["refund_on_intended_capture"]
    assert (tied["actual"], tied["expected"], tied["result"]) == (0, 1, "false")


def test_a_provisional_contradiction_is_marked() -> None:
    work = case(start())
    work.tick(1000)
    work.answer(1200, WRONG)
    work.run(8 * DAY, DOWN)
    record = last(work)
    assert record["verdict"] == "UNVERIFIABLE"
    assert rules(record, "contradictions")["refund_amount_mismatch"]["provisional"] is True
    assert rules(last(wrong_amount()), "contradictions")["refund_amount_mismatch"]["provisional"] is False
    assert "provisional" not in rules(record, "contradictions")["refund_predates_operation"]


def test_a_channel_of_reads_shows_what_was_read() -> None:
    work = case(start())
    work.tick(1 * SECOND)
    work.answer(1500, found())
    work.tick(6 * SECOND)
    work.answer(6500, DOWN)
    work.send(refunded(7000))
    assert last(work)["evidence"]["channels"]["refund_readback"] == {
        "level": "E2",
        "independence": "provider_readback",
        "reads": 2,
        "last_status": 503,
        "last_error": "server_error",
        "last_detail": "the provider answered 503",
        "answered_at": at(1500),
        "digest": "digest",
        "served_version": "2025-07",
        "values": found().values,
    }


def test_a_channel_that_was_never_read_says_so() -> None:
    work = case(start(), refunded(300, 1))
    work.send(refunded(400, 2))
    channel = last(work)["evidence"]["channels"]["refund_readback"]
    assert (channel["reads"], channel["last_status"], channel["last_error"]) == (1, None, None)
    assert (channel["answered_at"], channel["digest"], channel["values"]) == (None, None, {})


def test_a_channel_of_events_shows_what_it_counted() -> None:
    record = last(contradicted())
    assert record["evidence"]["channels"]["order_refund_events"] == {
        "level": "E3",
        "independence": "provider_event",
        "count": 2,
        "types": ["REFUNDS_CREATE"],
        "earliest": "2026-03-12T15:42:18Z",
        "latest": "2026-03-12T15:50:00Z",
        "duplicates_dropped": 1,
        "events": ["gid://shopify/Refund/1", "gid://shopify/Refund/2"],
    }
    assert record["evidence"]["channels"]["refund_events"]["count"] == 1


def test_a_channel_whose_filter_is_not_known_counts_nothing_and_says_so() -> None:
    work = case(start(refund=None))
    work.run(7 * DAY + 1)
    channels = last(work)["evidence"]["channels"]
    assert channels["refund_events"]["count"] is None
    assert channels["order_refund_events"]["count"] == 0
