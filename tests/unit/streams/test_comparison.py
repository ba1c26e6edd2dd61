"""Where a replayed history differs from what it expected."""

from pathlib import Path
from typing import Any

import pytest
from casework import T0, at

from streams.outputs import Refused
from streams.replay.comparison import differences
from streams.replay.history import Expectation, Expected, ExpectedVerdict, History
from streams.replay.runner import Outcome

AMOUNT = "$observed.refund_readback.amount.value"


def refused(class_: str, offset: int, topic: str = "webhooks") -> tuple[tuple[str, int], Refused]:
    return (topic, offset), Refused(class_, f"because of {class_}", None, b"", (), topic, 0, offset, "intake", T0)


def verdict(name: str = "VERIFIED", rule: str = "completion", decided: int = 5000) -> dict[str, Any]:
    return {
        "verdict": name,
        "rule": rule,
        "reason": "every",
        "decided_at": at(decided),
        "explanation": "since it is so",
    }


def outcome(*verdicts: dict[str, Any], observed: dict[str, Any] | None = None, refusals: Any = ()) -> Outcome:
    return Outcome({"op-1": list(verdicts)} if verdicts else {}, dict(refusals), {"op-1": observed or {}})


def compared(found: Outcome, **expectation: Any) -> list[str]:
    """The differences, without the file's name; the expectation stands in line 7."""
    if "verdicts" in expectation or "observed" in expectation:
        expectation = {"operation_id": "op-1"} | expectation
    expected = Expected(Expectation(**expectation), 7)
    history = History(Path("one.jsonl"), {}, (), (expected,))
    sentences = differences(history, found)
    assert all(one.startswith("one.jsonl:7: ") for one in sentences)
    return [one.removeprefix("one.jsonl:7: ") for one in sentences]


def wanted(name: str = "VERIFIED", **more: str) -> tuple[ExpectedVerdict, ...]:
    return (ExpectedVerdict(verdict=name, **more),)  # type: ignore[arg-type]


def test_what_is_as_expected_is_no_difference() -> None:
    assert compared(outcome(verdict()), verdicts=wanted()) == []
    assert compared(outcome(verdict()), verdicts=wanted(rule="completion", reason="every")) == []
    assert compared(outcome(), verdicts=()) == []
    assert compared(outcome(), dead_letters=0, rejected_webhooks=0) == []


@pytest.mark.parametrize(
    ("found", "expected", "said"),
    [
        (outcome(), wanted(), "op-1: verdicts: expected VERIFIED, got none"),
        (outcome(verdict()), (), "op-1: verdicts: expected none, got VERIFIED"),
        (outcome(verdict("FAILED")), wanted(), "op-1: verdicts: expected VERIFIED, got FAILED"),
        (
            outcome(verdict(), verdict("CONTRADICTED")),
            wanted(),
            "op-1: verdicts: expected VERIFIED, got VERIFIED, CONTRADICTED",
        ),
        (
            outcome(verdict("CONTRADICTED"), verdict()),
            (*wanted(), *wanted("CONTRADICTED")),
            "op-1: verdicts: expected VERIFIED, CONTRADICTED, got CONTRADICTED, VERIFIED",
        ),
    ],
)
def test_another_sequence_of_verdicts_is_told_with_its_explanations(
    found: Outcome, expected: tuple[ExpectedVerdict, ...], said: str
) -> None:
    (sentence,) = compared(found, verdicts=expected)
    first, *told = sentence.split("\n")
    assert first == said
    assert len(told) == len(found.verdicts.get("op-1", []))
    assert all("since it is so" in one for one in told)


def test_an_operation_that_nobody_knows_has_no_verdicts() -> None:
    sentence = compared(outcome(verdict()), operation_id="op-2", verdicts=wanted())
    assert sentence == ["op-2: verdicts: expected VERIFIED, got none"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"rule": "other"}, "rule: expected 'other', got 'completion'"),
        ({"reason": "other"}, "reason: expected 'other', got 'every'"),
        ({"not_before": at(5001)}, f"decided at {at(5000)}, not before {at(5001)} expected"),
        ({"not_after": at(4999)}, f"decided at {at(5000)}, not after {at(4999)} expected"),
    ],
)
def test_each_member_of_a_verdict_that_differs_is_told(more: dict[str, str], said: str) -> None:
    assert compared(outcome(verdict()), verdicts=wanted(**more)) == [f"op-1: verdict 1 (VERIFIED): {said}"]


@pytest.mark.parametrize("more", [{"not_before": at(5000)}, {"not_after": at(5000)}])
def test_the_bounds_belong_to_the_time_that_is_right(more: dict[str, str]) -> None:
    assert compared(outcome(verdict()), verdicts=wanted(**more)) == []


def test_the_second_verdict_is_told_as_the_second() -> None:
    found = outcome(verdict(), verdict("CONTRADICTED", "duplicate"))
    expected = (*wanted(), *wanted("CONTRADICTED", rule="other"))
    assert compared(found, verdicts=expected) == [
        "op-1: verdict 2 (CONTRADICTED): rule: expected 'other', got 'duplicate'"
    ]


def test_dead_letters_and_rejected_webhooks_are_counted_and_told() -> None:
    found = outcome(
        refusals=[refused("not_authentic", 1), refused("not_json", 2), refused("too_late", 2, "operations")]
    )
    assert compared(found, dead_letters=3, rejected_webhooks=1) == []
    first, second = compared(found, dead_letters=1, rejected_webhooks=0)
    assert first.split("\n")[0] == "dead_letters: expected 1, got 3"
    assert "not_json: because of not_json" in first
    assert second.split("\n")[0] == "rejected_webhooks: expected 0, got 1"


@pytest.mark.parametrize(
    ("holds", "expected", "said"),
    [
        ("60.00", "60.00", None),
        (2, 2, None),
        (True, True, None),
        (["a"], ["a"], None),
        ("60.00", "60.0", "expected '60.0', got '60.00'"),
        ("2", 2, "expected 2, got '2'"),
        (True, 1, "expected 1, got True"),
        (1, True, "expected True, got 1"),
        (0, False, "expected False, got 0"),
    ],
)
def test_what_a_path_holds_in_the_end_is_compared_with_its_type(holds: Any, expected: Any, said: str | None) -> None:
    sentences = compared(outcome(observed={AMOUNT: holds}), observed={AMOUNT: expected})
    assert sentences == ([] if said is None else [f"op-1: {AMOUNT}: {said}"])


@pytest.mark.parametrize("expected", ["60.00", None, 0, ""])
def test_a_path_that_holds_nothing_is_told(expected: Any) -> None:
    assert compared(outcome(), observed={AMOUNT: expected}) == [f"op-1: {AMOUNT}: expected {expected!r}, got nothing"]


def test_every_difference_is_told() -> None:
    found = outcome(verdict(), observed={AMOUNT: "1"})
    sentences = compared(
        found,
        dead_letters=9,
        rejected_webhooks=9,
        verdicts=wanted(rule="other", reason="other"),
        observed={AMOUNT: "2", "$observed.x.count": 1},
    )
    assert len(sentences) == 6
