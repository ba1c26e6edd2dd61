"""Paths that can never resolve."""

from collections.abc import Iterator

from contracts.lint.finding import Finding, error, listed, placed_rules
from contracts.lint.kinds import OPERATION_MEMBERS, WEBHOOK_MEMBERS, is_webhook
from contracts.model import Contract
from contracts.paths import Each, Segment, is_path, parse_path


def check(contract: Contract) -> Iterator[Finding]:
    """Find paths that read what no operation and no channel has."""
    for field, path in _rule_paths(contract):
        if (message := _fault(contract, path)) is not None:
            yield error(field, message)
    for field, path in _operation_paths(contract):
        if parse_path(path)[0] == "observed":
            yield error(field, f"`{path}` reads a channel: only rules may, this is needed before anything is observed")
        elif (message := _fault(contract, path)) is not None:
            yield error(field, message)


def _rule_paths(contract: Contract) -> Iterator[tuple[str, str]]:
    for placed in placed_rules(contract):
        yield f"{placed.field}.path", placed.rule.path
        if is_path(placed.rule.expected):
            yield f"{placed.field}.expected", str(placed.rule.expected)


def _operation_paths(contract: Contract) -> Iterator[tuple[str, str]]:
    groups = {"subject.identity": contract.subject.identity}
    groups |= {f"correlation.{index}.keys": one.keys for index, one in enumerate(contract.correlation)}
    for channel, request in contract.readings.requests.items():
        groups[f"readings.requests.{channel}.parameters"] = request.parameters
        if request.graphql is not None:
            groups[f"readings.requests.{channel}.graphql.variables"] = request.graphql.variables
    groups |= {f"readings.events.{name}.where": one.where for name, one in contract.readings.events.items()}
    for group, paths in groups.items():
        for name, path in paths.items():
            yield f"{group}.{name}", path
    yield "readings.case_key.operation", contract.readings.case_key.operation


def _fault(contract: Contract, path: str) -> str | None:
    """Return why a path can never resolve, None where it may."""
    root, (first, *rest) = parse_path(path)
    if root == "observed":
        return _channel_fault(contract, path, str(first), rest)
    if root == "action":
        return None if first in ("result", "error") else f"`{path}`: an action has a `result` or an `error`"
    known = tuple(contract.readings.input) if root == "input" else OPERATION_MEMBERS
    if first not in known:
        where = "readings.input declares" if root == "input" else "an operation has"
        return f"`{path}` reads `{first}`, but {where} {listed(known)}"
    return f"`{path}` reads into a single value: the path ends at `${root}.{first}`" if rest else None


def _channel_fault(contract: Contract, path: str, channel: str, rest: list[Segment]) -> str | None:
    if channel not in contract.channels:
        return f"`{path}` reads the channel `{channel}`: the contract has {listed(contract.channels)}"
    through = any(isinstance(segment, Each) for segment in rest)
    if not is_webhook(contract, channel):
        request = contract.readings.requests.get(channel)
        if through and request is not None and request.graphql and "hasNextPage" not in request.graphql.document:
            return f"`{path}` means every element, but the query does not ask for `pageInfo {{ hasNextPage }}`"
        return None
    if through:
        return f"`{path}`: a webhook channel's lists are read as a whole, without [*]"
    member = rest[0] if rest else None
    if member not in WEBHOOK_MEMBERS:
        return f"`{path}`: a webhook channel holds {listed(WEBHOOK_MEMBERS)}"
    deeper = rest[1:]
    if deeper and not (WEBHOOK_MEMBERS[str(member)] == "list" and len(deeper) == 1 and isinstance(deeper[0], int)):
        return f"`{path}` reads what `{member}` of a webhook channel does not hold"
    return None
