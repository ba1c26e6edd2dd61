"""Paths: what they may say, what they resolve to, and that a missing value stays missing."""

from typing import Any

import pytest

from contracts.paths import MISSING, channel_of, is_path, parse_path, resolve

REFUND = {
    "id": "gid://shopify/Refund/1",
    "note": None,
    "zero": 0,
    "no": False,
    "empty": "",
    "lines": [],
    "with-hyphen": 1,
    "transactions": [{"status": "SUCCESS"}, {"status": None}, None],
}


@pytest.mark.parametrize(
    ("text", "root", "segments"),
    [
        ("$input.amount", "input", ("amount",)),
        ("$operation.created_at", "operation", ("created_at",)),
        ("$action.result.refundCreate.refund.id", "action", ("result", "refundCreate", "refund", "id")),
        (
            "$observed.refund_readback.data.refund.transactions[0].status",
            "observed",
            ("refund_readback", "data", "refund", "transactions", 0, "status"),
        ),
        ("$input.a[0][12]", "input", ("a", 0, 12)),
        ("$input._a-b_C9", "input", ("_a-b_C9",)),
        ("$input[0]", "input", (0,)),
        ("$input.a[999999]", "input", ("a", 999_999)),
    ],
)
def test_a_path_is_a_root_names_and_indexes(text: str, root: str, segments: tuple[str | int, ...]) -> None:
    assert parse_path(text) == (root, segments)
    assert is_path(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no path"),
        ("$", "no path"),
        ("input.amount", "no path"),
        ("$input", "no path"),
        ("$Input.amount", "no path"),
        (" $input.amount", "no path"),
        ("$output.amount", r"unknown root \$output"),
        ("$inputs.amount", r"unknown root \$inputs"),
        ("$input.", "from character 7 on"),
        ("$input..amount", "from character 7 on"),
        ("$input.9", "from character 7 on"),
        ("$input.amount ", "from character 14 on"),
        ("$input.amount\n", "from character 14 on"),
        ("$input.a b", "from character 9 on"),
        ("$input.a[*]", "from character 9 on"),
        ("$input.a[-1]", "from character 9 on"),
        ("$input.a[01]", "from character 9 on"),
        ("$input.a[1000000]", "from character 9 on"),
        ("$input.a['b']", "from character 9 on"),
        ("$input.a[?(@.b)]", "from character 9 on"),
        ("$input.montant_é", "from character 16 on"),
    ],
)
def test_anything_else_is_no_path_and_the_error_says_where(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_path(text)


@pytest.mark.parametrize(
    ("segments", "value"),
    [
        ((), REFUND),
        (("id",), "gid://shopify/Refund/1"),
        (("zero",), 0),
        (("no",), False),
        (("empty",), ""),
        (("lines",), []),
        (("with-hyphen",), 1),
        (("transactions", 0, "status"), "SUCCESS"),
    ],
)
def test_a_path_resolves_to_what_is_there(segments: tuple[str | int, ...], value: Any) -> None:
    found = resolve(REFUND, segments)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "segments",
    [
        ("absent",),
        ("note",),
        ("note", "deeper"),
        ("id", "deeper"),
        ("id", 0),
        ("lines", 0),
        ("lines", "length"),
        ("transactions", "0"),
        ("transactions", 1, "status"),
        ("transactions", 2),
        ("transactions", 2, "status"),
        ("transactions", 3, "status"),
        ("zero", "deeper"),
        (0,),
    ],
)
def test_what_is_not_there_or_null_is_missing(segments: tuple[str | int, ...]) -> None:
    assert resolve(REFUND, segments) is MISSING


@pytest.mark.parametrize("document", [None, "text", 7, True, [], {}])
def test_a_document_of_any_type_may_lack_the_path(document: object) -> None:
    assert resolve(document, ("a",)) is MISSING
    assert resolve(document, (0,)) is MISSING


def test_only_paths_that_observe_have_a_channel() -> None:
    assert channel_of("$observed.refund_events.count") == "refund_events"
    assert channel_of("$input.amount") is None
    assert channel_of("$action.result.id") is None


@pytest.mark.parametrize("value", ["42.50", "", "USD $", 1, None, True, ("$input.amount",)])
def test_a_literal_is_no_path(value: object) -> None:
    assert not is_path(value)
