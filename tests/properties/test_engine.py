"""What must hold for every contract and every set of facts."""

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from worlds import CONTEXT

from contracts.evaluation import evaluate
from contracts.judgement import ChannelState, Decided, Undecided, judge
from contracts.model import Contract
from contracts.operators import NAMES, QUANTIFIED, Truth, apply
from contracts.paths import MISSING
from contracts.schedule import Schedule

contracts = st.sampled_from(CONTEXT.catalogue.contracts)
scalars = st.one_of(
    st.text(max_size=8),
    st.integers(),
    st.booleans(),
    st.decimals(allow_nan=False),
    st.sampled_from(["42.50", "42.5", "USD", "2026-03-12T15:42:18Z", "2026-03-12T15:42:17.900Z", "FAILURE", "PENDING"]),
)

lists = st.lists(st.sampled_from(["SUCCESS", "PENDING", "FAILURE", True, False, MISSING]), max_size=3)


def paths(contract: Contract) -> list[str]:
    found: set[str] = set()
    for rule_id, rule in contract.rules.items():
        found.update(rule.paths)
        if (unless := contract.reading_of(rule_id).unless) is not None:
            found.update(unless.paths)
    return sorted(found)


@st.composite
def contract_and_facts(draw: st.DrawFn) -> tuple[Contract, dict[str, Any]]:
    contract = draw(contracts)
    return contract, draw(st.dictionaries(st.sampled_from(paths(contract)), scalars | lists))


def channels(contract: Contract, *, observed: bool = True, settled: bool = True) -> dict[str, ChannelState]:
    return {name: ChannelState(observed, settled) for name in contract.channels}


@given(st.sampled_from(sorted(NAMES)), scalars, st.booleans())
def test_no_operator_knows_anything_about_a_missing_value(operator, value, decimal):
    assert apply(operator, MISSING, value, decimal=decimal) is Truth.UNKNOWN
    assert apply(operator, value, MISSING, decimal=decimal) is Truth.UNKNOWN


@given(scalars, scalars, st.booleans())
def test_an_operator_and_its_opposite_never_agree(actual, expected, decimal):
    for one, other in (("eq", "ne"), ("time_before", "time_after"), ("gt", "lte"), ("lt", "gte")):
        told = apply(one, actual, expected, decimal=decimal), apply(other, actual, expected, decimal=decimal)
        assert told in {(Truth.UNKNOWN,) * 2, (Truth.TRUE, Truth.FALSE), (Truth.FALSE, Truth.TRUE)}


@given(st.sampled_from(sorted(QUANTIFIED)), st.lists(scalars | st.just(MISSING), max_size=5), scalars, st.booleans())
def test_a_list_is_judged_by_its_values_and_what_becomes_known_changes_no_answer(operator, values, expected, decimal):
    quantifier, each = operator.split("_")
    wanted = [expected] if each == "in" else expected
    told = apply(operator, values, wanted, decimal=decimal)
    single = [apply(each, one, wanted, decimal=decimal) for one in values]
    if quantifier == "every":
        assert (told is Truth.TRUE) == (bool(values) and all(one is Truth.TRUE for one in single))
        assert (told is Truth.FALSE) == (not values or Truth.FALSE in single)
    else:
        assert (told is Truth.TRUE) == (Truth.TRUE in single)
        assert (told is Truth.FALSE) == all(one is Truth.FALSE for one in single)
    if told is not Truth.UNKNOWN:  # whatever the missing values turn out to be
        for known in scalar_examples(expected):
            filled = [known if one is MISSING else one for one in values]
            assert apply(operator, filled, wanted, decimal=decimal) is told


def scalar_examples(expected):
    return (expected, "something else", 7, True)


@given(contract_and_facts())
def test_a_rule_is_known_only_where_its_values_are_there(given_):
    contract, facts = given_
    evaluation = evaluate(contract, facts)
    for result in (*evaluation.conditions, *evaluation.contradictions, *evaluation.verdict_map):
        if any(path not in facts for path in result.rule.paths):
            assert result.result is Truth.UNKNOWN


@given(contracts)
def test_without_facts_there_is_no_verdict(contract):
    assert judge(contract, evaluate(contract, {}), channels(contract)) == Undecided()


@given(contract_and_facts())
def test_a_verdict_rests_on_rules_that_are_known_to_hold(given_):
    contract, facts = given_
    evaluation = evaluate(contract, facts)
    judgement = judge(contract, evaluation, channels(contract))
    if isinstance(judgement, Decided) and judgement.verdict == "VERIFIED":
        assert all(one.result is Truth.TRUE for one in evaluation.conditions)
        assert all(one.result is not Truth.TRUE for one in evaluation.contradictions)
    elif isinstance(judgement, Decided):
        (ruling,) = [one for one in (*evaluation.contradictions, *evaluation.verdict_map) if one.id == judgement.rule]
        assert ruling.result is Truth.TRUE


@given(contract_and_facts())
def test_nothing_observed_is_never_verified(given_):
    contract, facts = given_
    judgement = judge(contract, evaluate(contract, facts), channels(contract, observed=False))
    assert not (isinstance(judgement, Decided) and judgement.verdict == "VERIFIED")


@given(
    st.integers(1, 10**5), st.integers(1, 10**5), st.integers(1, 4), st.integers(1, 10**6), st.integers(1, 200),
    st.integers(1, 10**8), st.integers(0, 10**8),
)  # fmt: skip
def test_a_schedule_never_exceeds_its_attempts_or_its_timeout(delay, interval, factor, cap, attempts, timeout, at):
    schedule = Schedule.of(
        initial_delay_ms=delay,
        poll_interval_ms=interval,
        factor=factor,
        max_interval_ms=cap,
        max_attempts=attempts,
        timeout_ms=timeout,
    )
    assert len(schedule.offsets_ms) <= attempts
    assert all(0 < one < timeout for one in schedule.offsets_ms)
    assert all(0 < later - earlier <= cap for earlier, later in pairwise(schedule.offsets_ms))
    slot = schedule.next_slot_after(at)
    assert all(one <= at for one in schedule.offsets_ms[:slot])
    assert all(one > at for one in schedule.offsets_ms[slot:])
