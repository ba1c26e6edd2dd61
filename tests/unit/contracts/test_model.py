"""The contract format: what it refuses, and what its content hash sees."""

from datetime import date
from typing import Any

import pytest
from mutation import DROP, PAYPAL, SHOPIFY, mutated
from observed import CATALOGUE
from pydantic import ValidationError

from contracts.catalogue import BUILT_IN
from contracts.contract_file import read_contract
from contracts.model import Contract
from contracts.yaml_source import read_yaml

PAYPAL_HASH = CATALOGUE.get("paypal.refund.recorded").content_hash
SHOPIFY_HASH = CATALOGUE.get("shopify.refund.created").content_hash


def test_the_content_hash_is_sixteen_hexadecimal_digits_and_stays() -> None:
    for name, known in ((PAYPAL, PAYPAL_HASH), (SHOPIFY, SHOPIFY_HASH)):
        assert len(known) == 16
        assert set(known) <= set("0123456789abcdef")
        assert read_contract(BUILT_IN / name).contract.content_hash == known
        assert mutated(name, {}).content_hash == known
    assert PAYPAL_HASH != SHOPIFY_HASH


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "paypal.refund.other"},
        {"version": "1.0.1"},
        {"claim": "Another claim."},
        {"published.hash": "0000000000000000"},
        {"published.last_reviewed": date(2026, 9, 6)},
        {"evidence.minimum_channels": 2},
        {"channels.refund_readback.level": "E3"},
        {"conditions.refund_present.meaning": "It is there."},
        {"conditions.refund_present.operator": "ne"},
        {"contradictions.refund_amount_mismatch.expected": "60.00"},
        {"contradictions.refund_amount_mismatch": DROP},
        {"timing.timeout_ms": 900_001},
        {"timing.stale_read_window_ms": 0},
        {"sources.0.ref": "elsewhere"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_the_content_hash_changes_with_every_published_fact(changes: dict[str, Any]) -> None:
    assert mutated(PAYPAL, changes).content_hash != PAYPAL_HASH


@pytest.mark.parametrize(
    "changes",
    [
        {"readings.input.amount.type": "text"},
        {"readings.input.order_id.form": "gid://shopify/DraftOrder/{number}"},
        {"readings.case_key.name": "order"},
        {"readings.case_key.operation": "$input.amount"},
        {"readings.requests.refund_readback.path": "/admin/api/2025-10/graphql.json"},
        {"readings.requests.refund_readback.graphql.document": "query { shop { id } }"},
        {"readings.requests.refund_readback.graphql.variables.id": "$input.order_id"},
        {"readings.requests.refund_readback.evidence": "data.refund.id"},
        {"readings.requests.refund_readback.served_version_header": DROP},
        {"readings.requests.refund_readback.shown": ()},
        {"readings.events.order_refund_events.since": DROP},
        {"readings.events.order_refund_events.types": ("REFUNDS_CREATE", "ORDERS_UPDATED")},
        {"readings.events.refund_events.where": {"order_id": "$input.order_id"}},
        {"readings.rules.refund_amount_mismatch.as": DROP},
        {"readings.rules.refund_amount_mismatch.unless": DROP},
        {"readings.rules.refund_amount_mismatch.unless.expected": ("PENDING",)},
        {"readings.rules.duplicate_refund_present.do_not_retry": False},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_the_content_hash_changes_with_every_reading(changes: dict[str, Any]) -> None:
    assert mutated(SHOPIFY, changes).content_hash != SHOPIFY_HASH


def test_the_content_hash_changes_with_the_order_of_contradictions_since_the_first_decides() -> None:
    document: Any = read_yaml(BUILT_IN / SHOPIFY).data
    turned = {**document, "contradictions": dict(reversed(document["contradictions"].items()))}
    assert list(turned["contradictions"]) != list(document["contradictions"])
    assert Contract.model_validate(turned).content_hash != SHOPIFY_HASH


@pytest.mark.parametrize("expected", [42.5, 1.0, float("nan"), float("inf"), ("42.5", 42.5)])
def test_a_rule_may_not_expect_a_floating_point_number(expected: Any) -> None:
    with pytest.raises(ValidationError, match="floating-point number: write it as text, in quotes"):
        mutated(PAYPAL, {"contradictions.refund_amount_mismatch.expected": expected})


@pytest.mark.parametrize("expected", ["42.5", "", 42, -1, 0, True, ("a", "b"), (1, 2), ()])
def test_what_a_rule_expects_keeps_its_type(expected: Any) -> None:
    kept = mutated(PAYPAL, {"contradictions.refund_amount_mismatch.expected": expected})
    found = kept.contradictions["refund_amount_mismatch"].expected
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "field",
    [
        "unknown",
        "published.unknown",
        "published.skill.unknown",
        "subject.unknown",
        "idempotency.unknown",
        "evidence.unknown",
        "channels.refund_readback.unknown",
        "conditions.refund_present.unknown",
        "contradictions.refund_amount_mismatch.unknown",
        "timing.unknown",
        "timing.backoff.unknown",
        "timing.on_timeout.unknown",
        "sources.0.unknown",
        "correlation.0.unknown",
        "readings.unknown",
        "readings.input.amount.unknown",
        "readings.case_key.unknown",
        "readings.requests.refund_readback.unknown",
        "readings.events.capture_refunded_events.unknown",
        "readings.rules.duplicate_refund_present.unknown",
    ],
)
def test_an_unknown_field_is_refused_wherever_it_stands(field: str) -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        mutated(PAYPAL, {field: "x"})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", "1.0"),
        ("version", 1),
        ("id", "refund"),
        ("id", "Paypal.refund"),
        ("evidence.minimum_level", "E5"),
        ("evidence.minimum_channels", 0),
        ("evidence.minimum_channels", "1"),
        ("evidence.independent_channel_required", "yes"),
        ("channels", {}),
        ("conditions", {}),
        ("channels.refund_readback.verifier", "smoke"),
        ("conditions.refund_present.operator", "equals"),
        ("conditions.refund_present.path", "observed.refund_readback.id"),
        ("conditions.refund_present.expected", "$result.id"),
        ("timing.initial_delay_ms", 0),
        ("timing.initial_delay_ms", True),
        ("timing.poll_interval_ms", -5000),
        ("timing.poll_interval_ms", "5000"),
        ("timing.timeout_ms", 1.5),
        ("timing.stale_read_window_ms", -1),
        ("timing.backoff.kind", "linear"),
        ("timing.backoff.factor", 0),
        ("timing.on_timeout.verdict", "VERIFIED"),
        ("readings.input.amount.type", "float"),
        ("readings.input.amount.form", "gid://x/{number}"),
        ("readings.requests.refund_readback.path", "v2/refunds"),
        ("readings.requests.refund_readback.path", "/v2/refunds?id={refund_id}"),
        ("readings.requests.refund_readback.path", "/v2/re funds"),
        ("readings.requests.refund_readback.method", "DELETE"),
        ("readings.requests.refund_readback.evidence", "$observed.id"),
        ("readings.events.capture_refunded_events.types", ()),
        ("readings.events.capture_refunded_events.where", {}),
        ("readings.rules.duplicate_refund_present.as", "float"),
    ],
)
def test_a_value_that_a_field_cannot_have_is_refused(field: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        mutated(PAYPAL, {field: value})


def test_a_contract_cannot_be_changed() -> None:
    contract = mutated(PAYPAL, {})
    with pytest.raises(ValidationError, match="frozen"):
        contract.version = "2.0.0"  # type: ignore[misc]


def test_an_identifier_needs_its_form() -> None:
    with pytest.raises(ValidationError, match="needs it"):
        mutated(SHOPIFY, {"readings.input.order_id.form": DROP})


def test_a_contract_knows_the_paths_that_it_reads_of_a_channel_and_of_the_action() -> None:
    contract = CATALOGUE.get("paypal.refund.recorded")
    read = "$observed.refund_readback"
    assert contract.paths_of("refund_readback") == (
        f"{read}.amount.currency_code",
        f"{read}.amount.value",
        f"{read}.create_time",
        f"{read}.id",
        f"{read}.status",
        f"{read}.status_details.reason",
    )
    assert contract.action_paths == ("$action.result.id",)


def test_the_paths_of_exceptions_and_of_filters_are_read_as_well() -> None:
    contract = CATALOGUE.get("shopify.refund.created")
    assert "$observed.refund_readback.data.refund.transactions[0].status" in contract.paths_of("refund_readback")
    assert contract.action_paths == ("$action.result.refundCreate.refund.id",)
    without = mutated(SHOPIFY, {"verdict_map": {}})
    assert "$observed.refund_readback.data.refund.transactions[0].status" in without.paths_of("refund_readback")


def test_a_rule_without_a_reading_is_read_as_it_stands() -> None:
    reading = CATALOGUE.get("paypal.refund.recorded").reading_of("refund_amount_matches")
    assert (reading.as_, reading.unless, reading.do_not_retry) == (None, None, False)
