"""A provider that is declared in its connection: Stripe, as far as refunds go."""

from typing import Any

import pytest

from verifiers.connection import INLINE_SECRETS, Connection
from verifiers.connections import ConnectionsError, parse_connection

SENT_S = 1773330173
ARRIVED_MS = SENT_S * 1000 + 700
BODY = b'{"id":"evt_1","type":"refund.created","note":"Caf\xc3\xa9"}'

REFUND = {
    "resource": "data.object.id",
    "created": {"path": "data.object.created", "form": "unix_s"},
    "identifiers": {"refund_id": "data.object.id", "charge_id": "data.object.charge"},
}
CHARGE = {
    "resource": "data.object.refunds.data[0].id",
    "created": {"path": "data.object.refunds.data[0].created", "form": "unix_s"},
    "identifiers": {"refund_id": "data.object.refunds.data[0].id", "charge_id": "data.object.id"},
}
EVENTS: dict[str, Any] = {
    "id": "id",
    "type": "type",
    "types": {"refund.created": REFUND, "refund.updated": REFUND, "charge.refunded": CHARGE},
}
DOCUMENT: dict[str, Any] = {
    "id": "shop",
    "provider": "stripe",
    "base_url": "https://api.stripe.com",
    "credentials": {"bearer": "sk_test_TOKEN"},
    "webhook_auth": "trusted",
    "events": EVENTS,
}


def declared(**changes: Any) -> Connection:
    """A connection that declares its provider; ``...`` drops a member."""
    document = {name: value for name, value in (DOCUMENT | changes).items() if value is not ...}
    return parse_connection(document, "test", INLINE_SECRETS)


def problem(**changes: Any) -> str:
    """What is wrong with such a connection."""
    with pytest.raises(ConnectionsError) as caught:
        declared(**changes)
    return str(caught.value)
