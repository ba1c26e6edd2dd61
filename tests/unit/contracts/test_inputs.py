"""The inputs of an operation, as producers write them."""

from typing import Any

import pytest
from observed import PAYPAL, SHOPIFY

from contracts.inputs import InputError, normalise_input

ORDER = "gid://shopify/Order/69"
CAPTURE = {"capture_id": "2GG279541U471931P", "amount": "60.00", "currency_code": "USD"}


def refusal(contract: Any, given: dict[str, Any]) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        normalise_input(contract, given)
    return caught.value.class_, str(caught.value)


@pytest.mark.parametrize("order", [69, "69", "0069", ORDER, "gid://shopify/Order/0069"])
def test_an_order_may_be_named_by_number_or_in_full(order: Any) -> None:
    assert normalise_input(SHOPIFY, {"order_id": order, "amount": "42.50"}) == {"order_id": ORDER, "amount": "42.50"}


def test_an_identifier_above_2_to_the_53_stays_exact() -> None:
    for order in (820982911946154508, "820982911946154508", "gid://shopify/Order/820982911946154508"):
        given = {"order_id": order, "amount": "1"}
        assert normalise_input(SHOPIFY, given)["order_id"] == "gid://shopify/Order/820982911946154508"


@pytest.mark.parametrize(
    "order",
    [
        "gid://shopify/Refund/69",
        "gid://shopify/Order/",
        "gid://shopify/Order/69/1",
        "gid://shopify/Order/69?x=1",
        "gid://shopify/Order/gid://shopify/Order/69",
        "GID://shopify/Order/69",
        "#1001",
        "69 ",
        "69\n",
        "-69",
        "6.9",
        "\uff16\uff19",
        "",
        "9" * 41,
        -69,
        0,
        69.0,
        True,
        ["69"],
        {"id": 69},
    ],
)
def test_what_is_no_identifier_of_that_form_is_refused(order: Any) -> None:
    class_, sentence = refusal(SHOPIFY, {"order_id": order, "amount": "42.50"})
    assert class_ == "wrong_input_type"
    assert sentence.startswith("input.order_id: ")
    assert sentence.endswith("is neither a number nor of the form gid://shopify/Order/{number}")


@pytest.mark.parametrize("amount", ["42.50", "42", "0", ".50", "1000000.000"])
def test_an_amount_stays_the_text_that_it_is(amount: str) -> None:
    assert normalise_input(PAYPAL, {**CAPTURE, "amount": amount})["amount"] == amount


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        (60, "input.amount: must be text, not a JSON number: an amount of money is decimal text, in quotes"),
        (60.0, "input.amount: must be text, not a JSON number: an amount of money is decimal text, in quotes"),
        (True, "input.amount: must be text, not true or false: an amount of money is decimal text, in quotes"),
        (["60"], "input.amount: must be text, not a list: an amount of money is decimal text, in quotes"),
        ({}, "input.amount: must be text, not an object: an amount of money is decimal text, in quotes"),
        ("60,00", "input.amount: '60,00' is no amount such as '42.50'"),
        ("6e1", "input.amount: '6e1' is no amount such as '42.50'"),
        ("60.00 USD", "input.amount: '60.00 USD' is no amount such as '42.50'"),
        ("NaN", "input.amount: 'NaN' is no amount such as '42.50'"),
        (" 60.00", "input.amount: ' 60.00' is no amount such as '42.50'"),
    ],
)
def test_an_amount_is_decimal_text_and_never_a_json_number(amount: Any, said: str) -> None:
    assert refusal(PAYPAL, {**CAPTURE, "amount": amount}) == ("wrong_input_type", said)


@pytest.mark.parametrize("currency", ["usd", "US", "USDT", "U$D", "USD\n", "ÜSD", ""])
def test_a_currency_is_three_capital_letters(currency: str) -> None:
    class_, sentence = refusal(PAYPAL, {**CAPTURE, "currency_code": currency})
    assert class_ == "wrong_input_type"
    assert sentence.startswith("input.currency_code: ")


@pytest.mark.parametrize("capture", ["", "a\nb", "a\x00", "\x7f", "x" * 256, 1, True, [], {}, 1.5])
def test_text_has_1_to_255_characters_without_control_characters(capture: Any) -> None:
    class_, sentence = refusal(PAYPAL, {**CAPTURE, "capture_id": capture})
    assert class_ == "wrong_input_type"
    assert sentence.startswith("input.capture_id: must be ")


@pytest.mark.parametrize("capture", ["x", "x" * 255, "a b/c?d#e%", "日本"])
def test_other_text_is_taken_as_it_is(capture: str) -> None:
    assert normalise_input(PAYPAL, {**CAPTURE, "capture_id": capture})["capture_id"] == capture


@pytest.mark.parametrize("missing", ["capture_id", "amount", "currency_code"])
@pytest.mark.parametrize("null", [False, True])
def test_a_missing_input_is_named_and_null_is_missing(missing: str, null: bool) -> None:
    given: dict[str, Any] = {name: value for name, value in CAPTURE.items() if name != missing}
    if null:
        given[missing] = None
    sentence = f"input.{missing}: missing; paypal.refund.recorded needs it"
    assert refusal(PAYPAL, given) == ("missing_input", sentence)


def test_what_the_contract_does_not_declare_is_left_out() -> None:
    assert normalise_input(PAYPAL, {**CAPTURE, "note": "thanks", "nested": {"a": [1]}}) == CAPTURE
