"""PayPal's signatures: what was signed, by whose certificate, and when.

Sources: PayPal's page "Integrate webhooks" (message verification) and the official SDKs' checks. The signed text is
``<transmission id>|<transmission time>|<webhook id>|<CRC-32 of the body, in decimal>``, RSA PKCS #1 v1.5 with SHA-256,
by the certificate that the header PAYPAL-CERT-URL names. That address is a sender's word, so it must be one of
PayPal's, and the certificate must be one that a public authority has issued to PayPal for this purpose.
"""

import base64
import binascii
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from contracts.instants import parse_instant, to_rfc3339
from verifiers.certificates import Known, Unavailable
from verifiers.connection import ConnectionPart
from verifiers.events import CannotTell, Delivery, NotAuthentic
from verifiers.trust import Certificate, Trust, Untrusted, read_certificate, read_certificates, system_roots

SIMULATOR_ID: Final = "WEBHOOK_ID"
CERTIFICATE_UNAVAILABLE: Final = "certificate_unavailable"
# PayPal sends for three days, each time with another transmission id and time; so a signature is young when it comes.
# The whole time of retries is allowed all the same: that each of them is signed anew was seen, and is promised nowhere.
OLDEST_MS: Final = 73 * 3_600_000
NEWEST_MS: Final = 600_000

_LIVE_NAME: Final = "messageverificationcerts.paypal.com"
_SANDBOX_NAME: Final = "messageverificationcerts.sandbox.paypal.com"
_CERTIFICATE_URL = re.compile(
    r"https://api(?:-m)?(\.sandbox)?\.paypal\.com/v1/notifications/certs/CERT-[0-9A-Za-z]+(?:-[0-9A-Za-z]+)*"
)
_MAX_URL_CHARACTERS: Final = 200
_ALGORITHM: Final = "SHA256withRSA"
_SIGNED_HEADER = re.compile(r"[!-{}~]{1,128}")  # printable ASCII without what separates the parts of the signed text
_INTERMEDIATES: Final = Path(__file__).parent / "paypal_intermediates.pem"


def _one_or_several(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _certificate_url(text: str) -> str:
    if len(text) > _MAX_URL_CHARACTERS or _CERTIFICATE_URL.fullmatch(text) is None:
        raise ValueError("must look like https://api.paypal.com/v1/notifications/certs/CERT-…")
    return text


def _certificate(pem: str) -> str:
    try:
        read_certificate(pem.encode())
    except ValueError:
        raise ValueError("must be a certificate in PEM") from None
    return pem


def _trusted_file(path: Path) -> Path:
    try:
        read_certificates(path.read_bytes())
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    except ValueError:
        raise ValueError("must hold certificates in PEM") from None
    return path


_CertificateUrl = Annotated[str, AfterValidator(_certificate_url)]
_CertificatePem = Annotated[str, AfterValidator(_certificate)]


class PayPalSignatures(ConnectionPart):
    """What a connection's deliveries must be signed for, and which certificates may sign them.

    ``webhook_id`` names our own subscriptions, one or several. ``simulator`` stands for deliveries of PayPal's
    simulator and of nobody else. ``certificates`` maps addresses to certificates that are taken as they are, and not
    fetched. ``trust_file`` holds further authorities, in PEM.
    """

    webhook_id: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")], ...],
        BeforeValidator(_one_or_several),
        Field(min_length=1),
    ]
    simulator: Annotated[bool, Field(strict=True)] = False
    certificates: Mapping[_CertificateUrl, _CertificatePem] = {}
    trust_file: Annotated[Path, AfterValidator(_trusted_file)] | None = None

    @model_validator(mode="after")
    def _check_simulator(self) -> Self:
        if self.simulator and self.webhook_id != (SIMULATOR_ID,):
            raise ValueError(f"with `simulator: true`, webhook_id is {SIMULATOR_ID} and no other")
        if not self.simulator and SIMULATOR_ID in self.webhook_id:
            raise ValueError(
                f"webhook_id: {SIMULATOR_ID} is what PayPal's simulator signs for, whoever asks it to: anybody could"
                " send such deliveries. For trying things out there is `simulator: true`"
            )
        return self

    @cached_property
    def pinned(self) -> Mapping[str, Certificate]:
        """Address → the certificate that the configuration gives for it."""
        return {url: read_certificate(pem.encode(), pinned=True) for url, pem in self.certificates.items()}

    @cached_property
    def trust(self) -> Trust:
        """The authorities that certificates must come from."""
        trust = _public_trust()
        return trust if self.trust_file is None else trust.also(read_certificates(self.trust_file.read_bytes()))


@cache
def _public_trust() -> Trust:
    return Trust(system_roots(), read_certificates(_INTERMEDIATES.read_bytes()))


@dataclass(frozen=True, slots=True)
class _Transmission:
    """What a delivery says of its signature, in a form that can be checked."""

    id: str
    time: str
    signed_ms: int
    signature: bytes
    certificate_url: str


def certificate_of(delivery: Delivery, signatures: PayPalSignatures, *, sandbox: bool) -> str | None:
    """Return the address of the certificate that :func:`check` will need; None where it will need none.

    A delivery that is refused whatever its certificate says needs none, so nothing is asked of PayPal for it.
    """
    try:
        url = _read(delivery, sandbox=sandbox).certificate_url
    except NotAuthentic:
        return None
    return None if url in signatures.pinned else url


def check(delivery: Delivery, signatures: PayPalSignatures, certificates: Known, *, sandbox: bool) -> None:
    """Check that PayPal has signed a delivery for one of our webhooks.

    Args:
        delivery: the delivery.
        signatures: what it must be signed for.
        certificates: those that were fetched.
        sandbox: whether the account is one of PayPal's sandbox, whose certificates are others.

    Raises:
        NotAuthentic: it has not.
        CannotTell: the certificate is not at hand.
    """
    sent = _read(delivery, sandbox=sandbox)
    certificate = signatures.pinned.get(sent.certificate_url) or certificates.get(sent.certificate_url)
    if certificate is None or isinstance(certificate, Unavailable):
        why = certificate.reason if certificate is not None else "it has not been fetched"
        raise CannotTell(CERTIFICATE_UNAVAILABLE, f"the certificate {sent.certificate_url} is not at hand: {why}")
    try:
        _check_signature(sent, delivery.body, certificate, signatures.webhook_id)
        names = (_SANDBOX_NAME, _LIVE_NAME) if sandbox else (_LIVE_NAME,)
        signed_at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=sent.signed_ms)
        signatures.trust.check(certificate, names, signed_at)
    except Untrusted as error:
        raise NotAuthentic(f"the certificate {sent.certificate_url} is not PayPal's: {error}") from None


def _read(delivery: Delivery, *, sandbox: bool) -> _Transmission:
    """Read the signature's headers.

    Raises:
        NotAuthentic: one is missing or cannot be PayPal's, or the delivery did not come when it was signed.
    """
    algorithm = _header(delivery, "PAYPAL-AUTH-ALGO")
    if algorithm != _ALGORITHM:
        raise NotAuthentic(f"PAYPAL-AUTH-ALGO is {algorithm[:64]!r}, and only {_ALGORITHM} is taken")
    url = _header(delivery, "PAYPAL-CERT-URL")
    found = _CERTIFICATE_URL.fullmatch(url) if len(url) <= _MAX_URL_CHARACTERS else None
    if found is None:
        raise NotAuthentic(f"PAYPAL-CERT-URL {url[:_MAX_URL_CHARACTERS]!r} is no address of PayPal's certificates")
    if found[1] is not None and not sandbox:
        raise NotAuthentic("PAYPAL-CERT-URL is of PayPal's sandbox, the connection's account is not")
    identity, time = _header(delivery, "PAYPAL-TRANSMISSION-ID"), _header(delivery, "PAYPAL-TRANSMISSION-TIME")
    if _SIGNED_HEADER.fullmatch(identity) is None:
        raise NotAuthentic("PAYPAL-TRANSMISSION-ID is no id")
    try:
        signed_ms = parse_instant(time).start_ms
    except ValueError as error:
        raise NotAuthentic(f"PAYPAL-TRANSMISSION-TIME: {error}") from None
    _check_age(time, signed_ms, delivery.arrived_ms)
    try:
        signature = base64.b64decode(_header(delivery, "PAYPAL-TRANSMISSION-SIG").encode("latin-1"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise NotAuthentic("PAYPAL-TRANSMISSION-SIG is not base64") from None
    return _Transmission(identity, time, signed_ms, signature, url)


def _header(delivery: Delivery, name: str) -> str:
    value = delivery.headers.get(name.lower())
    if value is None:
        raise NotAuthentic(f"the header {name} is missing")
    return value


def _check_age(time: str, signed_ms: int, arrived_ms: int) -> None:
    if not arrived_ms - OLDEST_MS <= signed_ms <= arrived_ms + NEWEST_MS:
        raise NotAuthentic(
            f"the delivery was signed at {time} and arrived at {to_rfc3339(arrived_ms)}: PayPal sends for three days"
        )


def _check_signature(sent: _Transmission, body: bytes, certificate: Certificate, webhook_ids: tuple[str, ...]) -> None:
    key = certificate.key
    for webhook_id in webhook_ids:
        signed = f"{sent.id}|{sent.time}|{webhook_id}|{zlib.crc32(body)}".encode()
        try:
            key.verify(sent.signature, signed, PKCS1v15(), SHA256())
        except InvalidSignature:
            continue
        return
    raise NotAuthentic("PAYPAL-TRANSMISSION-SIG holds for this body with none of the connection's webhook ids")
