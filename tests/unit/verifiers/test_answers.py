"""What each recorded answer of a provider is worth, and every hostile one."""

import hashlib
import json
from typing import Any

import httpx
import orjson
import pytest
from accounts import CHANNEL, PAYPAL, SHOPIFY, sample

from contracts.paths import PartialList
from contracts.values import unpack
from streams.messages import ReadAnswered, decode_case_message, encode
from verifiers.answers import MAX_ELEMENTS, MAX_VALUE_CHARACTERS, classify, flatten_connections
from verifiers.reads import Answer

_SHOPIFY = f"$observed.{CHANNEL}.data.refund"
_PAYPAL = f"$observed.{CHANNEL}"


def shopify(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    request = SHOPIFY.readings.requests[CHANNEL]
    return classify(request, SHOPIFY.paths_of(CHANNEL), status, httpx.Headers(headers), body)


def paypal(body: bytes, status: int = 200) -> Answer:
    return classify(PAYPAL.readings.requests[CHANNEL], PAYPAL.paths_of(CHANNEL), status, httpx.Headers(), body)


def shopify_values(**changes: Any) -> dict[str, Any]:
    values = {
        "id": "gid://shopify/Refund/1900000000001",
        "createdAt": "2026-03-12T15:42:18Z",
        "order.id": "gid://shopify/Order/6900000000001",
        "totalRefundedSet.shopMoney.amount": "42.5",
        "totalRefundedSet.shopMoney.currencyCode": "USD",
        "transactions[0].status": "SUCCESS",
    } | changes
    return {f"{_SHOPIFY}.{name}": value for name, value in values.items() if value is not None}


def paypal_values(**changes: Any) -> dict[str, Any]:
    values = {
        "id": "8REF00001TEST001A",
        "amount.value": "60.00",
        "amount.currency_code": "USD",
        "status": "COMPLETED",
        "create_time": "2026-03-12T08:42:18-07:00",
    } | changes
    return {f"{_PAYPAL}.{name}": value for name, value in values.items() if value is not None}


AMOUNT = "totalRefundedSet.shopMoney.amount"
STATUS = "transactions[0].status"


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("success_nodes", {}),
        ("success_edges", {}),
        ("success_normalised", {}),
        ("same_second", {"createdAt": "2026-03-12T15:42:17Z"}),
        ("wrong_amount", {AMOUNT: "42.05"}),
        ("wrong_order", {"order.id": "gid://shopify/Order/6900000000999"}),
        ("predates", {"createdAt": "2026-03-12T15:40:00Z"}),
        ("createdat_null", {"createdAt": None}),
        ("pending_total_zero", {AMOUNT: "0.0", STATUS: "PENDING"}),
        ("no_transactions", {AMOUNT: "0.0", STATUS: None}),
        ("split_tender_second_failed", {AMOUNT: "10.0", STATUS: "SUCCESS"}),
        ("presentment", {AMOUNT: "60.35", "totalRefundedSet.shopMoney.currencyCode": "CAD"}),
        ("failed_tx0", {AMOUNT: "0.0", STATUS: "FAILURE", "transactions[0].errorCode": "PROCESSING_ERROR"}),
    ],
)
def test_each_recorded_refund_of_shopify_is_evidence(name: str, changes: dict[str, Any]) -> None:
    body = sample(f"shopify_readback_{name}.json")
    found = shopify(body)
    assert found.error is None
    assert found.values == shopify_values(**changes)
    assert (found.status, found.digest) == (200, hashlib.sha256(body).hexdigest())


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [
        ("null", 200, "absent"),
        ("access_denied_200", 200, "graphql_errors"),
        ("internal_error_200", 200, "graphql_errors"),
        ("invalid_id_200", 200, "graphql_errors"),
        ("throttled_200", 200, "throttled"),
        ("401", 401, "unauthorized"),
    ],
)
def test_each_recorded_error_of_shopify_is_no_evidence(name: str, status: int, error: str) -> None:
    found = shopify(sample(f"shopify_readback_{name}.json"), status)
    assert (found.status, found.error, found.values) == (status, error, {})


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("get_completed", {}),
        ("get_completed_z", {"create_time": "2026-03-12T15:42:18Z"}),
        ("get_cancelled", {"status": "CANCELLED"}),
        ("get_failed", {"status": "FAILED"}),
        ("get_pending_echeck", {"status": "PENDING", "status_details.reason": "ECHECK"}),
        ("get_jpy", {"amount.value": "6000", "amount.currency_code": "JPY"}),
        ("get_wrong_currency", {"amount.currency_code": "EUR"}),
        ("get_wrong_amount", {"amount.value": "6.00"}),
        ("get_no_amount", {"amount.value": None, "amount.currency_code": None}),
        ("get_predates", {"create_time": "2026-03-12T08:30:00-07:00"}),
        ("get_same_second", {"create_time": "2026-03-12T08:42:16-07:00"}),
        ("get_partial_second", {"amount.value": "30.00"}),
        ("post_201_representation", {}),
        ("post_201_minimal", dict.fromkeys(("amount.value", "amount.currency_code", "create_time"))),
    ],
)
def test_each_recorded_refund_of_paypal_is_evidence(name: str, changes: dict[str, Any]) -> None:
    found = paypal(sample(f"paypal_refund_{name}.json"))
    assert found.error is None
    assert found.values == paypal_values(**changes)


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [
        ("401_auth.json", 401, "unauthorized"),
        ("401_token.json", 401, "unauthorized"),
        ("401_token_cache.json", 401, "unauthorized"),
        ("403.json", 403, "forbidden"),
        ("404.json", 404, "not_found"),
        ("409.json", 409, "unexpected_status"),
        ("422_fully_refunded.json", 422, "unexpected_status"),
        ("429.json", 429, "rate_limited"),
        ("500.json", 500, "server_error"),
        ("502.body", 502, "server_error"),
        ("503.json", 503, "server_error"),
    ],
)
def test_each_recorded_error_of_paypal_is_no_evidence(name: str, status: int, error: str) -> None:
    found = paypal(sample(f"paypal_error_{name}"), status)
    assert (found.status, found.error, found.values) == (status, error, {})
    assert found.detail == f"the provider answered {status}"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (201, "unexpected_status"),
        (202, "unexpected_status"),
        (203, "unexpected_status"),
        (204, "unexpected_status"),
        (206, "unexpected_status"),
        (301, "redirect"),
        (302, "redirect"),
        (304, "redirect"),
        (400, "unexpected_status"),
        (402, "payment_required"),
        (423, "locked"),
        (430, "rejected"),
        (500, "server_error"),
        (599, "server_error"),
    ],
)
def test_nothing_but_200_is_evidence_whatever_the_body_says(status: int, error: str) -> None:
    assert paypal(sample("paypal_refund_get_completed.json"), status).error == error


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"<html><body>502</body></html>",
        b"{",
        b'{"id": "x"',
        b"{'id': 'x'}",
        b'{"id": "x"} trailing',
        b'{"id": NaN}',
        b'{"id": "x", "other": Infinity}',
        b'{"id": "x", "other": -Infinity}',
        b"null",
        b'"8REF00001TEST001A"',
        b"7",
        b"[]",
        b'[{"id": "x"}]',
        b"\xff\xfe\xfd",
        b'{"id": "\xc3\x28"}',
        b'{"nodes": []}',
        b'{"id": "x", "other": ' + b"9" * 5000 + b"}",
        b'{"id": "x", "other": 1e99999999999999999999}',
        b'{"id": "x", "other": 1e-99999999999999999999}',
        b"[" * 100_000,
        *(b'{"id": "x", "other": ' + b"[" * deep + b"]" * deep + b"}" for deep in (500, 700, 900, 5000)),
        *(b'{"id": "x", "other": ' + b'{"a":' * deep + b"1" + b"}" * deep + b"}" for deep in (500, 900)),
    ],
)
def test_a_body_that_cannot_be_read_is_no_evidence_and_raises_nothing(body: bytes) -> None:
    found = paypal(body)
    assert found.error == "not_json"
    assert len(found.detail or "") < 300


@pytest.mark.parametrize("body", [b"{}", b'{"id": null}', b'{"ID": "x"}', b'{"name": "RESOURCE_NOT_FOUND"}'])
def test_an_answer_without_the_resource_is_absent(body: bytes) -> None:
    assert paypal(body).error == "absent"


@pytest.mark.parametrize("data", [None, {}, [], "x", {"refund": None}, {"other": {"id": "x"}}])
def test_a_graphql_answer_without_the_resource_is_absent(data: Any) -> None:
    assert shopify(json.dumps({"data": data}).encode()).error == "absent"


@pytest.mark.parametrize(
    ("errors", "error"),
    [
        ([], None),
        (None, None),
        ([{"message": "no"}], "graphql_errors"),
        ("no", "graphql_errors"),
        ({"message": "no"}, "graphql_errors"),
        ([None], "graphql_errors"),
        ([{"extensions": None}], "graphql_errors"),
        ([{"extensions": {"code": ["THROTTLED"]}}], "graphql_errors"),
        ([{"extensions": {"code": {}}}, {"extensions": {"code": "THROTTLED"}}], "throttled"),
    ],
)
def test_errors_beside_the_refund_make_it_no_evidence(errors: Any, error: str | None) -> None:
    document = json.loads(sample("shopify_readback_success_nodes.json"))
    assert shopify(json.dumps(document | {"errors": errors}).encode()).error == error


# -- GraphQL connections

NODE = {"status": "SUCCESS"}


@pytest.mark.parametrize(
    ("value", "flat"),
    [
        ({"nodes": [NODE]}, [NODE]),
        ({"nodes": []}, []),
        ({"nodes": [NODE], "pageInfo": {"hasNextPage": True}, "totalCount": 9}, [NODE]),
        ({"edges": [{"cursor": "x", "node": NODE}]}, [NODE]),
        ({"edges": [{"node": NODE}, {"node": None}]}, [NODE, None]),
        ({"edges": []}, []),
        ([NODE], [NODE]),
        ({"nodes": [{"inner": {"edges": [{"node": {"deep": {"nodes": [1]}}}]}}]}, [{"inner": [{"deep": [1]}]}]),
        # no connections
        ({"nodes": [NODE], "amount": "1"}, {"nodes": [NODE], "amount": "1"}),
        ({"nodes": "all"}, {"nodes": "all"}),
        ({"nodes": None}, {"nodes": None}),
        ({"edges": [NODE, "x"]}, {"edges": [NODE, "x"]}),
        ({"edges": {"node": NODE}}, {"edges": {"node": NODE}}),
        ({"pageInfo": {"hasNextPage": False}}, {"pageInfo": {"hasNextPage": False}}),
        ({}, {}),
        ("text", "text"),
        (None, None),
    ],
)
def test_connections_are_flattened_and_nothing_else(value: Any, flat: Any) -> None:
    assert flatten_connections(value) == flat


@pytest.mark.parametrize(
    ("page", "whole"),
    [
        ({"hasNextPage": False}, True),
        ({"hasNextPage": False, "hasPreviousPage": False}, True),
        ({"hasNextPage": True}, False),
        ({"hasNextPage": False, "hasPreviousPage": True}, False),
        ({"hasNextPage": None}, False),
        ({"hasNextPage": 0}, False),
        ({}, False),
        (None, False),
    ],
)
@pytest.mark.parametrize("shape", [{"nodes": [NODE]}, {"edges": [{"node": NODE}]}])
def test_a_connection_is_whole_only_where_it_says_so(page: Any, whole: bool, shape: dict[str, Any]) -> None:
    assert isinstance(flatten_connections({**shape, "pageInfo": page}), PartialList) is not whole


def test_the_order_of_a_connection_stays() -> None:
    assert flatten_connections({"edges": [{"node": {"n": one}} for one in range(50)]}) == [{"n": n} for n in range(50)]


# -- values


LISTED = f"{_PAYPAL}.lines[kind=REFUND].status"


def listed(body: str) -> Any:
    return classify(PAYPAL.readings.requests["refund_readback"], [LISTED], 200, httpx.Headers(), body.encode())


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        ('[{"kind": "REFUND", "status": "SUCCESS"}, {"kind": "SALE", "status": "X"}]', {LISTED: ["SUCCESS"]}),
        ('[{"kind": "REFUND", "status": null}, {"kind": "REFUND", "status": {}}]', {LISTED: [None, None]}),
        ('[{"kind": "REFUND", "status": 0.10}]', {LISTED: [{"$number": "0.10"}]}),
        ("[]", {LISTED: []}),
        ("null", {}),
        ('{"nodes": [], "pageInfo": {"hasNextPage": false}}', {LISTED: []}),
    ],
)
def test_a_list_is_kept_value_by_value(lines: str, values: dict[str, Any]) -> None:
    answer = listed(f'{{"id": "x", "lines": {lines}}}')
    assert (answer.error, answer.values) == (None, values)


def test_a_page_of_a_list_that_is_wanted_whole_is_no_evidence() -> None:
    for page in ('{"hasNextPage": true}', "{}"):
        answer = listed(f'{{"id": "x", "lines": {{"nodes": [], "pageInfo": {page}}}}}')
        assert (answer.error, answer.values) == ("incomplete_list", {})


def test_a_list_that_is_too_long_to_be_kept_is_no_evidence() -> None:
    def of(number: int) -> str | None:
        lines = json.dumps([{"kind": "REFUND", "status": "SUCCESS"}] * number)
        return listed(f'{{"id": "x", "lines": {lines}}}').error

    assert (of(MAX_ELEMENTS), of(MAX_ELEMENTS + 1)) == (None, "unusable_value")


def test_numbers_stay_exact() -> None:
    body = b'{"id": "x", "amount": {"value": 0.1, "currency_code": 12345678901234567890123}, "status": 60.00}'
    values = paypal(body).values
    assert str(unpack(values[f"{_PAYPAL}.amount.value"])) == "0.1"
    assert str(unpack(values[f"{_PAYPAL}.status"])) == "60.00"
    assert unpack(values[f"{_PAYPAL}.amount.currency_code"]) == 12345678901234567890123


@pytest.mark.parametrize(
    "value",
    [
        b"0.1",
        b"60.00",
        b"1e400",
        b"9007199254740993",
        b"9223372036854775808",
        b"18446744073709551616",
        b"-18446744073709551616",
        b"true",
        b'"\\u0000"',
        b'"\\ud83d\\ude00"',
        b'"\\ud800"',
        b'"\\udc00x"',
        b'"\xed\xa0\x80"',
        b'"' + b"x" * 100_000 + b'"',
        b"[[1]]",
        b'{"a": 1.5}',
        b"9" * 4000,
        b"0." + b"9" * 4000,
    ],
)
def test_whatever_an_answer_holds_can_be_sent_to_its_case_and_read_there(value: bytes) -> None:
    found = paypal(b'{"id": "x", "status": ' + value + b"}")
    message = ReadAnswered(1, "op-1", CHANNEL, 1, 1, found)
    assert decode_case_message(encode(message)) == message
    orjson.dumps(found.values)


def test_a_mapping_or_a_list_is_no_value() -> None:
    found = paypal(b'{"id": "x", "amount": {"value": ["60.00"], "currency_code": {"$number": "1"}}, "status": []}')
    assert found.error is None
    assert found.values == {f"{_PAYPAL}.id": "x"}


def test_a_value_of_a_thousand_characters_is_kept() -> None:
    text = "é" * MAX_VALUE_CHARACTERS
    assert paypal(json.dumps({"id": text}).encode()).values == {f"{_PAYPAL}.id": text}


@pytest.mark.parametrize("value", ["x" * (MAX_VALUE_CHARACTERS + 1), "\ud800", 10**65])
def test_a_value_that_cannot_be_kept_makes_the_answer_no_evidence(value: Any) -> None:
    """Were it left out, `ne` would be unknown although the value certainly differs, and VERIFIED might come of it."""
    document = json.loads(sample("shopify_readback_success_nodes.json"))
    document["data"]["refund"]["order"]["id"] = value
    found = shopify(json.dumps(document).encode())
    assert found.error is not None
    assert found.values == {}


def test_of_two_members_of_one_name_the_last_counts_as_everywhere() -> None:
    assert paypal(b'{"id": "first", "id": "last"}').values == {f"{_PAYPAL}.id": "last"}


def test_a_body_in_another_unicode_encoding_is_read() -> None:
    text = sample("paypal_refund_get_completed.json").decode()
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        assert paypal(text.encode(encoding)).values == paypal_values()


# -- what else an answer says


@pytest.mark.parametrize("name", ["X-Shopify-API-Version", "x-shopify-api-version", "X-SHOPIFY-API-VERSION"])
@pytest.mark.parametrize(("body", "status"), [("success_nodes", 200), ("null", 200), ("401", 401)])
def test_the_served_version_is_noted_of_every_answer(name: str, body: str, status: int) -> None:
    found = shopify(sample(f"shopify_readback_{body}.json"), status, {name: "2025-10"})
    assert found.served_version == "2025-10"


def test_a_provider_that_names_no_version_has_none() -> None:
    assert shopify(sample("shopify_readback_success_nodes.json")).served_version is None
    assert paypal(sample("paypal_refund_get_completed.json")).served_version is None


def test_only_paths_that_the_contract_reads_are_kept() -> None:
    found = paypal(sample("paypal_refund_get_completed.json"))
    assert set(found.values) <= set(PAYPAL.paths_of(CHANNEL))
    assert not any("invoice_id" in path or "links" in path for path in found.values)
