"""What a provider's answer is worth: evidence, or one of many ways to say nothing.

Errors are not evidence: a 404 does not show that there is no refund, and neither do GraphQL errors, HTML from the
edge, or a body that lacks the resource. Each gets a stable word, so that it can be counted and shown.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from contracts.model import Request
from contracts.paths import MISSING, IncompleteListError, PartialList, Segment, is_plural, parse_path, resolve
from contracts.values import MAX_DECIMAL_DIGITS, pack
from verifiers.reads import Answer

MAX_VALUE_CHARACTERS = 1024
MAX_ELEMENTS = 250
_OK = 200
_ERRORS = {
    401: "unauthorized",
    402: "payment_required",
    403: "forbidden",
    404: "not_found",
    423: "locked",
    429: "rate_limited",
    430: "rejected",
}


def classify(request: Request, paths: Iterable[str], status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Decide what an answer is worth.

    Args:
        request: the channel's request, which names the resource that must be there.
        paths: the ``$observed.<channel>…`` paths that the contract reads.
        status: the HTTP status.
        headers: the answer's headers; names in any case (httpx.Headers).
        body: the body as received, decompressed.

    Returns:
        Evidence (``error`` is None) or none; never an exception, whatever the body holds.
    """
    served = headers.get(request.served_version_header) if request.served_version_header else None
    digest = hashlib.sha256(body).hexdigest()

    def nothing(error: str, detail: str | None = None) -> Answer:
        return Answer(status, error, detail, digest=digest, served_version=served)

    if status != _OK:
        return nothing(_status_error(status), f"the provider answered {status}")
    try:
        document = flatten_connections(json.loads(body, parse_float=Decimal, parse_constant=_refuse_constant))
    except (ValueError, ArithmeticError, RecursionError) as error:
        return nothing("not_json", f"the body is not JSON that can be read: {str(error)[:200]}")
    if not isinstance(document, dict):
        return nothing("not_json", "the body is JSON, but no object")
    if request.graphql is not None and document.get("errors"):
        return nothing(_graphql_error(document["errors"]), "the answer holds GraphQL errors")
    if resolve(document, _relative(request.evidence)) is MISSING:
        return nothing("absent", f"the answer holds no {request.evidence}")
    try:
        return Answer(status, None, values=_values(document, paths), digest=digest, served_version=served)
    except _Unusable as unusable:
        return nothing(unusable.error, str(unusable))


class _Unusable(Exception):
    """An answer that holds the resource, and a value that is wanted and cannot be had."""

    def __init__(self, error: str, detail: str) -> None:
        super().__init__(detail)
        self.error = error


def _values(document: Any, paths: Iterable[str]) -> dict[str, Any]:
    """Read the paths that resolve.

    To leave out what is there and cannot be kept would make a contradiction unknown that might be true, and let
    VERIFIED through; so would a part of a list that is wanted whole.
    """
    values = {}
    for path in paths:
        try:
            value = resolve(document, parse_path(path)[1][1:])
        except IncompleteListError as error:
            raise _Unusable("incomplete_list", f"{path}: {error}") from None
        if is_plural(path) and isinstance(value, list):
            value = [MISSING if isinstance(one, dict | list) else one for one in value]
        elif value is MISSING or isinstance(value, dict | list):
            continue
        if not _can_be_kept(value):
            raise _Unusable("unusable_value", f"{path} holds a value that cannot be kept")
        values[path] = pack(value)
    return values


def _relative(path: str) -> tuple[Segment, ...]:
    """Parse a path within the body, written without a root."""
    return parse_path(f"$observed.{path}")[1]


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _status_error(status: int) -> str:
    if status in _ERRORS:
        return _ERRORS[status]
    if 300 <= status < 400:  # noqa: PLR2004 - the class of redirects
        return "redirect"
    return "server_error" if status >= 500 else "unexpected_status"  # noqa: PLR2004 - the class of server errors


def _graphql_error(errors: Any) -> str:
    codes = [
        one["extensions"].get("code")
        for one in (errors if isinstance(errors, list) else [])
        if isinstance(one, dict) and isinstance(one.get("extensions"), dict)
    ]
    return "throttled" if "THROTTLED" in codes else "graphql_errors"


def _can_be_kept(value: Any) -> bool:
    """Tell whether a value is small enough for a case, and text that can be written down."""
    if isinstance(value, list):
        return len(value) <= MAX_ELEMENTS and all(one is MISSING or _can_be_kept(one) for one in value)
    if isinstance(value, int | Decimal):
        return len(str(value)) <= MAX_DECIMAL_DIGITS
    # JSON can escape half a surrogate pair, which is no text that could be written down again.
    return len(value) <= MAX_VALUE_CHARACTERS and not any("\ud800" <= one <= "\udfff" for one in value)


def flatten_connections(value: Any) -> Any:
    """Turn each GraphQL connection into a plain list: ``{nodes: […]}`` and ``{edges: [{node}]}`` alike.

    ``transactions[0]`` on a published page means the first transaction, in whichever of the shapes it arrives. Only
    an object that has nothing but ``nodes`` or ``edges``, ``pageInfo`` and ``totalCount`` is taken for a connection. A
    connection that does not say that there is no other page is a :class:`PartialList`.
    """
    if isinstance(value, list):
        return [flatten_connections(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() <= {"nodes", "edges", "pageInfo", "totalCount"}:
        kind = list if _is_whole(value.get("pageInfo")) else PartialList
        if isinstance(nodes := value.get("nodes"), list):
            return kind(flatten_connections(one) for one in nodes)
        if isinstance(edges := value.get("edges"), list) and all(isinstance(one, dict) for one in edges):
            return kind(flatten_connections(one.get("node")) for one in edges)
    return {name: flatten_connections(one) for name, one in value.items()}


def _is_whole(page: Any) -> bool:
    return isinstance(page, dict) and page.get("hasNextPage") is False and not page.get("hasPreviousPage")
