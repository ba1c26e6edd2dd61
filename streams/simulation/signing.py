"""The key that a simulated PayPal signs with, and its certificate: only who is told to take it does."""

import base64
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

LIVE_NAME: Final = "messageverificationcerts.paypal.com"
_ADDRESS: Final = "https://api.paypal.com/v1/notifications/certs/CERT-00000000-00000000-00000001"


@dataclass(frozen=True, slots=True)
class Signer:
    """A signing key of a simulated PayPal.

    Attributes:
        url: where deliveries say that the certificate is. Nothing is there: a connection gives the certificate itself,
            by ``webhook_auth: {webhook_id: …, certificates: {url: certificate}}``.
        begin: when the certificate begins to hold.
        end: when it ends.
    """

    url: str = _ADDRESS
    begin: datetime = datetime(2000, 1, 1, tzinfo=UTC)
    end: datetime = datetime(2100, 1, 1, tzinfo=UTC)
    _key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048), repr=False)

    @property
    def certificate(self) -> str:
        """The certificate in PEM, signed by itself."""
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, LIVE_NAME)])
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self._key.public_key())
            .serial_number(1)
            .not_valid_before(self.begin)
            .not_valid_after(self.end)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(LIVE_NAME)]), critical=False)
        )
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()

    def sign(self, text: str) -> str:
        """Sign as PayPal does; the signature in base64."""
        return base64.b64encode(self._key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())).decode()
