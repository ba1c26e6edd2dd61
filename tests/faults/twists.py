"""Ways to write what means the same: ids, JSON, headers and places in Kafka that are legal, and that nobody expects."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

import orjson

from streams.simulation.webhooks import WebhookRequest
from tests.faults.upstream import Outgoing
from tests.integration.system import SECRET

Headers = list[tuple[str, bytes | None]]
_SIGNATURE = "X-Shopify-Hmac-Sha256"
_LATER = timedelta(hours=1)

# -- ids of operations: up to 200 characters, of any kind but controls

IDS: Final[tuple[Callable[[int], str], ...]] = (
    lambda number: f"op-{number}",
    lambda number: f"{number:0>200}",
    lambda number: f"{number}{chr(0x1F600) * 190}",  # 4 bytes each
    lambda number: f"\\ud83d{number}\\u0000",  # escapes, written out
    lambda number: f"\ufeff{number}\u2028\u2029\x85\x9f",  # what some take for the end of a line
    lambda number: f"\u202e{number}\u200b e\u0301 \u00e9",
    lambda number: f"operation/case/acme/order_id/{number}",
    lambda number: f' ../"{number}"\'%00\\?#&<>{{}} ',
)


# -- JSON objects, from their compact form


def _as_it_is(body: bytes) -> bytes:
    return body


def _by_lines(body: bytes) -> bytes:
    return (json.dumps(orjson.loads(body), ensure_ascii=False, indent="\t") + "\n").replace("\n", "\r\n").encode()


def _escaped(body: bytes) -> bytes:
    return json.dumps(orjson.loads(body), ensure_ascii=True).encode()


def _twice(body: bytes) -> bytes:
    """Name each member twice: the last one counts, as for most who read JSON."""
    before = json.dumps(dict.fromkeys(orjson.loads(body), "somebody else's")).encode()
    return before[:-1] + b"," + body[1:]


def _with_more(body: bytes) -> bytes:
    more = rb',"\ud83d\ude00":1e2,"\u0000":[1.0,-0.0e-3,1E+300],"":123456789012345678901234567890,"deep":' + b"[" * 900
    return body[:-1] + more + b"]" * 900 + b"}"


WRITINGS: Final = (_as_it_is, _by_lines, _escaped, _twice, _with_more)


def _marked(body: bytes) -> bytes:
    return b"\xef\xbb\xbf" + body


BODIES: Final = (*WRITINGS, _marked)


def with_body(request: WebhookRequest, body: bytes) -> WebhookRequest:
    """Return a delivery with another body, signed as the provider would."""
    headers = dict(request.headers)
    if _SIGNATURE in headers:
        headers[_SIGNATURE] = base64.b64encode(hmac.digest(SECRET.encode(), body, hashlib.sha256)).decode()
    return WebhookRequest(headers, body)


# -- headers of deliveries, from those that a gateway gives them

_OWN = ("connection_id", "arrived_at")


def _untouched(headers: Headers) -> Headers:
    return headers


def _in_capitals(headers: Headers) -> Headers:
    return [(name.upper(), value) for name, value in headers]


def _each_twice(headers: Headers) -> Headers:
    return [one for one in headers if one[0] not in _OWN] + headers


def _with_strangers(headers: Headers) -> Headers:
    """Add what a sender may add: bytes that are no text, and names that others use."""
    names = ("dead_letter_stage", "dead_letter_class", "dead_letter_topic", "dead_letter_requeued", "ce_id")
    return [("", b""), ("X-Name", b"\xe9\xff\x00"), ("X-Null", None), *((name, b"cases") for name in names), *headers]


def _unstamped(headers: Headers) -> Headers:
    return [one for one in headers if one[0] != "arrived_at"]


def _ahead(headers: Headers) -> Headers:
    """Have a gateway whose clock is ahead."""
    return [*_unstamped(headers), ("arrived_at", (datetime.now(UTC) + _LATER).isoformat().encode())]


def _elsewhere(headers: Headers) -> Headers:
    """Have a gateway in another time zone, with a finer clock."""
    stamped = dict(headers)["arrived_at"]
    assert stamped is not None
    local = datetime.fromisoformat(stamped.decode()).astimezone(timezone(timedelta(hours=5, minutes=45)))
    return [*_unstamped(headers), ("arrived_at", local.strftime("%Y-%m-%dt%H:%M:%S.%f999+05:45").encode())]


HEADERS: Final = (_untouched, _in_capitals, _each_twice, _with_strangers, _unstamped, _ahead, _elsewhere)


# -- places in Kafka


def _where_it_belongs(record: Outgoing) -> Outgoing:
    return record


def _without_a_key(record: Outgoing) -> Outgoing:
    return replace(record, key=None)


def _with_an_empty_key(record: Outgoing) -> Outgoing:
    return replace(record, key=b"")


def _with_a_key_that_is_no_text(record: Outgoing) -> Outgoing:
    return replace(record, key=b"\xff\x00\xfe")


def _in_a_partition_of_its_own_choice(record: Outgoing) -> Outgoing:
    return replace(record, partition=len(record.value or b"") % 4)


def _with_headers(record: Outgoing) -> Outgoing:
    return replace(record, headers=(*record.headers, ("trace", b"\xff"), ("trace", None), ("", b"1")))


PLACES: Final = (
    _where_it_belongs,
    _without_a_key,
    _with_an_empty_key,
    _with_a_key_that_is_no_text,
    _in_a_partition_of_its_own_choice,
    _with_headers,
)
