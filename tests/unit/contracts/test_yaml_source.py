"""What a contract's YAML may and may not be."""

from pathlib import Path

import pytest
from mutation import PAYPAL, TEXT, Write, problems_of

from contracts.catalogue import BUILT_IN, load_contract
from contracts.yaml_source import read_yaml

UNREADABLE = [
    (b"", 1, "the file is empty"),
    (b"# only a comment\n", 1, "the file is empty"),
    (b"---\n- id: x\n", 2, "the file holds a list"),
    (b"contract", 1, "the file holds a single value"),
    (b"\nclaim: caf\xe9\n", 2, "not UTF-8: byte 12 is 0xe9"),
    (b"\xff\xfei\x00d\x00", 1, "not UTF-8"),
    (b"id: x\nchannels: [a\nb: c\n", 3, "no YAML: while parsing a flow sequence, did not find expected ','"),
    (b"id: x\nclaim: @y\n", 2, "cannot start any token"),
    ("é: é\n\nclaim: \x01\n".encode(), 3, "control characters are not allowed"),
    (b"id: x\n---\nid: y\n", 2, "another document"),
    (b"id: x\nclaim: y\nid: z\n", 3, "id: the key is given twice, first on line 1"),
    (b"id: x\ntiming:\n  a: 1\n  a: 2\n", 4, "timing.a: the key is given twice, first on line 3"),
    (b"id: x\n1: y\n", 2, "the key 1 is no text"),
    (b"id: x\n? [a]\n: y\n", 2, "is no text"),
    (b"id: x\ntiming: &t\n  t: *t\n", 2, "timing.t: the value contains itself"),
    (b"id: &i [*i]\n", 1, "id.0: the value contains itself"),
    (b"id: x\nclaim: *y\n", 2, "undefined alias"),
    (b"id: x\nclaim: !!python/object:os.system ls\n", 2, "the tag !!python/object:os.system has no meaning"),
    (b"id: x\nclaim: !secret y\n", 2, "the tag !secret has no meaning"),
    (b"id: !!set {x}\n", 1, "the tag !!set has no meaning"),
    (b"id: !!omap [x]\n", 1, "the tag !!omap has no meaning"),
    (b"id: x\nday: 2026-13-01\n", 2, "'2026-13-01' cannot be read"),
    (b"id: " + b"9" * 5000, 1, "cannot be read"),
    (b"id: " + b"[" * 900 + b"]" * 900, 1, "nested too deeply"),
    (b"id: " + b"[" * 9000, 1, "no YAML"),
]


@pytest.mark.parametrize(("content", "line", "said"), UNREADABLE)
def test_what_is_no_file_of_this_form(tmp_path: Path, content: bytes, line: int, said: str) -> None:
    path = tmp_path / "contract.yaml"
    path.write_bytes(content)
    (problem,) = problems_of(path)
    assert problem.line == line
    assert said in f"{problem.field}: {problem.message}"


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    assert "cannot be read: Is a directory" in problems_of(tmp_path)[0].message
    assert "cannot be read: No such file" in problems_of(tmp_path / "none.yaml")[0].message


def test_plain_words_stay_text(write: Write) -> None:
    words = [
        "NO",
        "no",
        "on",
        "off",
        "Yes",
        "012",
        "0x1F",
        "1_000",
        "1:30",
        "1.2.3",
        "2026-09-05T10:00:00Z",
        ".5.",
        "e5",
    ]
    path = write(("operator: gte\n    expected: 1\n", f"operator: in\n    expected: [{', '.join(words)}]\n"))
    assert load_contract(path).conditions["refund_on_intended_capture"].expected == tuple(words)


def test_numbers_and_truth_values_keep_their_type(write: Write) -> None:
    path = write(
        (
            "operator: gte\n    expected: 1\n",
            "operator: in\n    expected: [0, -3, +4, 12, true, False, '5']\n",
        )
    )
    assert repr(load_contract(path).conditions["refund_on_intended_capture"].expected) == (
        "(0, -3, 4, 12, True, False, '5')"
    )


@pytest.mark.parametrize("number", ["1.5", ".5", "1.", "-0.5", "1e3", "1.5E-3"])
def test_floating_point_numbers_are_refused(write: Write, number: str) -> None:
    (problem,) = problems_of(write(("expected: 1\n", f"expected: {number}\n")))
    assert "is a floating-point number" in problem.message


def test_a_value_may_be_repeated_by_an_alias(write: Write) -> None:
    path = write(
        ("meaning: The Payments", "meaning: &it The Payments"),
        ("meaning: PayPal made the refund after the operation started.", "meaning: *it"),
    )
    conditions = load_contract(path).conditions
    assert conditions["refund_created_in_window"].meaning == conditions["refund_present"].meaning


def test_aliases_of_aliases_are_built_once(tmp_path: Path) -> None:
    doubled = "\n".join(f"d{n}: &d{n} [*d{n - 1}, *d{n - 1}]" for n in range(1, 60))
    path = tmp_path / "one.yaml"
    path.write_text(f"d0: &d0 [x]\n{doubled}\n")
    assert "there is no such field here" in problems_of(path)[-1].message


def test_lines_are_those_of_keys_and_elements_or_of_the_nearest_parent() -> None:
    source = read_yaml(BUILT_IN / PAYPAL)
    lines = source.text.splitlines()
    assert lines[source.line_of(("timing", "backoff", "factor")) - 1].startswith("  backoff:")
    assert lines[source.line_of(("correlation", 1)) : source.line_of(("correlation", 2)) - 1] == [
        "    assurance: weak",
        "    keys: {capture_id: $input.capture_id}",
        "    required: false",
    ]
    assert source.line_of(("correlation", 3)) == source.line_of(("correlation",))
    assert source.line_of(("id", 0)) == source.line_of(("id",)) == 2
    assert source.known(("timing", "x", "backoff", 0, "factor")) == ("timing", "backoff", "factor")


def test_a_byte_order_mark_and_dos_line_ends_are_harmless(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT[PAYPAL].replace("\n", "\r\n").encode())
    assert load_contract(path) == load_contract(BUILT_IN / PAYPAL)
