"""Authorities, certificates and signed deliveries of our own, to stand in for PayPal's."""

import base64
import zlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from contracts.instants import parse_instant
from verifiers.events import Delivery

LIVE = "messageverificationcerts.paypal.com"
SANDBOX = "messageverificationcerts.sandbox.paypal.com"
URL = "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-1a5f47cb"
SENT = "2026-03-12T15:42:53Z"
SENT_AT = datetime(2026, 3, 12, 15, 42, 53, tzinfo=UTC)
SENT_MS = parse_instant(SENT).start_ms
WEBHOOK = "5GP028458E2496506"
BODY = b'{"id":"WH-1","event_type":"PAYMENT.CAPTURE.REFUNDED","note":"Caf\xc3\xa9"}'
DAY = timedelta(days=1)


@dataclass
class Authority:
    """Somebody who issues certificates: a root, or one that a root has issued. Keys are made once and used again."""

    name: str
    issuer: "Authority | None" = None
    is_ca: bool = True
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    certificate: x509.Certificate = field(init=False)

    def __post_init__(self) -> None:
        issuer = self.issuer or self
        self.certificate = issuer.issue(self.name, key=self.key.public_key(), ca=self.is_ca, names=())

    def issue(
        self,
        name: str = LIVE,
        *,
        key: Any,
        begin: datetime = SENT_AT - 100 * DAY,
        end: datetime = SENT_AT + 100 * DAY,
        names: tuple[str, ...] | None = None,
        ca: bool = False,
    ) -> x509.Certificate:
        """Issue a certificate; ``names`` are those of the alternative name, the common name's where they are None."""
        own = self.key.public_key()
        builder = (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(_named(self.name))
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin - (1000 * DAY if ca else 0 * DAY))
            .not_valid_after(end + (1000 * DAY if ca else 0 * DAY))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(own), critical=False)
            .add_extension(_usage(ca), critical=True)
        )
        alternative = (name,) if names is None else names
        if alternative:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([x509.DNSName(one) for one in alternative]), critical=False
            )
        if not ca:
            usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
            builder = builder.add_extension(usage, critical=False)
        return builder.sign(self.key, hashes.SHA256())


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _usage(ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not ca,
        content_commitment=False,
        key_encipherment=not ca,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=ca,
        crl_sign=ca,
        encipher_only=False,
        decipher_only=False,
    )


ROOT = Authority("Test Root")
MIDDLE = Authority("Test Issuing CA", ROOT)
KEY = rsa.generate_private_key(65537, 2048)
OTHER_KEY = rsa.generate_private_key(65537, 2048)
SHORT_KEY = rsa.generate_private_key(65537, 1024)
CURVE_KEY = ec.generate_private_key(ec.SECP256R1())
LEAF = MIDDLE.issue(key=KEY.public_key())


def pem(*certificates: x509.Certificate) -> bytes:
    """Write certificates down."""
    return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in certificates)


def sign(body: bytes, *, webhook_id: str = WEBHOOK, key: Any = KEY, identity: str = "tid-1", time: str = SENT) -> str:
    """Sign a body as PayPal does."""
    signed = f"{identity}|{time}|{webhook_id}|{zlib.crc32(body)}".encode()
    return base64.b64encode(key.sign(signed, padding.PKCS1v15(), hashes.SHA256())).decode()


def transmitted(
    body: bytes = BODY,
    *,
    arrived_ms: int = SENT_MS + 2000,
    webhook_id: str = WEBHOOK,
    key: Any = KEY,
    time: str = SENT,
    **headers: str | None,
) -> Delivery:
    """A delivery that PayPal has signed; headers by their names with underscores, None drops one."""
    given: dict[str, str | None] = {
        "paypal-transmission-id": "tid-1",
        "paypal-transmission-time": time,
        "paypal-transmission-sig": sign(body, webhook_id=webhook_id, key=key, time=time),
        "paypal-cert-url": URL,
        "paypal-auth-algo": "SHA256withRSA",
        "paypal-auth-version": "v2",
    }
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    return Delivery("pay", {name: value for name, value in given.items() if value is not None}, body, arrived_ms)
