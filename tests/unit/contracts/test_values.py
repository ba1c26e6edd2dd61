"""Numbers and money: exact, or not at all."""

import json
from decimal import Decimal
from typing import Any

import pytest

from contracts.values import as_decimal, is_money, pack, unpack


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("42.50", "42.50"),
        ("42.5", "42.5"),
        ("0", "0"),
        ("-1", "-1"),
        (".50", "0.50"),
        ("-.5", "-0.5"),
        ("007", "7"),
        ("9" * 64, "9" * 64),
        (42, "42"),
        (-1, "-1"),
        (2**70, "1180591620717411303424"),
        (Decimal("42.50"), "42.50"),
    ],
)
def test_decimal_text_and_whole_numbers_are_exact_numbers(value: object, number: str) -> None:
    found = as_decimal(value)
    assert found == Decimal(number)
    assert str(found) == number


@pytest.mark.parametrize(
    "value",
    [
        "",
        " 42",
        "42 ",
        "42\n",
        "+42",
        "42.",
        ".",
        "-",
        "--1",
        "4_2",
        "1,000.00",
        "1e3",
        "1E3",
        "NaN",
        "Infinity",
        "-Infinity",
        "0x10",
        "٤٢",
        "\uff14\uff12",
        "½",
        "$42",
        "9" * 65,
        "42.50 USD",
        True,
        False,
        None,
        42.5,
        float("nan"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        ["42"],
        {"amount": "42"},
        b"42",
    ],
)
def test_everything_else_is_no_number(value: object) -> None:
    assert as_decimal(value) is None


def test_equal_amounts_are_equal_however_many_zeros_they_end_in() -> None:
    assert as_decimal("42.5") == as_decimal("42.500") == as_decimal(Decimal("42.50"))
    assert as_decimal("0.1") != as_decimal("0.10000000000000000000000000000001")


def test_money_is_decimal_text() -> None:
    assert is_money("42.50")
    assert is_money("1000")
    assert not is_money("42,50")
    assert not is_money("42.50 USD")


@pytest.mark.parametrize(
    "value",
    [
        Decimal("60.00"),
        Decimal("0.1"),
        Decimal("-0.0"),
        Decimal("123456789012345678901234567890.12345678901234567890"),
        "60.00",
        60,
        2**63 - 1,
        -(2**63),
        True,
        "",
    ],
)
def test_a_packed_value_comes_back_from_json_as_it_was(value: Any) -> None:
    back = unpack(json.loads(json.dumps(pack(value))))
    assert back == value
    assert type(back) is type(value)
    assert str(back) == str(value)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**64, 10**60])
def test_a_whole_number_beyond_64_bits_stays_exact(value: int) -> None:
    assert unpack(json.loads(json.dumps(pack(value)))) == value


@pytest.mark.parametrize("value", [{"$number": "1", "more": 1}, {"number": "1"}, {}, [], None, {"$other": "1"}])
def test_only_what_was_packed_is_unpacked(value: Any) -> None:
    assert unpack(value) == value
