"""The published page of a contract, as Markdown.

Every fact of the page stands in the contract's file, so what is published can be held against what is run.
"""

import json
from collections.abc import Iterable
from typing import Any

from contracts.model import Contract, Correlation

_LINE_BREAK = "  \n"  # Markdown: two spaces keep the line's end


def render_page(contract: Contract) -> str:
    """Write the page that publishes a contract: Markdown, without a newline at its end."""
    sections = (
        _head(contract),
        _identity(contract),
        _section("What is the intent?", contract.intent),
        _section("What is the subject and the action?", _subject(contract)),
        _section("How does the evidence correlate with this operation?", _correlation(contract)),
        _section("Which evidence does the contract require?", _evidence(contract)),
        _section("Which conditions must all hold for VERIFIED?", _conditions(contract)),
        _section("Which conditions give CONTRADICTED?", _contradictions(contract)),
        _section("Which observed states map to a verdict before completion?", _verdict_map(contract)),
        _section("How long does the runtime observe?", _timing(contract)),
        _section("Where do these rules come from?", _sources(contract)),
        _question(f"Can {contract.id} return VERIFIED from the action response alone?", _alone(contract)),
        _question("What happens after the timeout?", _timeout(contract)),
        _section("Read next", _read_next(contract)),
    )
    return "\n\n".join(section for section in sections if section)


def _head(contract: Contract) -> str:
    published = contract.published
    certification = published.certification.capitalize()
    facts = [
        f"Canonical: {published.canonical}" if published.canonical else "",
        f"Last reviewed: {published.last_reviewed}",
        f"Skill version: {published.skill.version}" if published.skill else "",
        f"Certification: {published.certification}",
    ]
    return (
        f"# What does {contract.id} prove?\n\n"
        f"> {contract.claim} Version {contract.version}, certification {certification}.\n\n"
        + "".join(fact + _LINE_BREAK for fact in facts if fact)
        + f"\n**{contract.claim} {contract.scope}**"
    )


def _identity(contract: Contract) -> str:
    published, skill = contract.published, contract.published.skill
    rows = [
        ("Contract id", _code(contract.id)),
        ("Version", _code(contract.version)),
        ("Hash", _code(published.hash) if published.hash else None),
        ("Completion level", _code(contract.completion_level)),
        ("Publisher", published.publisher),
        ("Certification", published.certification.capitalize()),
        ("Skill", f"[{skill.name} {skill.version}]({skill.link})" if skill else None),
        ("Valid for provider API versions", ", ".join(map(_code, contract.provider_api_versions))),
    ]
    return "*Contract identity.*\n\n" + _table(("Fact", "Value"), [(name, said) for name, said in rows if said])


def _subject(contract: Contract) -> str:
    identity = "; ".join(f"{name} = {_code(path)}" for name, path in contract.subject.identity.items())
    idempotency = "not stated"
    if (stated := contract.idempotency) is not None:
        safe = "safe" if stated.retry_is_safe else "not safe"
        idempotency = f"{stated.key} through {_code(stated.through)}, retry is {safe}"
    rows = (
        ("Subject type", _code(contract.subject.type)),
        ("Subject identity", identity),
        ("Canonical effect", _code(contract.canonical_effect)),
        ("Provider operation", _code(contract.provider_operation)),
        ("Idempotency", idempotency),
    )
    return _table(("Member", "Value"), rows)


def _correlation(contract: Contract) -> str:
    rows = [
        (_code(one.strategy), one.assurance, _keys(one), "yes" if one.required else "no")
        for one in contract.correlation
    ]
    return _table(("Strategy", "Assurance", "Keys", "Required"), rows)


def _keys(correlation: Correlation) -> str:
    return "; ".join(f"{name} from {_code(path)}" for name, path in correlation.keys.items())


def _evidence(contract: Contract) -> str:
    rule = contract.evidence
    required = "is" if rule.independent_channel_required else "is not"
    rows = [
        (
            _code(name),
            channel.level,
            _words(channel.independence),
            _code(channel.verifier),
            channel.description,
        )
        for name, channel in contract.channels.items()
    ]
    return (
        f"Minimum evidence level {_code(rule.minimum_level)}. An independent channel {required} required. "
        f"Minimum channels: {rule.minimum_channels}.\n\n"
        + _table(("Channel", "Level", "Independence", "Verifier", "Description"), rows)
    )


def _conditions(contract: Contract) -> str:
    rows = [
        (
            _code(name),
            one.meaning,
            _code(one.path),
            _code(one.operator),
            _code(_literal(one.expected)),
            _code(one.evidence),
        )
        for name, one in contract.conditions.items()
    ]
    return _table(("Condition", "Meaning", "Path", "Operator", "Expected", "Evidence"), rows)


def _contradictions(contract: Contract) -> str:
    if not contract.contradictions:
        return "The contract declares no contradictions."
    rows = [
        (
            _code(name),
            _words(one.class_),
            one.reason,
            _code(one.path),
            _code(one.operator),
            _code(_literal(one.expected)),
        )
        for name, one in contract.contradictions.items()
    ]
    return _table(("Condition", "Class", "Reason", "Path", "Operator", "Expected"), rows)


def _verdict_map(contract: Contract) -> str:
    if not contract.verdict_map:
        return "The contract declares no verdict map. The completion block decides."
    rows = [
        (
            _code(name),
            f"{_code(one.path)} {one.operator} {_code(_literal(one.expected))}",
            one.verdict,
            one.reason,
        )
        for name, one in contract.verdict_map.items()
    ]
    return _table(("Rule", "Match", "Verdict", "Reason"), rows)


def _timing(contract: Contract) -> str:
    timing, end = contract.timing, contract.timing.on_timeout
    backoff = timing.backoff
    rows = (
        ("Initial delay", f"{timing.initial_delay_ms} ms"),
        ("Poll interval", f"{timing.poll_interval_ms} ms"),
        ("Backoff", f"{backoff.kind} factor {backoff.factor}, max {backoff.max_ms} ms"),
        ("Maximum attempts", str(timing.max_attempts)),
        ("Timeout", f"{timing.timeout_ms} ms"),
        ("Stale read window", f"{timing.stale_read_window_ms} ms"),
        (
            "On timeout",
            f"{end.verdict} ({_code(end.reason)})" + (", escalated to a person" if end.escalate else ""),
        ),
    )
    return _table(("Timing member", "Value"), rows)


def _sources(contract: Contract) -> str:
    return "\n".join(
        f"- {_code(one.ref)}: [{one.title}]({one.link}), retrieved {one.retrieved}" for one in contract.sources
    )


def _alone(contract: Contract) -> str:
    rule = contract.evidence
    alone = rule.action_response_level >= rule.minimum_level and not rule.independent_channel_required
    read = list(dict.fromkeys(_code(one.evidence) for one in contract.conditions.values()))
    channels = " and ".join(part for part in (", ".join(read[:-1]), read[-1]) if part)
    return (
        f"{'Yes' if alone else 'No'}. The minimum evidence level is {rule.minimum_level}. "
        f"The action response is {rule.action_response_level}. The completion conditions read {channels}."
    )


def _timeout(contract: Contract) -> str:
    end = contract.timing.on_timeout
    said = f"The verdict is {end.verdict} with the reason {_code(end.reason)}."
    return said + (" The operation goes to a person for review." if end.escalate else "")


def _read_next(contract: Contract) -> str:
    return "\n".join(f"- [{one.text}]({one.link})" for one in contract.published.read_next)


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}" if body else ""


def _question(title: str, body: str) -> str:
    return f"### {title}\n\n{body}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(text: str) -> str:
    """Keep text within one cell: a bar or a line's end would begin another."""
    return " ".join(text.split()).replace("|", r"\|")


def _code(text: str) -> str:
    return f"`{text}`"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _literal(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
