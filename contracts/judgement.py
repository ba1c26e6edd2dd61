"""Which verdict an evaluation makes: contradictions first, then the verdict map, then completion, else wait."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from contracts.evaluation import Evaluation, RuleResult
from contracts.model import Contract, Contradiction, MapRule, Verdict

COMPLETION = "completion"
TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class ChannelState:
    """What a judgement needs to know of a channel.

    ``observed``: it has shown something (an answer that holds evidence, or at least one event that counts).
    ``settled``: what it shows cannot be stale. Events always are; a read is when it was made after the stale-read
    window.
    """

    observed: bool
    settled: bool


@dataclass(frozen=True, slots=True)
class Decided:
    """A verdict, the rule that made it, and what follows from it."""

    verdict: Verdict
    rule: str
    reason: str
    class_: str | None = None
    do_not_retry: bool = False
    review: bool = False


@dataclass(frozen=True, slots=True)
class Undecided:
    """No verdict yet. ``stale`` names the channels to read again, since a contradiction rests on stale reads only."""

    stale: frozenset[str] = frozenset()


def judge(contract: Contract, evaluation: Evaluation, channels: Mapping[str, ChannelState]) -> Decided | Undecided:
    """Judge an evaluation.

    Args:
        contract: the contract.
        evaluation: the results of all its rules.
        channels: the state of each channel of the contract, by name.

    Returns:
        The verdict, or what to wait for. UNVERIFIABLE comes from here only where a map rule says so; else it takes time
        to run out, see :func:`timed_out`.
    """
    if (contradicted := _contradiction(contract, evaluation, channels)) is not None:
        return contradicted
    for result in evaluation.verdict_map:
        if result.holds and isinstance(result.rule, MapRule):
            if result.rule.verdict == "VERIFIED" and not _enough_evidence(contract, channels):
                continue
            for_a_person = result.rule.verdict == "UNVERIFIABLE" and contract.timing.on_timeout.escalate
            return Decided(result.rule.verdict, result.id, result.rule.reason, review=for_a_person)
    if not evaluation.unmet and _enough_evidence(contract, channels):
        return Decided("VERIFIED", COMPLETION, "Every condition holds, on evidence of the level required.")
    return Undecided()


def _contradiction(
    contract: Contract, evaluation: Evaluation, channels: Mapping[str, ChannelState]
) -> Decided | Undecided | None:
    stale: set[str] = set()
    for result in evaluation.contradictions:
        if not result.holds or not isinstance(result.rule, Contradiction):
            continue
        if rests_on_stale_reads_only(result, channels):
            stale.update(result.channels)
            continue
        return Decided(
            "CONTRADICTED",
            result.id,
            result.rule.reason,
            class_=result.rule.class_,
            do_not_retry=contract.reading_of(result.id).do_not_retry,
        )
    return Undecided(frozenset(stale)) if stale else None


def rests_on_stale_reads_only(result: RuleResult, channels: Mapping[str, ChannelState]) -> bool:
    """Tell whether all that a result rests on are reads made within the stale-read window."""
    return bool(result.channels) and not any(channels[name].settled for name in result.channels)


def _enough_evidence(contract: Contract, channels: Mapping[str, ChannelState]) -> bool:
    rule = contract.evidence
    enough = [
        name
        for name, channel in contract.channels.items()
        if channels[name].observed
        and channel.level >= rule.minimum_level
        and (channel.independent or not rule.independent_channel_required)
    ]
    return len(enough) >= rule.minimum_channels


def timed_out(contract: Contract) -> Decided:
    """Return the verdict of an observation that ended without one."""
    timeout: Literal["UNVERIFIABLE"] = contract.timing.on_timeout.verdict
    return Decided(timeout, TIMEOUT, contract.timing.on_timeout.reason, review=contract.timing.on_timeout.escalate)
