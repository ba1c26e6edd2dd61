"""How declared providers sign: Standard Webhooks, and HMACs as those of Stripe, Slack and GitHub."""

import base64
import hashlib
import hmac
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from declarations import ARRIVED_MS, BODY, SENT_S, declared, problem
from hypothesis import given, settings
from hypothesis import strategies as st

from verifiers.connection import Connection
from verifiers.events import Delivery, NotAuthentic
from verifiers.providers import provider_of

# The vector of the specification's own libraries.
WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER_WHSEC = f"whsec_{base64.b64encode(b'o' * 24).decode()}"
VECTOR = Delivery(
    "shop",
    {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
    b'{"test": 2432232314}',
    1614265330_000,
)
SECRET = "whsec_test_secret"  # Stripe's begin so, too, and are used as they are


def standard(secrets: Any = (WHSEC,), **more: Any) -> Connection:
    return declared(webhook_auth={"standard_webhooks": {"secrets": list(secrets), **more}})


def by_hmac(**scheme: Any) -> Connection:
    return declared(webhook_auth={"hmac": {name: value for name, value in scheme.items() if value is not None}})


STRIPE = {
    "header": "Stripe-Signature",
    "secrets": [SECRET],
    "encoding": "hex",
    "field": "v1",
    "timestamp": {"field": "t"},
}
SLACK = {
    "header": "X-Slack-Signature",
    "secrets": [SECRET],
    "encoding": "hex",
    "prefix": "v0=",
    "timestamp": {"header": "X-Slack-Request-Timestamp"},
    "signed": "v0:{timestamp}:{body}",
}
GITHUB = {"header": "X-Hub-Signature-256", "secrets": [SECRET], "encoding": "hex", "prefix": "sha256="}
BASE64 = {"header": "X-Signature", "secrets": [SECRET], "encoding": "base64", "algorithm": "sha512"}


def mac(text: bytes, secret: str = SECRET, digest: str = "sha256") -> bytes:
    return hmac.digest(secret.encode(), text, digest)


def delivery(headers: dict[str, str], body: bytes = BODY, arrived_ms: int = ARRIVED_MS) -> Delivery:
    return Delivery("shop", {name.lower(): value for name, value in headers.items()}, body, arrived_ms)


def stripe(body: bytes = BODY, sent: str = str(SENT_S), secret: str = SECRET, extra: str = "") -> Delivery:
    signature = mac(f"{sent}.".encode() + body, secret).hex()
    return delivery({"Stripe-Signature": f"t={sent},v1={signature}{extra}"}, body)


def slack(sent: str = str(SENT_S)) -> Delivery:
    signature = mac(f"v0:{sent}:".encode() + BODY).hex()
    return delivery({"X-Slack-Signature": f"v0={signature}", "X-Slack-Request-Timestamp": sent})


def signed_standard(
    secret: str = WHSEC, body: bytes = BODY, sent: str = str(SENT_S), identity: str = "msg_1"
) -> Delivery:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signature = base64.b64encode(hmac.digest(key, f"{identity}.{sent}.".encode() + body, "sha256")).decode()
    headers = {"webhook-id": identity, "webhook-timestamp": sent, "webhook-signature": f"v1,{signature}"}
    return delivery(headers, body)


GOOD: dict[str, tuple[Connection, Callable[[], Delivery]]] = {
    "standard": (standard(), signed_standard),
    "stripe": (by_hmac(**STRIPE), stripe),
    "slack": (by_hmac(**SLACK), slack),
    "github": (by_hmac(**GITHUB), lambda: delivery({"X-Hub-Signature-256": f"sha256={mac(BODY).hex()}"})),
    "base64": (
        by_hmac(**BASE64),
        lambda: delivery({"X-Signature": base64.b64encode(mac(BODY, digest="sha512")).decode()}),
    ),
}
KINDS = sorted(GOOD)


def authenticate(one: Delivery, connection: Connection) -> None:
    provider_of(connection).authenticate(one, connection)


def refusal(one: Delivery, connection: Connection) -> str:
    with pytest.raises(NotAuthentic) as caught:
        authenticate(one, connection)
    assert SECRET not in str(caught.value)
    assert WHSEC not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_signed_is_authentic(kind: str) -> None:
    connection, make = GOOD[kind]
    authenticate(make(), connection)
    assert not connection.needs_certificates


def test_the_specifications_own_vector_verifies() -> None:
    authenticate(VECTOR, standard())


def test_githubs_own_vector_verifies() -> None:
    signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    secrets = ["It's a Secret to Everybody"]
    authenticate(
        delivery({"X-Hub-Signature-256": signature}, b"Hello, World!"), by_hmac(**GITHUB | {"secrets": secrets})
    )


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_flipped_bit_of_the_body_is_a_forgery(kind: str, data: st.DataObject) -> None:
    connection, make = GOOD[kind]
    body = bytearray(make().body)
    body[data.draw(st.integers(0, len(body) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    refusal(replace(make(), body=bytes(body)), connection)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_any_other_character_of_a_header_is_a_forgery(kind: str, data: st.DataObject) -> None:
    connection, make = GOOD[kind]
    one = make()
    name = data.draw(st.sampled_from(sorted(one.headers)))
    value = one.headers[name]
    position = data.draw(st.integers(0, len(value) - 1))
    old = value[position]
    # Hexadecimal digits count in either case, and the last character of base64 holds bits that nobody reads.
    others = st.characters(max_codepoint=255).filter(lambda new: new.lower() != old.lower())
    changed = value[:position] + data.draw(others) + value[position + 1 :]
    if value.endswith("=") and position == len(value.rstrip("=")) - 1:
        return
    if name == "stripe-signature" and old == ",":
        return  # it may have made a field of another name
    refusal(replace(one, headers={**one.headers, name: changed}), connection)


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_header_is_named(kind: str) -> None:
    connection, make = GOOD[kind]
    for name in make().headers:
        headers = {other: value for other, value in make().headers.items() if other != name}
        assert refusal(replace(make(), headers=headers), connection).lower() == f"the header {name} is missing"


@pytest.mark.parametrize("position", [0, 1, 2])
def test_any_of_the_secrets_is_good_while_they_rotate(position: int) -> None:
    secrets, whsecs = ["older", "oldest", "newest"], [OTHER_WHSEC] * 3
    secrets[position], whsecs[position] = SECRET, WHSEC
    authenticate(stripe(), by_hmac(**STRIPE | {"secrets": secrets}))
    authenticate(signed_standard(), standard(whsecs))


def test_any_of_the_signatures_is_good_while_they_rotate() -> None:
    authenticate(stripe(extra=f",v1={'0' * 64},v0={'1' * 64},x"), by_hmac(**STRIPE))
    one = signed_standard()
    right = one.headers["webhook-signature"]
    for several in (f"v1,AAAA {right}", f"{right} v1a,xyz", f"v2,x {right} v1,AAAA", f"  {right} "):
        authenticate(replace(one, headers={**one.headers, "webhook-signature": several}), standard())


@pytest.mark.parametrize("signature", ["", "v1", "v1,", "v1,,", "v1,é", "g0hM9SsE=", " ", "v1,AAAA " * 50])
def test_a_signature_of_any_form_is_refused(signature: str) -> None:
    refusal(replace(VECTOR, headers={**VECTOR.headers, "webhook-signature": signature}), standard())


@pytest.mark.parametrize("version", ["v2", "V1", "v1a", "", "v"])
def test_a_signature_of_another_version_does_not_count(version: str) -> None:
    right = VECTOR.headers["webhook-signature"].removeprefix("v1")
    refusal(replace(VECTOR, headers={**VECTOR.headers, "webhook-signature": f"{version}{right}"}), standard())
    digest = mac(f"{SENT_S}.".encode() + BODY).hex()
    refusal(delivery({"Stripe-Signature": f"t={SENT_S},{version}={digest}"}), by_hmac(**STRIPE))


@pytest.mark.parametrize("secret", ["other", SECRET[:-1], f"{SECRET} "])
def test_another_secret_is_a_forgery(secret: str) -> None:
    refusal(stripe(secret=secret), by_hmac(**STRIPE))


def test_an_id_that_could_shift_what_is_signed_is_none() -> None:
    for identity in ("a.1", "", "a b", "é", "x" * 256):
        assert refusal(signed_standard(identity=identity), standard()) == "the header webhook-id is no id"


# -- the time


TIMED = ["standard", "stripe", "slack"]


@pytest.mark.parametrize("kind", TIMED)
@pytest.mark.parametrize("away_s", [-300, -1, 0, 1, 300])
def test_a_delivery_is_good_when_it_came_near_its_time_however_long_ago_that_was(kind: str, away_s: int) -> None:
    connection, make = GOOD[kind]
    authenticate(replace(make(), arrived_ms=(SENT_S + away_s) * 1000), connection)


@pytest.mark.parametrize("kind", TIMED)
@pytest.mark.parametrize("away_ms", [-300_001, 300_001, 10**9, -SENT_S * 1000])
def test_a_delivery_that_came_at_another_time_is_refused(kind: str, away_ms: int) -> None:
    connection, make = GOOD[kind]
    assert "300 s are tolerated" in refusal(replace(make(), arrived_ms=SENT_S * 1000 + away_ms), connection)


def test_how_much_is_tolerated_may_be_said() -> None:
    late = replace(stripe(), arrived_ms=(SENT_S + 301) * 1000)
    authenticate(late, by_hmac(**STRIPE | {"timestamp": {"field": "t", "tolerance_s": 301}}))
    late = replace(signed_standard(), arrived_ms=(SENT_S + 2) * 1000)
    assert "1 s are tolerated" in refusal(late, standard(tolerance_s=1))


@pytest.mark.parametrize(
    ("form", "sent"),
    [("unix_s", "1773330173"), ("unix_ms", "1773330173000"), ("rfc3339", "2026-03-12T08:42:53-07:00")],
)
def test_the_time_may_be_written_in_several_ways(form: str, sent: str) -> None:
    connection = by_hmac(**SLACK | {"timestamp": {"header": "X-Slack-Request-Timestamp", "form": form}})
    authenticate(slack(sent), connection)


@pytest.mark.parametrize("sent", ["", "-1", "+1773330173", "1773330173.5", " 1773330173", "1e9", "٣", "9" * 16, "x"])
def test_a_time_that_is_no_number_is_refused(sent: str) -> None:
    refusal(slack(sent), by_hmac(**SLACK))
    refusal(stripe(sent=sent), by_hmac(**STRIPE))
    refusal(signed_standard(sent=sent), standard())


def test_two_times_are_none() -> None:
    value = stripe().headers["stripe-signature"]
    refusal(delivery({"Stripe-Signature": f"{value},t={SENT_S}"}), by_hmac(**STRIPE))
    refusal(delivery({"Stripe-Signature": f"t={SENT_S + 1},{value}"}), by_hmac(**STRIPE))


# -- configuration


@pytest.mark.parametrize(
    ("auth", "said"),
    [
        ({}, "webhook_auth: give either `standard_webhooks` or `hmac`"),
        ({"standard_webhooks": {"secrets": [WHSEC]}, "hmac": GITHUB}, "give either `standard_webhooks` or `hmac`"),
        ({"standard_webhooks": {"secrets": []}}, "webhook_auth.standard_webhooks.secrets"),
        ({"standard_webhooks": {"secrets": ["whsec_"]}}, "standard_webhooks.secrets.0: must be whsec_ and the base64"),
        ({"standard_webhooks": {"secrets": [WHSEC[:-8]]}}, "must be whsec_ and the base64 of 24 to 64 bytes"),
        ({"standard_webhooks": {"secrets": [WHSEC[6:]]}}, "must be whsec_ and the base64 of 24 to 64 bytes"),
        ({"standard_webhooks": {"secrets": [f"{WHSEC}!"]}}, "must be whsec_ and the base64 of 24 to 64 bytes"),
        ({"standard_webhooks": {"secrets": [WHSEC], "tolerance_s": 0}}, "standard_webhooks.tolerance_s"),
        ({"standard_webhooks": {"secrets": [WHSEC], "tolerance_s": 10**9}}, "standard_webhooks.tolerance_s"),
        ({"standard_webhooks": {"secrets": [WHSEC], "tolerance_s": "300"}}, "standard_webhooks.tolerance_s"),
        ({"standard_webhooks": {"secrets": [WHSEC], "header": "x"}}, "standard_webhooks.header"),
        ({"hmac": GITHUB | {"header": "a b"}}, "webhook_auth.hmac.header"),
        ({"hmac": GITHUB | {"secrets": []}}, "webhook_auth.hmac.secrets"),
        ({"hmac": GITHUB | {"encoding": "base32"}}, "webhook_auth.hmac.encoding"),
        ({"hmac": {name: value for name, value in GITHUB.items() if name != "encoding"}}, "webhook_auth.hmac.encoding"),
        ({"hmac": GITHUB | {"algorithm": "sha1"}}, "webhook_auth.hmac.algorithm"),
        ({"hmac": GITHUB | {"algorithm": "md5"}}, "webhook_auth.hmac.algorithm"),
        ({"hmac": GITHUB | {"prefix": " a"}}, "webhook_auth.hmac.prefix"),
        ({"hmac": STRIPE | {"prefix": "v1="}}, "a signature that is a field has no prefix"),
        ({"hmac": GITHUB | {"timestamp": {"field": "t"}}}, "the header has no fields"),
        ({"hmac": STRIPE | {"timestamp": {"field": "v1"}}}, "this is the signature's field"),
        ({"hmac": STRIPE | {"timestamp": {}}}, "webhook_auth.hmac.timestamp: give either `header` or `field`"),
        ({"hmac": STRIPE | {"timestamp": {"field": "t", "header": "X"}}}, "give either `header` or `field`"),
        ({"hmac": STRIPE | {"timestamp": {"field": "t", "form": "iso"}}}, "webhook_auth.hmac.timestamp.form"),
        ({"hmac": STRIPE | {"signed": "{body}"}}, "anybody could give an old delivery a new time"),
        ({"hmac": GITHUB | {"signed": "{timestamp}.{body}"}}, "no `timestamp` says where it stands"),
        ({"hmac": GITHUB | {"signed": "body"}}, "must end with {body}"),
        ({"hmac": GITHUB | {"signed": "{body}{body}"}}, "must end with {body}"),
        ({"hmac": GITHUB | {"signed": "{id}.{body}"}}, "must end with {body}"),
        ({"hmac": STRIPE | {"signed": "{timestamp}{body}"}}, "must stand behind {timestamp}"),
        ({"hmac": STRIPE | {"signed": "{timestamp}0{body}"}}, "must stand behind {timestamp}"),
        ({"hmac": STRIPE | {"signed": "{timestamp}.{timestamp}.{body}"}}, "each of {timestamp} and {body} once"),
        ({"hmac": STRIPE | {"signed": "{body}.{timestamp}"}}, "must end with {body}"),
        ("Trusted", "webhook_auth"),
    ],
)
def test_a_scheme_that_could_not_hold_is_refused(auth: Any, said: str) -> None:
    sentence = problem(webhook_auth=auth)
    assert said in sentence
    assert SECRET not in sentence
    assert WHSEC not in sentence


def test_a_trusted_gateway_needs_nothing() -> None:
    authenticate(Delivery("shop", {}, b""), declared(webhook_auth="trusted"))


def test_no_secret_shows_in_any_text_of_a_connection() -> None:
    for connection in (standard(), by_hmac(**STRIPE)):
        texts = [repr(connection), str(connection), connection.model_dump_json(), repr(vars(connection))]
        assert not [text for text in texts if SECRET in text or WHSEC in text]


def test_what_is_compared_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr("hmac.compare_digest", compare)
    authenticate(stripe(extra=",v1=00"), by_hmac(**STRIPE | {"secrets": [SECRET, "b", "c"]}))
    assert len(compared) == 6
    assert hashlib.sha256().digest_size == len(compared[0][0])
