"""What no stage can take, one dead letter each, and what none wants, none at all: beside what is good, in its name."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from streams.requeued import REQUEUED_HEADER
from streams.simulation.webhooks import WebhookRequest
from tests.faults.expected import CONSUMED, IGNORED, Fate, refused
from tests.faults.twists import with_body
from tests.faults.upstream import Outgoing

Bad = tuple[Outgoing, Fate]
_CASE = b"case/acme/order_id/poison-%d"
_TICK = b'{"kind":"tick","at":1}'

# What no topic's reader can make anything of, and its class on each topic.
_JUNK: Final[tuple[tuple[bytes | None, str], ...]] = (
    (None, "not_json"),
    (b"", "not_json"),
    (b"\xff\xfe", "not_json"),
    (b"{}", "malformed_delivery"),
    (b'{"kind":"tick","at":"x"}', "malformed_delivery"),
)


def poison() -> Iterator[Bad]:
    """Yield what no stage can read, for every topic that one reads."""
    for number, (value, as_delivery) in enumerate(_JUNK):
        fates = dict(
            zip(
                CONSUMED,
                (
                    refused("malformed_operation"),
                    refused(as_delivery),
                    refused("malformed_message", "decide"),
                    refused("malformed_message", "readback"),
                ),
                strict=True,
            )
        )
        for topic, fate in fates.items():
            yield Outgoing(topic, value, _CASE % number, (("connection_id", b"pp"),)), fate
    yield Outgoing("webhooks", None), refused("unknown_connection")
    yield Outgoing("cases", _TICK), refused("malformed_message", "decide")
    yield Outgoing("cases", _TICK, b"case/\xff"), refused("malformed_message", "decide")
    yield Outgoing("cases", _TICK, b"elsewhere/1"), refused("wrong_row", "decide")
    yield Outgoing("cases", _TICK, b"case/acme/order_id/nobody's"), IGNORED
    yield Outgoing("cases", _TICK, b"operation/nobody's"), IGNORED
    yield Outgoing("readbacks", _TICK), refused("malformed_message", "readback")


def bad_operations(good: dict[str, Any], number: int) -> list[Bad]:
    """Make of a good operation those that must be refused. None has the good one's id, so none may get a verdict."""
    asked: dict[str, Any] = good | {"operation_id": f"bad-{number}"}
    inputs, now, long = asked["input"], datetime.now(UTC), "R" * 256
    plain = orjson.dumps(asked)

    def written(**changes: Any) -> bytes:
        return json.dumps(asked | changes).encode()

    def put_in(**changes: Any) -> bytes:
        return written(input=inputs | changes)

    values = [
        ("malformed_operation", b"\xef\xbb\xbf" + plain),
        ("malformed_operation", plain.replace(b'"bad-', b'"\\ud800bad-')),
        ("malformed_operation", plain.replace(b'"bad-', b'"\xed\xa0\x80bad-')),
        ("malformed_operation", b"[" + plain + b"]"),
        ("malformed_operation", plain + plain),
        ("malformed_operation", plain[:-1] + b',"x":NaN}'),
        ("malformed_operation", plain[:-1] + b',"x":1e400}'),
        ("malformed_operation", plain[:-1] + b',"x":' + b"[" * 2000 + b"]" * 2000 + b"}"),
        *(("malformed_operation", written(operation_id=bad)) for bad in _bad_ids(number)),
        ("malformed_operation", written(input=[inputs])),
        ("malformed_operation", written(action="done")),
        ("malformed_operation", written(action={"result": {"id": long, "refundCreate": {"refund": {"id": long}}}})),
        ("too_large", written(note="x" * 300_000)),
        ("unknown_contract", written(contract="calm.nothing")),
        ("unknown_version", written(contract_version="1.0")),
        ("unknown_connection", written(connection="ACME")),
        ("wrong_provider", written(connection="pp" if asked["connection"] == "acme" else "acme")),
        ("impossible_date", written(created_at="2026-19-12T08:42:18Z")),
        ("impossible_date", written(created_at="2026-12-03 08:42:18")),
        ("impossible_date", written(created_at="1969-12-31T23:59:59Z")),
        ("impossible_date", written(created_at=(now + timedelta(days=2)).isoformat())),
        ("missing_input", put_in(amount=None)),
        *(("wrong_input_type", put_in(amount=bad)) for bad in (42.5, 1e2, "1e2", "+1", "9" * 65, "٤٢", "1,00", "")),
    ]
    if "order_id" in inputs:
        bad_orders = (1.0, 1e2, True, -5, 2**64, "1.0", "gid://shopify/Order/", "1\n")
        values += [("wrong_input_type", put_in(order_id=bad)) for bad in bad_orders]
    else:
        values += [("wrong_input_type", put_in(currency_code=bad)) for bad in ("usd", "USD\n", 840)]
        values += [("wrong_input_type", put_in(capture_id=bad)) for bad in (1, "\x00", "C" * 256)]
    found = [(Outgoing("operations", value, f"bad-{number}".encode()), refused(class_)) for class_, value in values]
    for class_, places in (
        ("ambiguous_header", (b"operations/0/0", b"operations/0/0")),
        ("malformed_message", (b"operations/0/0",)),  # without the prefix: no topic of this system
        ("malformed_message", (b"\xff",)),
    ):
        headers = tuple((REQUEUED_HEADER, place) for place in places)
        found.append((Outgoing("operations", plain, f"bad-{number}".encode(), headers), refused(class_)))
    return found


def _bad_ids(number: int) -> tuple[Any, ...]:
    plain = f"bad-{number}"
    return ("", f"{plain}\n", f"\x00{plain}", f"\x7f{plain}", plain.ljust(201, "x"), number, None)


def bad_deliveries(request: WebhookRequest, connection: str) -> list[Bad]:
    """Make of a good delivery those that must be refused, or ignored. None may count for its refund."""
    own = {"connection_id": connection.encode(), "arrived_at": datetime.now(UTC).isoformat().encode()}

    def delivered(body: bytes | None = request.body, more: Any = (), **changes: str | None) -> Outgoing:
        """Write a delivery: HTTP headers' underscores stand for hyphens, None takes one away."""
        signed = with_body(request, body) if body is not None else request
        named = {name.replace("_", "-"): value for name, value in changes.items()}
        headers = {name: value for name, value in (dict(signed.headers) | named).items() if value is not None}
        given = {name: value.encode("latin-1") for name, value in headers.items()} | own
        return Outgoing("webhooks", body, None, (*given.items(), *more))

    document = orjson.loads(request.body)

    def written(**changes: Any) -> bytes:
        return json.dumps(document | changes).encode()

    twice, plain = (("connection_id", b"acme"),), delivered()
    without = tuple(one for one in plain.headers if one[0] != "connection_id")
    found: list[tuple[str, Outgoing]] = [
        ("unknown_connection", Outgoing("webhooks", request.body, None, without)),
        ("unknown_connection", Outgoing("webhooks", request.body, None, (*without, ("connection_id", b"\xff")))),
        ("ambiguous_header", delivered(more=twice)),
        ("ambiguous_header", delivered(more=(("ARRIVED_AT", b"2026-01-01T00:00:00Z"),))),
        ("impossible_date", Outgoing("webhooks", request.body, None, _stamped(plain, b"yesterday"))),
        ("impossible_date", Outgoing("webhooks", request.body, None, _stamped(plain, b"1969-12-31T23:59:59Z"))),
        ("malformed_message", delivered(more=((REQUEUED_HEADER, b"nowhere"),))),
        ("not_json", delivered(b"[" + request.body + b"]")),
        ("not_json", delivered(b"\xef\xbb\xbf\xef\xbb\xbf" + request.body)),
        ("not_json", delivered(request.body + b"\x00")),
        ("not_json", delivered(request.body[:-1] + b',"x":"\\udc00"}')),
        ("not_json", delivered(request.body[:-1] + b',"x":' + b"[" * 2000 + b"]" * 2000 + b"}")),
    ]
    if connection == "pp":
        resource = document["resource"]
        found += [
            ("malformed_delivery", delivered(written(event_type=None))),
            ("malformed_delivery", delivered(written(resource=[resource]))),
            ("malformed_delivery", delivered(written(resource=resource | {"id": 1e2}))),
            ("malformed_delivery", delivered(written(resource=resource | {"id": "R" * 256}))),
            ("impossible_date", delivered(written(create_time="2026-19-12T08:42:18Z"))),
            ("impossible_date", delivered(written(resource=resource | {"create_time": "today"}))),
            ("no_subject", delivered(written(resource=resource | {"links": resource["links"][:1]}))),
        ]
        others = [delivered(written(event_type=name)) for name in ("BILLING.PLAN.CREATED", "ÄNDERUNG\u2028")]
    else:
        found += [
            ("not_authentic", Outgoing("webhooks", request.body + b" ", None, plain.headers)),
            ("not_authentic", delivered(X_Shopify_Shop_Domain="another.myshopify.com")),
            ("not_authentic", delivered(X_Shopify_Shop_Domain=None)),
            ("not_authentic", delivered(X_Shopify_Hmac_Sha256=None)),
            ("not_authentic", delivered(X_Shopify_Hmac_Sha256="")),
            ("not_authentic", delivered(X_Shopify_Hmac_Sha256="é")),
            ("malformed_delivery", delivered(X_Shopify_Topic=None)),
            ("malformed_delivery", delivered(written(id=float(document["id"])))),
            ("malformed_delivery", delivered(written(id=True))),
            ("malformed_delivery", delivered(written(order_id=2**63))),
            ("malformed_delivery", delivered(written(order_id=None))),
            ("identifiers_disagree", delivered(written(id=document["id"] + 1))),
            ("impossible_date", delivered(written(created_at="2026-02-30T08:42:18Z"))),
        ]
        others = [delivered(X_Shopify_Topic=name) for name in ("customers/create", "refunds/create/x")]
    return [(record, refused(class_)) for class_, record in found] + [(record, IGNORED) for record in others]


def _stamped(record: Outgoing, stamp: bytes) -> tuple[tuple[str, bytes | None], ...]:
    return (*(one for one in record.headers if one[0] != "arrived_at"), ("arrived_at", stamp))
