"""Histories: what a line may say, and that a malformed one is named by file, line and field."""

import json
from pathlib import Path
from typing import Any

import pytest
from casework import T0, at

from streams.replay.history import (
    Expectation,
    ExpectedVerdict,
    History,
    HistoryError,
    ProviderScript,
    Webhook,
    load_history,
)

SHOP = {
    "connection": {
        "id": "acme",
        "provider": "shopify",
        "shop": "acme.myshopify.com",
        "webhook_auth": {"hmac_secrets": ["a secret of the tests"]},
    }
}
EXPECT = {"expect": {"dead_letters": 0}}
OPERATION = {"at": at(0), "operation": {"operation_id": "op-1"}}
WEBHOOK = {"at": at(1000), "webhook": {"connection": "acme", "headers": {"a": "b"}, "body": "{}"}}
PROVIDER = {
    "at": at(2000),
    "provider": {"connection": "acme", "channel": "refund_readback", "answer": {"status": 200, "body": {"a": 1}}},
}
RESTART = {"at": at(3000), "restart": True}


def written(directory: Path, *lines: Any) -> Path:
    path = directory / "one.jsonl"
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text(text, encoding="utf-8")
    return path


def loaded(directory: Path, *lines: Any) -> History:
    return load_history(written(directory, *lines))


def inner(line: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Change members of what a line holds; ``...`` drops one."""
    kind = next(one for one in line if one != "at")
    content = {name: value for name, value in (line[kind] | changes).items() if value is not ...}
    return {**line, kind: content}


def refusal(directory: Path, *lines: Any) -> tuple[Path, str]:
    path = written(directory, *lines)
    with pytest.raises(HistoryError) as caught:
        load_history(path)
    return path, str(caught.value)


def test_a_history_has_accounts_steps_and_expectations(tmp_path: Path) -> None:
    history = loaded(tmp_path, SHOP, OPERATION, WEBHOOK, PROVIDER, RESTART, EXPECT)
    assert list(history.connections) == ["acme"]
    assert [step.at_ms - T0 for step in history.steps] == [0, 1000, 2000, 3000]
    assert [step.line for step in history.steps] == [2, 3, 4, 5]
    operation, webhook, provider, restart = (step.act for step in history.steps)
    assert operation == {"operation_id": "op-1"}
    assert isinstance(webhook, Webhook)
    assert webhook.raw == b"{}"
    assert isinstance(provider, ProviderScript)
    assert provider.answer.raw == b'{"a": 1}'
    assert restart == "restart"
    assert history.expected[0].expectation == Expectation(dead_letters=0)
    assert history.expected[0].line == 6


def test_steps_are_put_in_the_order_of_time_and_those_of_one_instant_stay_in_the_files(tmp_path: Path) -> None:
    lines = [{**RESTART, "at": when} for when in (at(5), at(1), at(5), "2026-03-12T16:42:18.201+01:00", at(0))]
    history = loaded(tmp_path, *lines, EXPECT)
    assert [(step.at_ms - T0, step.line) for step in history.steps] == [(0, 5), (1, 2), (1, 4), (5, 1), (5, 3)]


def test_empty_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    history = loaded(tmp_path, "", SHOP, "   ", RESTART, "", EXPECT, "")
    assert [step.line for step in history.steps] == [4]
    assert history.expected[0].line == 6


def test_separators_within_a_text_do_not_cut_a_line(tmp_path: Path) -> None:
    line = json.dumps(inner(WEBHOOK, body="a\u2028b\u0085c\x0bd"), ensure_ascii=False).replace("\\u000b", "\\u000b")
    history = loaded(tmp_path, SHOP, line, EXPECT)
    (step,) = history.steps
    assert isinstance(step.act, Webhook)
    assert step.act.raw == "a\u2028b\u0085c\x0bd".encode()


def test_a_body_is_kept_to_the_byte(tmp_path: Path) -> None:
    coded = inner(WEBHOOK, body=..., body_base64="/wD+")
    (step,) = loaded(tmp_path, SHOP, coded, EXPECT).steps
    assert isinstance(step.act, Webhook)
    assert step.act.raw == b"\xff\x00\xfe"


def test_an_answer_may_be_text(tmp_path: Path) -> None:
    line = inner(
        PROVIDER, answer={"status": 502, "text": "<html>é", "headers": {"x": "1"}}, times=3, operation_id="op-1"
    )
    (step,) = loaded(tmp_path, SHOP, line, EXPECT).steps
    assert isinstance(step.act, ProviderScript)
    assert (step.act.answer.status, step.act.answer.raw) == (502, "<html>é".encode())
    assert (step.act.times, step.act.operation_id) == (3, "op-1")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "Expecting property name"),
        ("nonsense", "Expecting value"),
        ("[]", "a line is a JSON object"),
        ("7", "a line is a JSON object"),
        ("{}", "a line has exactly one of connection, operation, webhook, provider, restart, expect"),
        ({"at": at(0)}, "a line has exactly one of"),
        ({**OPERATION, **WEBHOOK}, "a line has exactly one of"),
        ({**OPERATION, "operatoin": {}}, "unknown member: operatoin"),
        ({"At": at(0), "restart": True}, "unknown member: At"),
        ({"operation": {}}, "at: an RFC 3339 date-time is missing"),
        ({"at": None, "operation": {}}, "at: an RFC 3339 date-time is missing"),
        ({"at": 7, "operation": {}}, "at: an RFC 3339 date-time is missing"),
        ({"at": "yesterday", "operation": {}}, "at: 'yesterday' is not an RFC 3339 date-time"),
        ({"at": "2026-13-12T15:42:18Z", "restart": True}, "at: '2026-13-12T15:42:18Z' is an impossible date-time"),
        ({"at": at(0), "operation": []}, "operation: must be an object"),
        ({"at": at(0), "restart": False}, "restart: must be true"),
        ({"at": at(0), "restart": "yes"}, "restart: must be true"),
        ({"at": at(0), "webhook": "x"}, "value: "),
        (inner(WEBHOOK, connection=...), "connection: Field required"),
        (inner(WEBHOOK, headers=...), "headers: Field required"),
        (inner(WEBHOOK, headers={"a": 1}), "headers.a: "),
        (inner(WEBHOOK, body=...), "value: Value error, give either `body` or `body_base64`"),
        (inner(WEBHOOK, body_base64="eA=="), "value: Value error, give either `body` or `body_base64`"),
        (inner(WEBHOOK, body=..., body_base64="?"), "value: Value error, body_base64: "),
        (inner(WEBHOOK, body=..., body_base64="x"), "value: Value error, body_base64: "),
        (inner(WEBHOOK, body={"a": 1}), "body: "),
        (inner(WEBHOOK, bdoy="x"), "bdoy: Extra inputs are not permitted"),
        (inner(PROVIDER, channel=...), "channel: Field required"),
        (inner(PROVIDER, answer=...), "answer: Field required"),
        (inner(PROVIDER, answer={"status": "200"}), "answer.status: "),
        (inner(PROVIDER, answer={"status": 200, "bod": {}}), "answer.bod: Extra inputs are not permitted"),
        (inner(PROVIDER, times=0), "times: "),
        (inner(PROVIDER, times=1.5), "times: "),
        (inner(PROVIDER, connection="other"), "connection: there is no connection 'other'"),
        (SHOP, "connection.id: there is another connection 'acme'"),
        (inner(SHOP, id="b", provider="stripe"), "connection: provider: unknown provider 'stripe'"),
        (inner(SHOP, id="b", webhook_auth=...), "connection: webhook_auth: Field required"),
        ({"connection": 7}, "connection: a connection is a mapping"),
        ({"expect": 7}, "value: "),
        ({"expect": {}}, "value: Value error, expects nothing"),
        ({"expect": {"operation_id": "op-1"}}, "value: Value error, expects nothing"),
        ({"expect": {"verdicts": []}}, "value: Value error, `verdicts` and `observed` need an `operation_id`"),
        ({"expect": {"observed": {"$x": 1}}}, "value: Value error, `verdicts` and `observed` need an `operation_id`"),
        ({"expect": {"dead_letters": -1}}, "dead_letters: "),
        ({"expect": {"dead_letters": "1"}}, "dead_letters: "),
        ({"expect": {"rejected_webhooks": True}}, "rejected_webhooks: "),
        ({"expect": {"operation_id": "o", "verdicts": ["VERIFIED"]}}, "verdicts.0: "),
        ({"expect": {"operation_id": "o", "verdicts": [{"verdict": "OK"}]}}, "verdicts.0.verdict: "),
        (
            {"expect": {"operation_id": "o", "verdicts": [{"verdict": "VERIFIED", "not_before": "soon"}]}},
            "verdicts.0: Value error, 'soon' is not an RFC 3339 date-time",
        ),
        (
            {"expect": {"operation_id": "o", "verdicts": [{"verdict": "VERIFIED", "notafter": at(0)}]}},
            "verdicts.0.notafter: Extra inputs are not permitted",
        ),
    ],
)
def test_a_malformed_line_is_named_by_file_line_and_field(tmp_path: Path, line: Any, said: str) -> None:
    path, sentence = refusal(tmp_path, SHOP, "", line, EXPECT)
    assert sentence.startswith(f"{path}:3: {said}")


def test_a_line_that_nests_too_deeply_is_malformed(tmp_path: Path) -> None:
    path, sentence = refusal(tmp_path, SHOP, "[" * 100_000, EXPECT)
    assert sentence.startswith(f"{path}:2: ")


def test_a_file_without_expectations_is_no_history(tmp_path: Path) -> None:
    path, sentence = refusal(tmp_path, SHOP, OPERATION)
    assert sentence == f"{path}: expects nothing: there is no `expect` line"
    assert refusal(tmp_path)[1].endswith("there is no `expect` line")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match=r"missing\.jsonl: cannot be read: "):
        load_history(tmp_path / "missing.jsonl")
    path = tmp_path / "one.jsonl"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(HistoryError, match=r"one\.jsonl: cannot be read: "):
        load_history(path)


def test_a_delivery_of_an_unknown_connection_is_something_that_can_happen(tmp_path: Path) -> None:
    assert len(loaded(tmp_path, SHOP, inner(WEBHOOK, connection="other"), EXPECT).steps) == 1


def test_an_expected_verdict_may_say_when_and_why() -> None:
    one = ExpectedVerdict(verdict="VERIFIED", rule="completion", reason="x", not_before=at(0), not_after=at(1))
    assert (one.rule, one.not_after) == ("completion", at(1))
