"""Readings that fit neither the page nor the provider."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from contracts.lint.finding import Finding, error, listed
from contracts.model import Contract, Request
from contracts.paths import channel_of, parse_path

Carried = Mapping[str, frozenset[str]]

_PLACEHOLDER: Final = re.compile(r"\{([a-z][a-z0-9_]*)\}", re.ASCII)
_VARIABLE: Final = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)\s*:", re.ASCII)
_START: Final = "$operation.created_at"
# Which reading each verifier needs, and what it says.
_NEEDED: Final = {
    "http": ("requests", "how to read it back"),
    "webhook": ("events", "which events it counts"),
}


def check(contract: Contract, carried: Carried | None) -> Iterator[Finding]:
    """Find readings that are missing, that nothing needs, or that ask for what events do not carry."""
    yield from _channels(contract)
    for channel, request in contract.readings.requests.items():
        yield from _request(f"readings.requests.{channel}", request)
        for index, path in enumerate(request.shown):
            if channel_of(path) != channel:
                yield error(
                    f"readings.requests.{channel}.shown.{index}",
                    f"`{path}` is not in the answer: what is shown of it begins with $observed.{channel}",
                )
    for channel, events in contract.readings.events.items():
        if events.since not in (None, _START):
            yield error(
                f"readings.events.{channel}.since",
                f"`{events.since}` is not sure to be an instant: events count since `{_START}`",
            )
    yield from _rules(contract)
    yield from _case_key(contract)
    if carried is not None:
        yield from _carried(contract, carried)


def _channels(contract: Contract) -> Iterator[Finding]:
    for name, channel in contract.channels.items():
        group, what = _NEEDED[channel.verifier]
        if name not in getattr(contract.readings, group):
            rules = [rule_id for rule_id, rule in contract.rules.items() if name in rule.channels]
            resting = f", and these rules rest on it: {listed(rules)}" if rules else ""
            yield error(
                f"readings.{group}.{name}", f"the {channel.verifier} channel `{name}` does not say {what}{resting}"
            )
    for verifier, (group, _) in _NEEDED.items():
        fitting = [name for name, channel in contract.channels.items() if channel.verifier == verifier]
        for name in getattr(contract.readings, group):
            if name not in fitting:
                yield error(
                    f"readings.{group}.{name}",
                    f"there is no {verifier} channel `{name}`: the contract has {listed(fitting)}",
                )


def _request(field: str, request: Request) -> Iterator[Finding]:
    placeholders = set(_PLACEHOLDER.findall(request.path))
    if re.search(r"[{}]", _PLACEHOLDER.sub("", request.path)):
        yield error(f"{field}.path", "a placeholder is a name in braces, such as {refund_id}")
    for name in sorted(placeholders - request.parameters.keys()):
        yield error(f"{field}.path", f"the placeholder {{{name}}} has no value: `parameters` does not name it")
    for name in request.parameters:
        if name not in placeholders:
            yield error(f"{field}.parameters.{name}", f"the path has no placeholder {{{name}}}")
    if request.method == "POST" and request.graphql is None:
        yield error(f"{field}.graphql", "a readback changes nothing, so POST is for a GraphQL query: name one")
    if request.method == "GET" and request.graphql is not None:
        yield error(f"{field}.graphql", "GET carries no GraphQL query: the method is POST")
    if request.graphql is not None:
        yield from _variables(f"{field}.graphql", request.graphql.document, request.graphql.variables)
    try:
        parse_path(f"$observed.channel.{request.evidence}")
    except ValueError:
        yield error(f"{field}.evidence", f"{request.evidence!r} is no path within a body: it looks like data.refund")


def _variables(field: str, document: str, variables: Mapping[str, str]) -> Iterator[Finding]:
    declared = set(_VARIABLE.findall(document))
    for name in sorted(declared - variables.keys()):
        yield error(f"{field}.document", f"the variable ${name} has no value: `variables` does not name it")
    for name in variables:
        if name not in declared:
            yield error(f"{field}.variables.{name}", f"the document declares no variable ${name}")


def _rules(contract: Contract) -> Iterator[Finding]:
    for rule_id, reading in contract.readings.rules.items():
        field = f"readings.rules.{rule_id}"
        if rule_id not in contract.rules:
            yield error(field, f"there is no rule `{rule_id}`: the contract has {listed(contract.rules)}")
        elif rule_id not in contract.contradictions:
            if reading.do_not_retry:
                yield error(f"{field}.do_not_retry", f"`{rule_id}` is no contradiction: only one can forbid a retry")
            if reading.unless is not None:
                yield error(f"{field}.unless", f"`{rule_id}` is no contradiction: only one has exceptions")


def _case_key(contract: Contract) -> Iterator[Finding]:
    path = contract.readings.case_key.operation
    root, segments = parse_path(path)
    if root == "action":
        yield error(
            "readings.case_key.operation",
            f"`{path}` is known only after the action: a case must be known when its operation starts",
        )
    elif root == "operation" or (root == "input" and len(segments) != 1):
        yield error("readings.case_key.operation", f"`{path}` is no input: a case is about what an operation names")


def _carried(contract: Contract, carried: Carried) -> Iterator[Finding]:
    key = contract.readings.case_key.name
    for channel, events in contract.readings.events.items():
        field = f"readings.events.{channel}"
        for index, event_type in enumerate(events.types):
            identifiers = carried.get(event_type)
            if identifiers is None:
                yield error(
                    f"{field}.types.{index}",
                    f"no event {event_type} of {contract.provider} is known: there are {listed(carried)}",
                )
                continue
            said = f"events {event_type} carry {listed(sorted(identifiers))}"
            for name in events.where:
                if name not in identifiers:
                    yield error(f"{field}.where.{name}", f"{said}: filtering on `{name}` would count none of them")
            if key not in identifiers:
                yield error(
                    "readings.case_key.name",
                    f"{said}: without `{key}` they would never find the case they belong to",
                )
