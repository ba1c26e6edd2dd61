"""What must hold in every world: decisions do not depend on order, repeats, or when the worker died."""

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from worlds import ANSWERS, OPERATION, World, worlds

from streams.replay.runner import Outcome

pytestmark = pytest.mark.timeout(300)
SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def verdicts(outcome: Outcome) -> list[tuple[str, str]]:
    return [(one["verdict"], one["rule"]) for one in outcome.verdicts.get("op-1", [])]


def final(outcome: Outcome) -> str:
    """The last verdict. Where two contradictions hold, the first one seen decides, so the rule may differ."""
    return verdicts(outcome)[-1][0]


def without_repeats(outcome: Outcome) -> list[dict[str, Any]]:
    """The verdict records, but for the numbers of dropped repeats."""
    records = copy.deepcopy(outcome.verdicts.get("op-1", []))
    for record in records:
        for channel in record["evidence"]["channels"].values():
            channel.pop("duplicates_dropped", None)
    return records


@SLOW
@given(world=worlds, order=st.randoms(use_true_random=False), at=st.integers(0, 60_000))
def test_the_order_of_messages_that_come_together_does_not_change_the_final_verdict(world, order, at):
    acts = [act for _, act in world.acts] + [OPERATION]
    shuffled = list(acts)
    order.shuffle(shuffled)

    one = World(tuple((at, act) for act in acts), world.answer).run()
    other = World(tuple((at, act) for act in shuffled), world.answer).run()

    assert final(one) == final(other)


@SLOW
@given(world=worlds, order=st.randoms(use_true_random=False))
def test_when_deliveries_come_does_not_change_the_final_verdict(world, order):
    times = [after for after, _ in world.acts]
    order.shuffle(times)
    moved = World(tuple(zip(times, (act for _, act in world.acts), strict=True)), world.answer)

    assert final(world.with_acts((0, OPERATION)).run()) == final(moved.with_acts((0, OPERATION)).run())


@SLOW
@given(world=worlds, data=st.data())
def test_a_repeated_delivery_changes_nothing_but_the_number_of_repeats(world, data):
    assume(world.acts)
    once = world.with_acts((0, OPERATION))
    after, act = data.draw(st.sampled_from(world.acts))
    again = once.with_acts((after + data.draw(st.integers(0, 300_000)), act))

    assert without_repeats(once.run()) == without_repeats(again.run())


@SLOW
@given(world=worlds, later=st.integers(0, 300_000))
def test_an_operation_published_again_changes_nothing(world, later):
    once = world.with_acts((0, OPERATION))

    assert once.run().verdicts == once.with_acts((later, OPERATION)).run().verdicts


@SLOW
@given(world=worlds, deaths=st.lists(st.integers(0, 150_000), max_size=3))
def test_a_death_at_any_time_changes_nothing(world, deaths):
    whole = world.with_acts((0, OPERATION))
    dying = whole.with_acts(*((after, "restart") for after in deaths))

    one, other = whole.run(), dying.run()

    assert one.verdicts == other.verdicts
    assert one.observed == other.observed
    assert one.refused.keys() == other.refused.keys()


@SLOW
@given(world=worlds)
def test_every_operation_gets_a_verdict_and_verified_needs_its_own_refund_and_event(world):
    outcome = world.with_acts((0, OPERATION)).run()

    found = verdicts(outcome)
    assert found
    for record in outcome.verdicts["op-1"]:
        if record["verdict"] == "VERIFIED":
            assert all(one["result"] == "true" for one in record["evidence"]["conditions"])
            assert not any(one["result"] == "true" for one in record["evidence"]["contradictions"])
    sequences = [one["sequence"] for one in outcome.verdicts["op-1"]]
    assert sequences == list(range(1, len(sequences) + 1))
    assert [one["supersedes"] for one in outcome.verdicts["op-1"]] == [
        None,
        *(one["verdict_id"] for one in outcome.verdicts["op-1"][:-1]),
    ]


@pytest.mark.parametrize("answer", ANSWERS, ids=range(len(ANSWERS)))
def test_reads_never_exceed_what_the_contract_allows(answer):
    outcome = World(((0, OPERATION),), answer).run()

    record = outcome.verdicts["op-1"][-1]
    assert record["evidence"]["channels"]["refund_readback"]["reads"] <= 40
