"""Paths: what they may say, what they resolve to, and that a missing value stays missing."""

from typing import Any

import pytest

from contracts.paths import (
    MISSING,
    Each,
    IncompleteListError,
    PartialList,
    channel_of,
    is_path,
    is_plural,
    parse_path,
    resolve,
)

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
        ("$observed.a.b[*]", "observed", ("a", "b", Each())),
        ("$observed.a.b[*].c[0]", "observed", ("a", "b", Each(), "c", 0)),
        ("$observed.a.b[kind=REFUND].status", "observed", ("a", "b", Each("kind", "REFUND"), "status")),
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
        ("$input.a[*]", "only what a channel holds"),
        ("$action.result.a[*].id", "only what a channel holds"),
        ("$observed[*].a", "only what a channel holds"),
        ("$observed.a.b[*].c[*]", "more than one list"),
        ("$observed.a.b[**]", "from character 14 on"),
        ("$observed.a.b[kind=]", "from character 14 on"),
        ("$observed.a.b[kind=A B]", "from character 14 on"),
        ("$observed.a.b[kind='A']", "from character 14 on"),
        ("$observed.a.b[=A]", "from character 14 on"),
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


LINES = [
    {"kind": "REFUND", "status": "SUCCESS"},
    {"kind": "SALE", "status": "PENDING"},
    {"kind": "REFUND", "status": None},
    {"kind": None, "status": "FAILURE"},
    {"status": "FAILURE"},
    {"kind": 7, "status": "FAILURE"},
    "no element",
]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$observed.a[*].status", ["SUCCESS", "PENDING", MISSING, "FAILURE", "FAILURE", "FAILURE", MISSING]),
        # whether it is one of kind REFUND cannot be told of the last four
        ("$observed.a[kind=REFUND].status", ["SUCCESS", MISSING, MISSING, MISSING, MISSING, MISSING]),
        ("$observed.a[kind=SALE].status", ["PENDING", MISSING, MISSING, MISSING, MISSING]),
        ("$observed.a[*].absent", [MISSING] * 7),
        ("$observed.empty[*].status", []),
        ("$observed.empty[kind=REFUND].status", []),
        ("$observed.scalars[*]", ["x", MISSING, 7]),
    ],
)
def test_a_path_through_a_list_holds_one_value_for_each_element(path: str, value: Any) -> None:
    document = {"a": LINES, "empty": [], "scalars": ["x", None, 7]}
    assert resolve(document, parse_path(path)[1]) == value
    assert is_plural(path)


@pytest.mark.parametrize("document", [{}, {"a": None}, {"a": "text"}, {"a": {"kind": "REFUND"}}, {"a": 7}, None])
@pytest.mark.parametrize("path", ["$observed.a[*].status", "$observed.a[kind=REFUND].status"])
def test_a_list_that_is_not_there_is_missing_and_not_empty(document: object, path: str) -> None:
    assert resolve(document, parse_path(path)[1]) is MISSING


def test_a_part_of_a_list_is_read_by_index_but_not_element_by_element() -> None:
    document = {"a": PartialList([{"kind": "REFUND", "status": "SUCCESS"}])}
    assert resolve(document, ("a", 0, "status")) == "SUCCESS"
    for path in ("$observed.a[*].status", "$observed.a[kind=REFUND].status", "$observed.a[kind=SALE].status"):
        with pytest.raises(IncompleteListError):
            resolve(document, parse_path(path)[1])


def test_only_paths_that_observe_have_a_channel() -> None:
    assert channel_of("$observed.refund_events.count") == "refund_events"
    assert channel_of("$input.amount") is None
    assert channel_of("$action.result.id") is None


@pytest.mark.parametrize("value", ["42.50", "", "USD $", 1, None, True, ("$input.amount",)])
def test_a_literal_is_no_path(value: object) -> None:
    assert not is_path(value)
