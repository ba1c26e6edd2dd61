"""A delivery through the app: what is put on the topic, and what is answered."""

import gzip
import logging
from collections.abc import AsyncIterator

import pytest
from gate import CONNECTIONS, SECRET, TOKEN, consumed, make_gate, signature, signed
from hypothesis import given
from hypothesis import strategies as st

from streams.gateway.app import create_app
from streams.gateway.publisher import NotAcknowledged
from streams.intake import _headers
from verifiers.connection import INLINE_SECRETS
from verifiers.connections import parse_connection

BODY = b'{"id": 1, "order_id": 2}'
ODD_BODIES = {
    "a slash as PHP writes it": rb'{"a": "\/"}',
    "a line separator": '{"a": "\u2028"}'.encode(),
    "a byte-order mark": b"\xef\xbb\xbf{}",
    "compressed": gzip.compress(b"{}"),
    "a carriage return": b"{}\r\n",
    "nothing": b"",
    "no text": bytes(range(256)),
}


async def in_chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_a_signed_delivery_is_on_the_topic_and_then_answered_200():
    gate = make_gate()

    answer = await gate.deliver(BODY, signed(BODY))

    assert (answer.status_code, answer.content) == (200, b"")
    ((value, headers),) = gate.kafka.records
    assert value == BODY
    assert dict(headers)["connection_id"] == b"acme"
    assert dict(headers)["x-shopify-topic"] == b"refunds/create"


@pytest.mark.parametrize("body", ODD_BODIES.values(), ids=ODD_BODIES)
async def test_bytes_stay_as_they_are_whatever_they_are(body: bytes):
    gate = make_gate()
    more = [(b"Content-Encoding", b"gzip"), (b"Content-Type", b"application/json; charset=utf-16")]

    answer = await gate.deliver(body, signed(body, more=more))

    assert answer.status_code == 200
    assert gate.kafka.records[0][0] == body


@given(st.lists(st.binary(max_size=2000), max_size=5))
async def test_any_bytes_in_any_chunks_stay_as_they_are(parts: list[bytes]):
    gate, whole = make_gate(), b"".join(parts)

    answer = await gate.deliver(in_chunks(*parts), signed(whole))

    assert answer.status_code == 200
    assert gate.kafka.records[0][0] == whole


@given(st.binary(min_size=1, max_size=300), st.data())
async def test_a_flipped_bit_anywhere_is_401_and_nothing_on_the_topic(body: bytes, data: st.DataObject):
    gate, forged = make_gate(), bytearray(body)
    forged[data.draw(st.integers(0, len(body) - 1))] ^= 1 << data.draw(st.integers(0, 7))

    answer = await gate.deliver(bytes(forged), signed(body))

    assert answer.status_code == 401
    assert gate.kafka.records == []


async def test_what_is_refused_is_told_as_a_problem_without_secrets(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    gate = make_gate()

    answer = await gate.deliver(BODY, signed(BODY, "another secret"))

    assert answer.headers["content-type"] == "application/problem+json"
    assert "www-authenticate" in answer.headers
    assert answer.json() == {
        "type": "urn:proofstream:problem:not_authentic",
        "title": "Not authentic",
        "status": 401,
        "detail": "The signature does not hold for this body and connection.",
    }
    assert "acme - 401" in caplog.text
    assert SECRET not in caplog.text
    assert "order_id" not in caplog.text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/webhooks/nobody", 404),
        ("POST", "/webhooks/acme/", 404),
        ("POST", "/webhooks/acme%2Fx", 404),
        ("POST", "/webhooks/", 404),
        ("POST", "/", 404),
        ("GET", "/webhooks/acme", 405),
        ("PUT", "/webhooks/acme", 405),
        ("OPTIONS", "/webhooks/acme", 405),
    ],
)
async def test_other_addresses_and_methods_are_refused(method: str, path: str, status: int):
    gate = make_gate()

    answer = await gate.request(method, path, content=BODY, headers=signed(BODY))

    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers.get("allow") == ("POST" if status == 405 else None)
    assert gate.kafka.records == []


@pytest.mark.parametrize("error", [NotAcknowledged("Kafka: NotLeaderForPartition"), RuntimeError("anything")])
async def test_what_kafka_has_not_acknowledged_is_never_answered_200(error: Exception):
    gate = make_gate()
    gate.kafka.error = error

    answer = await gate.deliver(BODY, signed(BODY))

    assert answer.status_code == (503 if isinstance(error, NotAcknowledged) else 500)
    assert "anything" not in answer.text


async def test_a_silent_kafka_is_answered_for_in_time():
    gate = make_gate(answer_within_s=0.1)
    gate.kafka.answers.clear()

    answer = await gate.deliver(BODY, signed(BODY))

    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0


async def test_the_log_has_one_line_for_each_delivery(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "proofstream.gateway")
    gate = make_gate()

    await gate.deliver(BODY, signed(BODY))
    await gate.deliver(BODY, to="nobody%0Aelse")

    taken, unknown = caplog.messages
    assert taken.startswith("acme REFUNDS_CREATE 200 ")
    assert taken.endswith(f" ms {len(BODY)} bytes webhooks/0/0")
    assert unknown.startswith(r"'nobody\nelse' - 404 ")


async def test_a_trusted_connection_is_not_served_to_just_anybody():
    gate = make_gate()

    answer = await gate.deliver(BODY, signed(BODY), to="believed")

    assert (answer.status_code, answer.json()["type"]) == (403, "urn:proofstream:problem:not_verifiable")
    assert gate.kafka.records == []


@pytest.mark.parametrize(
    ("given_headers", "status"),
    [
        ([], 401),
        ([(b"Authorization", f"Bearer {TOKEN[:-1]}".encode())], 401),
        ([(b"Authorization", f"Basic {TOKEN}".encode())], 401),
        ([(b"Authorization", b"Bearer ")], 401),
        ([(b"Authorization", b"\xff\xfe")], 401),
        ([(b"Authorization", f"bearer  {TOKEN} ".encode())], 200),
    ],
)
async def test_a_trusted_connection_is_served_to_who_knows_the_token(
    given_headers: list[tuple[bytes, bytes]], status: int, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    gate = make_gate(trusted_token=TOKEN)

    answer = await gate.deliver(BODY, given_headers, to="believed")

    assert answer.status_code == status
    assert len(gate.kafka.records) == (status == 200)
    assert TOKEN not in caplog.text
    assert TOKEN.encode() not in b"".join(value for _, headers in gate.kafka.records for _, value in headers)


async def test_the_token_opens_no_other_connection():
    gate = make_gate(trusted_token=TOKEN)

    answer = await gate.deliver(BODY, [(b"Authorization", f"Bearer {TOKEN}".encode())])

    assert answer.status_code == 401


async def test_a_sender_cannot_say_for_whom_or_when_a_delivery_is():
    gate = make_gate()
    hostile = [
        (b"connection_id", b"another"),
        (b"Connection_ID", b"another"),
        (b"ARRIVED_AT", b"2001-01-01T00:00:00Z"),
        (b"dead_letter_stage", b"intake"),
        (b"Cookie", b"session=1"),
        (b"Authorization", b"Basic eDp5"),
        (b"Proxy-Authorization", b"Basic eDp5"),
        (b"Connection", b"close, X-Hop"),
        (b"X-Hop", b"1"),
        (b"X-Forwarded-For", b"203.0.113.9"),
        (b"X-Name", b"Jos\xe9 \xff"),
        (b"X-Twice", b"1"),
        (b"X-Twice", b"2"),
    ]

    answer = await gate.deliver(BODY, signed(BODY, more=hostile))

    assert answer.status_code == 200
    ((value, headers),) = gate.kafka.records
    names = [name for name, _ in headers]
    assert names.count("connection_id") == names.count("arrived_at") == 1
    assert not {"cookie", "authorization", "proxy-authorization", "connection", "x-hop", "dead_letter_stage"} & {*names}
    assert [one for name, one in headers if name == "x-twice"] == [b"1", b"2"]
    assert dict(headers)["x-name"] == b"Jos\xe9 \xff"
    read = _headers(consumed(value, headers))
    assert read["connection_id"] == "acme"
    assert not read["arrived_at"].startswith("2001")


async def test_a_signature_is_checked_as_the_worker_will_check_it():
    gate = make_gate()
    twice = [(b"X-Shopify-Hmac-Sha256", b"forged"), *signed(BODY)]

    good_last = await gate.deliver(BODY, twice)
    good_first = await gate.deliver(BODY, twice[::-1])

    assert (good_last.status_code, good_first.status_code) == (200, 401)


async def test_ready_is_told_apart_from_alive():
    gate = make_gate()
    gate.kafka.ready = False

    assert (await gate.request("GET", "/healthz")).status_code == 200
    assert (await gate.request("GET", "/readyz")).status_code == 503
    gate.kafka.ready = True
    assert (await gate.request("GET", "/readyz")).status_code == 200


TEAMS = {
    "id": "teams",
    "provider": "teams",
    "webhook_auth": {
        "hmac": {"header": "Authorization", "prefix": "HMAC ", "encoding": "base64", "secrets": [SECRET]},
    },
    "events": {
        "type": "type",
        "types": {
            "made": {"resource": "id", "created": {"path": "at", "form": "rfc3339"}, "identifiers": {"refund_id": "id"}}
        },
    },
}


async def test_a_provider_that_signs_in_a_header_of_secrets_is_verified_and_its_signature_is_kept():
    gate = make_gate(trusted_token=TOKEN)
    connection = parse_connection(TEAMS, "tests", INLINE_SECRETS)
    gate.app = create_app(gate.settings, {**CONNECTIONS, "teams": connection}, gate.kafka)  # type: ignore[arg-type]
    authorization = b"HMAC " + signature(BODY)

    forged = await gate.deliver(BODY, [(b"Authorization", authorization[:-4] + b"AAA=")], to="teams")
    signed_ = await gate.deliver(BODY, [(b"Authorization", authorization), (b"Cookie", b"a=b")], to="teams")

    assert (forged.status_code, signed_.status_code) == (401, 200)
    ((_, headers),) = gate.kafka.records
    assert dict(headers)["authorization"] == authorization
    assert "cookie" not in dict(headers)


async def test_a_trusted_connections_token_is_not_kept_whatever_it_declares():
    gate = make_gate(trusted_token=TOKEN)
    events = {**TEAMS["events"], "type": {"header": "Authorization"}}  # type: ignore[dict-item]
    connection = parse_connection({**TEAMS, "webhook_auth": "trusted", "events": events}, "tests", INLINE_SECRETS)
    gate.app = create_app(gate.settings, {"teams": connection}, gate.kafka)  # type: ignore[arg-type]

    answer = await gate.deliver(BODY, [(b"Authorization", f"Bearer {TOKEN}".encode())], to="teams")

    assert answer.status_code == 200
    assert "authorization" not in dict(gate.kafka.records[0][1])
