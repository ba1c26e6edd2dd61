"""PayPal's signatures: the genuine one, forged ones, and certificates that are not PayPal's."""

import base64
import dataclasses
import json
import ssl
import zlib
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import authority
import pytest
from accounts import SAMPLES, paypal, sample, sample_headers
from authority import (
    BODY,
    CURVE_KEY,
    DAY,
    KEY,
    LEAF,
    LIVE,
    MIDDLE,
    OTHER_KEY,
    ROOT,
    SANDBOX,
    SENT_AT,
    SENT_MS,
    SHORT_KEY,
    URL,
    WEBHOOK,
    Authority,
    pem,
    sign,
    transmitted,
)
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.instants import parse_instant, to_rfc3339
from verifiers.certificates import Unavailable
from verifiers.connection import Connection
from verifiers.connections import ConnectionsError
from verifiers.events import CannotTell, Delivery, NotAuthentic
from verifiers.providers.paypal import authenticate, certificate_of
from verifiers.trust import Certificate, read_certificate, system_roots

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
LIVE_URL = "https://api-m.paypal.com"
ROOTS = Path(__file__).parents[2] / "data" / "certificates"
SIMULATED_MS = parse_instant("2024-08-02T19:35:04Z").start_ms


@pytest.fixture(scope="module")
def trust_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trust") / "roots.pem"
    path.write_bytes(pem(ROOT.certificate))
    return path


@pytest.fixture(scope="module")
def account(trust_file: Path) -> Connection:
    """A live account that trusts the tests' own root."""
    return signed_account(trust_file)


def signed_account(trust_file: Path, base_url: str = LIVE_URL, **auth: Any) -> Connection:
    document = {"webhook_id": WEBHOOK, "trust_file": str(trust_file)} | auth
    return paypal(base_url=base_url, webhook_auth=document)


def served(leaf: Any = LEAF, *others: Any, url: str = URL) -> Mapping[str, Certificate]:
    return {url: Certificate(leaf, tuple(others or (MIDDLE.certificate,)))}


SERVED = served()


def refusal(delivery: Delivery, account: Connection, certificates: Mapping[str, Certificate] = SERVED) -> str:
    with pytest.raises(NotAuthentic) as caught:
        authenticate(delivery, account, certificates)
    return str(caught.value)


def genuine(arrived_ms: int = SIMULATED_MS + 1000) -> Delivery:
    headers = sample_headers("paypal_simulator/signed_event.headers.json")
    texts = {name: str(value) for name, value in headers.items()}
    return Delivery("pay", texts, sample("paypal_simulator/signed_event.body"), arrived_ms)


GENUINE_URL = genuine().headers["paypal-cert-url"]
GENUINE = {GENUINE_URL: read_certificate(sample("paypal_simulator/signed_event.cert.pem"))}


def simulator_account(**auth: Any) -> Connection:
    """A sandbox account for PayPal's simulator; the root is given, since machines are about to drop it."""
    root = ROOTS / "digicert-high-assurance-ev-root.pem"
    document = {"webhook_id": "WEBHOOK_ID", "simulator": True, "trust_file": str(root)} | auth
    return paypal(base_url="https://api-m.sandbox.paypal.com", webhook_auth=document)


# -- the genuine delivery of PayPal's simulator


def test_the_genuine_delivery_verifies_with_the_certificate_that_paypal_served_for_it() -> None:
    assert certificate_of(genuine(), simulator_account()) == GENUINE_URL
    authenticate(genuine(), simulator_account(), GENUINE)


@pytest.mark.parametrize("base_url", [LIVE_URL, "https://api-m.sandbox.paypal.com"])
def test_the_genuine_delivery_is_never_accepted_for_a_webhook_of_our_own(base_url: str) -> None:
    root = str(ROOTS / "digicert-high-assurance-ev-root.pem")
    account = paypal(base_url=base_url, webhook_auth={"webhook_id": WEBHOOK, "trust_file": root})
    assert "none of the connection's webhook ids" in refusal(genuine(), account, GENUINE)


def test_its_certificate_counts_for_the_time_of_signing_and_not_for_now() -> None:
    """It ended on 2025-03-07; but what says that it was signed later was not signed by PayPal."""
    assert "PayPal sends for three days" in refusal(
        genuine(parse_instant("2025-03-08T00:00:00Z").start_ms), simulator_account(), GENUINE
    )


def test_without_its_issuer_it_has_no_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    from verifiers import paypal_signature  # noqa: PLC0415

    monkeypatch.setattr(paypal_signature, "_INTERMEDIATES", ROOTS / "digicert-high-assurance-ev-root.pem")
    paypal_signature._public_trust.cache_clear()
    try:
        assert "no chain to a trusted root" in refusal(genuine(), simulator_account(), GENUINE)
    finally:
        paypal_signature._public_trust.cache_clear()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_flipped_bit_of_the_genuine_delivery_is_a_forgery(data: st.DataObject) -> None:
    delivery = genuine()
    body = bytearray(delivery.body)
    body[data.draw(st.integers(0, len(body) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    refusal(dataclasses.replace(delivery, body=bytes(body)), simulator_account(), GENUINE)


def test_a_body_that_was_written_anew_is_a_forgery() -> None:
    delivery = genuine()
    anew = json.dumps(json.loads(delivery.body)).encode()
    refusal(dataclasses.replace(delivery, body=anew), simulator_account(), GENUINE)


# -- what is signed


def test_a_signed_delivery_is_authentic(account: Connection) -> None:
    assert certificate_of(transmitted(), account) == URL
    authenticate(transmitted(), account, SERVED)


@pytest.mark.parametrize("base_url", [None, "http://127.0.0.1:8080", "https://api.paypal.com"])
def test_an_account_is_live_unless_it_says_that_it_is_not(base_url: str | None, trust_file: Path) -> None:
    document = {"webhook_id": WEBHOOK, "trust_file": str(trust_file)}
    authenticate(transmitted(), paypal(base_url=base_url, webhook_auth=document), SERVED)


@pytest.mark.parametrize("ids", [[WEBHOOK], [WEBHOOK, "OLDER"], ["OLDER", WEBHOOK], ["A", WEBHOOK, "B"]])
def test_any_of_our_webhooks_is_good_while_they_change(ids: list[str], trust_file: Path) -> None:
    authenticate(transmitted(), signed_account(trust_file, webhook_id=ids), SERVED)


@pytest.mark.parametrize("ids", ["OLDER", ["A", "B"], WEBHOOK.lower(), [WEBHOOK[:-1], f"{WEBHOOK}1"]])
def test_a_webhook_of_somebody_else_is_none_of_ours(ids: Any, trust_file: Path) -> None:
    assert "none of the connection's webhook ids" in refusal(transmitted(), signed_account(trust_file, webhook_id=ids))


HEADERS = ["paypal-transmission-id", "paypal-transmission-time", "paypal-transmission-sig"]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_other_character_in_what_is_signed_is_a_forgery(data: st.DataObject) -> None:
    delivery = transmitted()
    name = data.draw(st.sampled_from(HEADERS))
    value = delivery.headers[name]
    position = data.draw(st.integers(0, len(value) - 1))
    other = data.draw(st.characters(max_codepoint=255).filter(lambda one: one != value[position]))
    changed = value[:position] + other + value[position + 1 :]
    # A last character of base64 may hold bits that nobody reads.
    if name == HEADERS[2]:
        try:
            if base64.b64decode(changed, validate=True) == base64.b64decode(value):
                return
        except ValueError:
            pass
    refusal(dataclasses.replace(delivery, headers={**delivery.headers, name: changed}), pinned())


@settings(max_examples=100, deadline=None)
@given(position=st.integers(0, len(BODY) - 1), bit=st.integers(0, 7))
def test_any_flipped_bit_of_the_body_is_a_forgery(position: int, bit: int) -> None:
    body = bytearray(BODY)
    body[position] ^= 1 << bit
    refusal(dataclasses.replace(transmitted(), body=bytes(body)), pinned())


@pytest.mark.parametrize("body", [b"", BODY + b"\n", BODY[:-1], b"\xef\xbb\xbf" + BODY])
def test_a_body_of_another_length_is_a_forgery(body: bytes) -> None:
    refusal(dataclasses.replace(transmitted(), body=body), pinned())


def pinned(webhook_id: Any = WEBHOOK, leaf: Any = LEAF) -> Connection:
    """A live account whose configuration gives the certificate."""
    auth = {"webhook_id": webhook_id, "certificates": {URL: pem(leaf).decode()}}
    return paypal(base_url=LIVE_URL, webhook_auth=auth)


@pytest.mark.parametrize(
    "signed",
    [
        f"tid-1|{authority.SENT}|{WEBHOOK}|{zlib.crc32(BODY):x}",
        f"tid-1|{authority.SENT}|{WEBHOOK}|{zlib.crc32(BODY)}|",
        f"tid-1|{authority.SENT}|{WEBHOOK}|{zlib.crc32(BODY) - 2**32}",
        f"tid-1|2026-03-12T15:42:53.000Z|{WEBHOOK}|{zlib.crc32(BODY)}",
        f"{authority.SENT}|tid-1|{WEBHOOK}|{zlib.crc32(BODY)}",
        "",
    ],
)
def test_another_text_that_was_signed_is_a_forgery(signed: str) -> None:
    signature = base64.b64encode(KEY.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())).decode()
    refusal(transmitted(paypal_transmission_sig=signature), pinned())


@pytest.mark.parametrize(
    ("scheme", "digest"),
    [
        (padding.PKCS1v15(), hashes.SHA1()),
        (padding.PKCS1v15(), hashes.SHA512()),
        (padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256()),
    ],
)
def test_another_way_of_signing_is_a_forgery(scheme: Any, digest: Any) -> None:
    text = f"tid-1|{authority.SENT}|{WEBHOOK}|{zlib.crc32(BODY)}".encode()
    signature = base64.b64encode(KEY.sign(text, scheme, digest)).decode()
    refusal(transmitted(paypal_transmission_sig=signature), pinned())


@pytest.mark.parametrize("signature", ["", "AAAA", "é" * 344, "\x80\xff", "x" * 100_000, "====", "A" * 344, "A B="])
def test_a_signature_of_any_form_is_refused(signature: str) -> None:
    refusal(transmitted(paypal_transmission_sig=signature), pinned())


def test_another_key_is_a_forgery(account: Connection) -> None:
    refusal(transmitted(key=OTHER_KEY), account)


@pytest.mark.parametrize("name", [*HEADERS, "paypal-cert-url", "paypal-auth-algo"])
def test_a_missing_header_is_named_and_no_certificate_is_asked_for(name: str, account: Connection) -> None:
    delivery = transmitted(**{name.replace("-", "_"): None})
    assert refusal(delivery, account) == f"the header {name.upper()} is missing"
    assert certificate_of(delivery, account) is None


@pytest.mark.parametrize(
    "algorithm", ["SHA1withRSA", "SHA512withRSA", "sha256withrsa", "SHA256withRSA ", "SHA256withRSA/PSS", "", "none"]
)
def test_only_one_algorithm_is_taken(algorithm: str, account: Connection) -> None:
    delivery = transmitted(paypal_auth_algo=algorithm)
    assert "only SHA256withRSA is taken" in refusal(delivery, account)
    assert certificate_of(delivery, account) is None


@pytest.mark.parametrize("identity", ["", "a|b", "a b", "é", "a\n", "x" * 129])
def test_an_id_that_could_shift_what_is_signed_is_none(identity: str) -> None:
    signature = sign(BODY, identity=identity)
    delivery = transmitted(paypal_transmission_id=identity, paypal_transmission_sig=signature)
    assert refusal(delivery, pinned()) == "PAYPAL-TRANSMISSION-ID is no id"


# -- the certificate's address

_PATH = "/v1/notifications/certs/CERT-360caa42-fca2a594-1a5f47cb"
FOREIGN = [
    f"http://api.paypal.com{_PATH}",
    f"HTTPS://api.paypal.com{_PATH}",
    f"https://api.paypal.com:443{_PATH}",
    f"https://api.paypal.com:8443{_PATH}",
    f"https://api.paypal.com.evil.test{_PATH}",
    f"https://evil.test{_PATH}",
    f"https://evil.test/https://api.paypal.com{_PATH}",
    f"https://api.paypal.com@evil.test{_PATH}",
    f"https://user@api.paypal.com{_PATH}",
    f"https://user:pass@api.paypal.com{_PATH}",
    f"https://evil.test#@api.paypal.com{_PATH}",
    f"https://evil.test\\@api.paypal.com{_PATH}",
    f"https://www.paypal.com{_PATH}",
    f"https://paypal.com{_PATH}",
    f"https://apixpaypal.com{_PATH}",
    f"https://api.paypal.com.{_PATH}",
    f"https://API.PAYPAL.COM{_PATH}",
    f"https://api.pаypal.com{_PATH}",  # noqa: RUF001 - the Cyrillic letter is the point
    f"https://api.xn--pypal-4ve.com{_PATH}",
    f"https://api.paypal\u3002com{_PATH}",
    f"https://api.paypal.com{_PATH}?x=1",
    f"https://api.paypal.com{_PATH}#x",
    f"https://api.paypal.com{_PATH}/",
    f"https://api.paypal.com{_PATH}/../../../x",
    f"https://api.paypal.com{_PATH}%2f..",
    f"https://api.paypal.com{_PATH}\n",
    f" https://api.paypal.com{_PATH}",
    "https://api.paypal.com/v1/notifications/certs/../../x/CERT-1",
    "https://api.paypal.com/v1/notifications/certs/CERT-",
    "https://api.paypal.com/v1/notifications/certs/CERT-.",
    "https://api.paypal.com/v1/notifications/certs/cert-1",
    "https://api.paypal.com/v1//notifications/certs/CERT-1",
    "https://api.paypal.com/v1/notifications/certs/x",
    "https://api.paypal.com/v2/notifications/certs/CERT-1",
    "https://api.paypal.com/CERT-1",
    "https://api.paypal.com/v1/notifications/certs/CERT-" + "a" * 200,
    "//api.paypal.com/v1/notifications/certs/CERT-1",
    "file:///v1/notifications/certs/CERT-1",
    "",
]


@pytest.mark.parametrize("url", FOREIGN)
def test_a_certificate_is_only_ever_asked_for_where_paypal_has_its_own(url: str, account: Connection) -> None:
    delivery = transmitted(paypal_cert_url=url)
    assert "is no address of PayPal's certificates" in refusal(delivery, account, {url: SERVED[URL]})
    assert certificate_of(delivery, account) is None


@pytest.mark.parametrize("host", ["api.paypal.com", "api-m.paypal.com"])
def test_each_of_paypals_hosts_is_asked(host: str, account: Connection) -> None:
    url = f"https://{host}{_PATH}"
    assert certificate_of(transmitted(paypal_cert_url=url), account) == url
    authenticate(transmitted(paypal_cert_url=url), account, {url: SERVED[URL]})


@pytest.mark.parametrize("host", ["api.sandbox.paypal.com", "api-m.sandbox.paypal.com"])
def test_paypals_sandbox_is_asked_only_for_an_account_of_the_sandbox(
    host: str, account: Connection, trust_file: Path
) -> None:
    """Anybody can open an account there."""
    url = f"https://{host}{_PATH}"
    delivery = transmitted(paypal_cert_url=url)
    assert "of PayPal's sandbox" in refusal(delivery, account, {url: SERVED[URL]})
    assert certificate_of(delivery, account) is None
    sandbox = signed_account(trust_file, "https://api-m.sandbox.paypal.com")
    assert certificate_of(delivery, sandbox) == url
    leaf = MIDDLE.issue(SANDBOX, key=KEY.public_key())
    authenticate(delivery, sandbox, served(leaf, url=url) | {url: Certificate(leaf, (MIDDLE.certificate,))})


def test_a_certificate_of_the_sandbox_signs_nothing_for_a_live_account(account: Connection) -> None:
    leaf = MIDDLE.issue(SANDBOX, key=KEY.public_key())
    assert f"it is not for {LIVE}" in refusal(transmitted(), account, served(leaf))


# -- the certificate


def test_a_certificate_that_is_not_at_hand_is_no_sign_of_a_forgery(account: Connection) -> None:
    for certificates in ({}, {URL: Unavailable("its address answered 503")}):
        with pytest.raises(CannotTell) as caught:
            authenticate(transmitted(), account, certificates)
        assert caught.value.class_ == "certificate_unavailable"
        assert URL in str(caught.value)
        assert not isinstance(caught.value, NotAuthentic)
    assert "its address answered 503" in str(caught.value)


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (-100 * DAY, timedelta(seconds=-1)),
        (timedelta(seconds=1), 100 * DAY),
        (-2000 * DAY, -1000 * DAY),
        # What is good now, and was not when the delivery was signed: "now" is long after it.
        (timedelta(seconds=1), 100_000 * DAY),
    ],
)
def test_a_certificate_that_did_not_hold_when_the_delivery_was_signed_is_refused(
    begin: timedelta, end: timedelta, account: Connection
) -> None:
    leaf = MIDDLE.issue(key=KEY.public_key(), begin=SENT_AT + begin, end=SENT_AT + end)
    assert "it was valid from" in refusal(transmitted(), account, served(leaf))


def test_a_certificate_that_held_then_and_has_ended_since_is_good(account: Connection) -> None:
    leaf = MIDDLE.issue(key=KEY.public_key(), begin=SENT_AT, end=SENT_AT)
    authenticate(transmitted(), account, served(leaf))


def test_a_pinned_certificate_must_have_held_as_well() -> None:
    leaf = MIDDLE.issue(key=KEY.public_key(), begin=SENT_AT - 2 * DAY, end=SENT_AT - DAY)
    assert "it was valid from" in refusal(transmitted(), pinned(leaf=leaf))
    assert "it is not for" in refusal(transmitted(), pinned(leaf=MIDDLE.issue("paypal.com", key=KEY.public_key())))


def test_an_issuer_that_had_ended_by_then_vouches_for_nothing(account: Connection, monkeypatch: Any) -> None:
    ended = Authority("Ended CA", ROOT)
    ended.certificate = ROOT.issue(
        "Ended CA", key=ended.key.public_key(), ca=True, names=(), begin=SENT_AT - 9000 * DAY, end=SENT_AT - 1001 * DAY
    )
    leaf = ended.issue(key=KEY.public_key())
    assert "no chain" in refusal(transmitted(), account, served(leaf, ended.certificate))


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("www.paypal.com", None),
        ("paypal.com", None),
        (f"{LIVE}.evil.test", None),
        (f"x.{LIVE}", None),
        ("*.paypal.com", None),
        (LIVE, ("evil.test",)),  # the common name says it, the name that counts does not
        (LIVE, ()),
        (LIVE.replace("paypal", "paypa1"), None),
    ],
)
def test_a_certificate_for_another_name_is_refused(
    name: str, names: tuple[str, ...] | None, account: Connection
) -> None:
    leaf = MIDDLE.issue(name, key=KEY.public_key(), names=names)
    assert f"it is not for {LIVE}" in refusal(transmitted(), account, served(leaf))


def test_a_certificate_that_signed_itself_is_refused(account: Connection) -> None:
    forger = Authority(LIVE, key=KEY)
    leaf = forger.issue(key=KEY.public_key())
    for others in ((), (MIDDLE.certificate,), (forger.certificate,)):
        assert "no chain" in refusal(transmitted(), account, {URL: Certificate(leaf, others)})


def test_a_broken_chain_is_refused(account: Connection) -> None:
    assert "no chain" in refusal(transmitted(), account, {URL: Certificate(LEAF, ())})
    stranger = Authority("Test Issuing CA", Authority("Another Root"))  # the same name, another key
    assert "no chain" in refusal(transmitted(), account, served(LEAF, stranger.certificate))
    leaf = stranger.issue(key=KEY.public_key())
    assert "no chain" in refusal(transmitted(), account, served(leaf, stranger.certificate))
    assert "no chain" in refusal(transmitted(), account, served(leaf, MIDDLE.certificate))


def test_a_root_that_comes_with_the_certificate_is_no_root_of_ours(account: Connection) -> None:
    root = Authority("Another Root")
    leaf = root.issue(key=KEY.public_key())
    assert "no chain" in refusal(transmitted(), account, served(leaf, root.certificate))


def test_who_holds_a_certificate_is_no_authority(account: Connection) -> None:
    holder = Authority("holder.test", MIDDLE, is_ca=False)
    leaf = holder.issue(key=KEY.public_key())
    assert "no chain" in refusal(transmitted(), account, served(leaf, holder.certificate, MIDDLE.certificate))


def test_a_key_that_is_too_short_or_no_rsa_key_is_refused(account: Connection) -> None:
    short = MIDDLE.issue(key=SHORT_KEY.public_key())
    assert "no RSA key of 2048 bits" in refusal(transmitted(key=SHORT_KEY), account, served(short))
    curve = MIDDLE.issue(key=CURVE_KEY.public_key())
    assert "no RSA key of 2048 bits" in refusal(transmitted(), account, served(curve))


# -- the time of signing


@pytest.mark.parametrize("after_ms", [-600_000, 0, 2000, HOUR_MS, 3 * DAY_MS, 73 * HOUR_MS])
def test_a_delivery_may_come_as_long_as_paypal_sends(after_ms: int, account: Connection) -> None:
    authenticate(transmitted(arrived_ms=SENT_MS + after_ms), account, SERVED)


@pytest.mark.parametrize("after_ms", [-600_001, -DAY_MS, 73 * HOUR_MS + 1, 30 * DAY_MS, -SENT_MS])
def test_a_delivery_that_was_not_signed_shortly_before_is_refused(after_ms: int, account: Connection) -> None:
    delivery = transmitted(arrived_ms=SENT_MS + after_ms)
    assert to_rfc3339(delivery.arrived_ms) in refusal(delivery, account)
    assert certificate_of(delivery, account) is None


def test_without_a_time_of_arrival_no_signature_is_good(account: Connection) -> None:
    refusal(Delivery("pay", transmitted().headers, BODY), account)


@pytest.mark.parametrize("time", ["", "yesterday", "1773330173", "2026-19-12T15:42:53Z", "2026-03-12T15:42:53"])
def test_a_time_that_cannot_be_is_refused(time: str, account: Connection) -> None:
    assert "PAYPAL-TRANSMISSION-TIME" in refusal(transmitted(time=time), account)


def test_the_time_is_signed_as_it_is_written() -> None:
    authenticate(transmitted(time="2026-03-12T08:42:53-07:00"), pinned(), {})


# -- configuration


def test_a_pinned_certificate_is_taken_as_it_is_and_nothing_is_fetched() -> None:
    assert certificate_of(transmitted(), pinned()) is None
    authenticate(transmitted(), pinned())


def test_a_pinned_certificate_goes_before_one_that_was_fetched() -> None:
    other = MIDDLE.issue(key=OTHER_KEY.public_key())
    authenticate(transmitted(), pinned(), served(other))


def test_a_trusted_gateway_needs_nothing() -> None:
    authenticate(Delivery("pay", {}, b""), paypal())
    assert certificate_of(transmitted(), paypal()) is None


SANDBOX_URL = "https://api-m.sandbox.paypal.com"


@pytest.mark.parametrize(
    ("base_url", "auth", "said"),
    [
        (LIVE_URL, {"webhook_id": "WEBHOOK_ID"}, "what PayPal's simulator signs for"),
        (SANDBOX_URL, {"webhook_id": "WEBHOOK_ID"}, "what PayPal's simulator signs for"),
        (SANDBOX_URL, {"webhook_id": [WEBHOOK, "WEBHOOK_ID"]}, "what PayPal's simulator signs for"),
        (SANDBOX_URL, {"webhook_id": [WEBHOOK, "WEBHOOK_ID"], "simulator": True}, "WEBHOOK_ID and no other"),
        (SANDBOX_URL, {"webhook_id": WEBHOOK, "simulator": True}, "WEBHOOK_ID and no other"),
        (LIVE_URL, {"webhook_id": "WEBHOOK_ID", "simulator": True}, "needs a base_url of PayPal's sandbox"),
        (None, {"webhook_id": "WEBHOOK_ID", "simulator": True}, "needs a base_url of PayPal's sandbox"),
        ("http://127.0.0.1:1", {"webhook_id": "WEBHOOK_ID", "simulator": True}, "needs a base_url of PayPal's"),
        (LIVE_URL, {}, "webhook_auth.webhook_id"),
        (LIVE_URL, {"webhook_id": []}, "webhook_auth.webhook_id"),
        (LIVE_URL, {"webhook_id": ""}, "webhook_auth.webhook_id"),
        (LIVE_URL, {"webhook_id": "a|b"}, "webhook_auth.webhook_id"),
        (LIVE_URL, {"webhook_id": "a b"}, "webhook_auth.webhook_id"),
        (LIVE_URL, {"webhook_id": 7}, "webhook_auth.webhook_id"),
        (LIVE_URL, {"webhook_id": WEBHOOK, "simulator": "yes"}, "webhook_auth.simulator"),
        (LIVE_URL, {"webhook_id": WEBHOOK, "certificates": {"https://evil.test/x": "x"}}, "must look like https://api"),
        (LIVE_URL, {"webhook_id": WEBHOOK, "certificates": {URL: "x"}}, "must be a certificate in PEM"),
        (LIVE_URL, {"webhook_id": WEBHOOK, "trust_file": "/nowhere/x.pem"}, "webhook_auth.trust_file: cannot be read"),
        (
            LIVE_URL,
            {"webhook_id": WEBHOOK, "trust_file": str(SAMPLES / "paypal_operation.json")},
            "must hold certificates in PEM",
        ),
        (LIVE_URL, {"webhook_id": WEBHOOK, "algorithm": "SHA1withRSA"}, "webhook_auth.algorithm"),
        (LIVE_URL, "Trusted", "webhook_auth"),
    ],
)
def test_a_configuration_that_could_let_a_stranger_in_is_refused(base_url: str | None, auth: Any, said: str) -> None:
    with pytest.raises(ConnectionsError) as caught:
        paypal(base_url=base_url, webhook_auth=auth)
    assert said in str(caught.value)


# -- the machine's roots


@pytest.mark.parametrize("missing", [False, True])
def test_the_machines_roots_are_trusted_and_certifis_where_it_has_none(
    missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if missing:
        monkeypatch.setattr(ssl.SSLContext, "load_default_certs", lambda *_: None)
    system_roots.cache_clear()
    try:
        names = [root.subject.rfc4514_string() for root in system_roots()]
    finally:
        system_roots.cache_clear()
    assert any("DigiCert Global Root G2" in name for name in names)
    assert len(names) > 50
