"""PayPal's events in normal form.

Sources: PayPal's OpenAPI documents of the Payments API and of webhooks, its page "Webhook event names", and recorded
deliveries.

A refund names its captured payment, and a captured payment its order, by the path of the ``up`` link: never by the
link's host, since real events carried internal ones. Newer events of captures name the order beside it, among their
``related_ids``.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from verifiers.events import Delivery, DeliveryError, Event
from verifiers.provider import checked_instant

_REVERSED: Final = "PAYMENT.CAPTURE.REVERSED"
_REFUND: Final = frozenset({"refund_id", "capture_id"})
_CAPTURE: Final = frozenset({"capture_id", "order_id"})
CARRIED: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "PAYMENT.CAPTURE.REFUNDED": _REFUND,
        _REVERSED: _CAPTURE,
        "PAYMENT.CAPTURE.PENDING": _CAPTURE,
        "PAYMENT.CAPTURE.DECLINED": _CAPTURE,
        "PAYMENT.CAPTURE.DENIED": _CAPTURE,
        "PAYMENT.CAPTURE.COMPLETED": _CAPTURE,
    }
)

# A link, by its path: the host and what follows the path make no difference.
_LINK = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?://(?:\[[^\]/?#\s]*\]|[^/?#\s\[\]])*)?"
    r"/v2/(payments/captures|payments/authorizations|checkout/orders)/([^/?#\s]+)(?:\?[^#]*)?(?:#.*)?"
)


def event_type(delivery: Delivery, document: Mapping[str, Any]) -> str:
    """Return the envelope's event type, its envelope checked.

    Raises:
        DeliveryError: there is none, or the envelope's date is impossible (PayPal's own simulator has sent a month 19).
    """
    name = document.get("event_type")
    if not isinstance(name, str) or not name:
        raise DeliveryError("malformed_delivery", "event_type is missing from the body")
    if "create_time" in document:
        checked_instant(document, "create_time")
    return name


def normalise(delivery: Delivery, document: Mapping[str, Any]) -> list[Event]:
    """Read the event of a refund (its id, its capture, its birth) or of a capture (its id, its order, its birth).

    A reversal's resource is a refund in every recorded body; a capture would do, too. It is an event of the capture.

    Returns:
        The event; none where an authorization was captured that belongs to no order, or where a reversal names none,
        since a capture is watched by its order.

    Raises:
        DeliveryError: an identifier is missing or contradicts another, or a date is impossible.
    """
    name = event_type(delivery, document)
    resource = document.get("resource")
    if not isinstance(resource, Mapping):
        raise DeliveryError("malformed_delivery", "resource is missing from the body")
    resource_id = resource.get("id")
    if not isinstance(resource_id, str) or not resource_id:
        raise DeliveryError("malformed_delivery", "resource.id is missing from the body")
    parents = dict(_parents(resource))
    if CARRIED.get(name) == _CAPTURE:
        order_id = _order_id(resource, parents.get("checkout/orders"))
        if order_id is None and (name == _REVERSED or "payments/authorizations" in parents):
            return []
        capture_id: str | None = resource_id
        if name == _REVERSED and document.get("resource_type") != "capture":
            capture_id = parents.get("payments/captures")
        identifiers = {"capture_id": capture_id, "order_id": order_id}
    else:
        identifiers = {"refund_id": resource_id, "capture_id": parents.get("payments/captures")}
    return [
        Event(
            id=str(document.get("id", "")),
            type=name,
            resource_id=resource_id,
            created_at=checked_instant(resource, "create_time", "resource.create_time"),
            identifiers={kind: value for kind, value in identifiers.items() if value is not None},
        )
    ]


def _parents(resource: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Go through what the ``up`` links name, the first last: of several of one kind it is the one that counts."""
    links = resource.get("links")
    for link in reversed(links if isinstance(links, list) else []):
        href = link.get("href") if isinstance(link, Mapping) and link.get("rel") == "up" else None
        if isinstance(href, str) and (found := _LINK.fullmatch(href)):
            yield found[1], found[2]


def _order_id(resource: Mapping[str, Any], linked: str | None) -> str | None:
    """Return a capture's order, from its related ids or its link."""
    named: Any = resource
    for member in ("supplementary_data", "related_ids", "order_id"):
        named = named.get(member) if isinstance(named, Mapping) else None
    if named is None:
        return linked
    if not isinstance(named, str) or not named:
        raise DeliveryError("malformed_delivery", "resource.supplementary_data.related_ids.order_id is no text")
    if linked not in (None, named):
        raise DeliveryError(
            "identifiers_disagree", f"the capture's related ids name the order {named}, its link names {linked}"
        )
    return named
