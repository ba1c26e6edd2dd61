"""A delivery as a provider sends it, on its way to a gateway and into Kafka."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Self

from streams.intake import ARRIVED_HEADER, CONNECTION_HEADER
from verifiers.events import Delivery


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """One HTTP request of a provider to a webhook's address: the headers under their own names, the raw body."""

    headers: Mapping[str, str]
    body: bytes

    def with_flipped_byte(self, position: int) -> Self:
        """Return the request as somebody on the way would forge it: the lowest bit of one byte is another."""
        body = bytearray(self.body)
        body[position] ^= 1
        return replace(self, body=bytes(body))

    def delivery(self, connection: str, arrived_at: datetime | None = None) -> Delivery:
        """Return what the project makes of the request."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        arrived_ms = int(arrived_at.timestamp() * 1000) if arrived_at is not None else 0
        return Delivery(connection, headers, self.body, arrived_ms)

    def kafka_headers(self, connection: str, arrived_at: datetime) -> list[tuple[str, bytes]]:
        """Return the headers that a gateway produces to the topic `webhooks` with the body."""
        arrived = arrived_at.astimezone(UTC).isoformat().replace("+00:00", "Z")
        added = {CONNECTION_HEADER: connection, ARRIVED_HEADER: arrived}
        return [(name, value.encode("latin-1")) for name, value in {**self.headers, **added}.items()]
