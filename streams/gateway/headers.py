"""Which of a delivery's HTTP headers are put on the topic, and what the worker will make of them."""

from collections.abc import Iterable
from typing import Final

from streams.intake import ARRIVED_HEADER, CONNECTION_HEADER

RawHeaders = Iterable[tuple[bytes, bytes]]
KafkaHeaders = list[tuple[str, bytes]]

# Of one connection only (RFC 9110, section 7.6.1), with those that `Connection` names.
_HOP_BY_HOP: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"expect")
)
# What a browser or a proxy proves itself with is nobody's business who may read a topic.
_SECRET: Final = frozenset(
    (
        b"authorization",
        b"cookie",
        b"cookie2",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"set-cookie",
        b"x-api-key",
        b"x-auth-token",
        b"x-csrf-token",
        b"x-forwarded-client-cert",
        b"x-shopify-access-token",
    )
)
_OURS: Final = frozenset((CONNECTION_HEADER.encode(), ARRIVED_HEADER.encode()))
_OUR_PREFIX: Final = b"dead_letter_"


def storable(raw: RawHeaders) -> KafkaHeaders:
    """Return the headers that are put on the topic: names in lower case, values byte for byte, in their order.

    Left out are those of the connection, those that carry secrets, and names that proofstream gives itself: a sender
    must not say for which connection a delivery is, or when it came.
    """
    lowered = [(name.lower(), value) for name, value in raw]
    named = {
        token.strip(b" \t").lower() for name, value in lowered if name == b"connection" for token in value.split(b",")
    }
    left_out = _HOP_BY_HOP | _SECRET | _OURS | named
    return [
        (name.decode("ascii"), value)
        for name, value in lowered
        if name not in left_out and not name.startswith(_OUR_PREFIX) and name.isascii()
    ]


def as_intake_sees(headers: KafkaHeaders) -> dict[str, str]:
    """Return the headers as the worker's intake reads them: latin-1, and of several of one name the last.

    A delivery is authenticated by these. What passes here passes there, whatever a sender repeats.
    """
    return {name: value.decode("latin-1") for name, value in headers}
