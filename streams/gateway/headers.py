"""Which of a delivery's HTTP headers are put on the topic, and what the worker will make of them."""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from streams.intake import ARRIVED_HEADER, CONNECTION_HEADER
from verifiers.connection import Connection

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


def storable(raw: RawHeaders, signed: AbstractSet[bytes] = frozenset()) -> KafkaHeaders:
    """Return the headers that are put on the topic: names in lower case, values byte for byte, in their order.

    Left out are those of one HTTP connection, those that carry secrets, and names that proofstream gives itself: a
    sender must not say for which account a delivery is, or when it came.

    Args:
        raw: the request's headers.
        signed: names that are kept although secrets go by them, see :func:`signed_in`.
    """
    lowered = [(name.lower(), value) for name, value in raw]
    named = {
        token.strip(b" \t").lower() for name, value in lowered if name == b"connection" for token in value.split(b",")
    }
    left_out = _HOP_BY_HOP | (_SECRET - signed) | _OURS | named
    return [
        (name.decode("ascii"), value)
        for name, value in lowered
        if name not in left_out and not name.startswith(_OUR_PREFIX) and name.isascii()
    ]


def signed_in(connection: Connection) -> frozenset[bytes]:
    """Return the names of the headers that a connection declares its deliveries to be read from, in lower case.

    Some providers sign in ``Authorization``. A signature opens nothing else, and the worker has to see it. On a trusted
    connection that header is the gateway's token.
    """
    declared = connection.model_dump(include={"webhook_auth", "events"})
    if declared.get("webhook_auth") == "trusted":
        return frozenset()
    return frozenset(name.lower().encode() for name in _headers_in(declared))


def _headers_in(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        for name, value in part.items():
            if name == "header" and isinstance(value, str):
                yield value
            else:
                yield from _headers_in(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _headers_in(value)


def as_intake_sees(headers: KafkaHeaders) -> dict[str, str]:
    """Return the headers as the worker's intake reads them: latin-1, and of several of one name the last.

    A delivery is authenticated by these. What passes here passes there, whatever a sender repeats.
    """
    return {name: value.decode("latin-1") for name, value in headers}
