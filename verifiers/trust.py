"""Whether a certificate is one that a provider signs its deliveries with.

Validity is looked at for the instant of signing and never for now: a delivery that was stored, or put back after a
repair, is as good as it was when it came.
"""

import ssl
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import Final

import httpx
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

_MIN_KEY_BITS: Final = 2048
_MAX_CERTIFICATES: Final = 10
_SHOWN_CHARACTERS: Final = 200


class Untrusted(ValueError):
    """The certificate is not one that deliveries may be signed with; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A signing certificate and those that came with it.

    A ``pinned`` one was written into the configuration: whoever did that vouches for it, so no chain is asked for.
    """

    leaf: x509.Certificate
    intermediates: tuple[x509.Certificate, ...] = ()
    pinned: bool = False

    @property
    def key(self) -> RSAPublicKey:
        """The key that signs.

        Raises:
            Untrusted: it is no RSA key, or too short a one.
        """
        key = self.leaf.public_key()
        if not isinstance(key, RSAPublicKey) or key.key_size < _MIN_KEY_BITS:
            raise Untrusted(f"its key is no RSA key of {_MIN_KEY_BITS} bits or more")
        return key


def read_certificate(pem: bytes, *, pinned: bool = False) -> Certificate:
    """Read a certificate in PEM, and those behind it.

    Raises:
        ValueError: there is none, there are too many, or one is malformed.
    """
    first, *others = read_certificates(pem)
    return Certificate(first, tuple(others), pinned)


def read_certificates(pem: bytes) -> list[x509.Certificate]:
    """Read certificates in PEM, in their order.

    Raises:
        ValueError: there is none, there are too many, or one is malformed.
    """
    found = _load(pem)
    if len(found) > _MAX_CERTIFICATES:
        raise ValueError(f"there are {len(found)} certificates, more than {_MAX_CERTIFICATES}")
    return found


def _load(pem: bytes) -> list[x509.Certificate]:
    with warnings.catch_warnings(action="ignore"):  # some roots are odd in ways that make no difference here
        return x509.load_pem_x509_certificates(pem)


class Trust:
    """The roots that are trusted, and certificates that help to reach them."""

    def __init__(self, roots: Iterable[x509.Certificate], intermediates: Iterable[x509.Certificate] = ()) -> None:
        """Take at least one root."""
        self._roots = list(roots)
        self._intermediates = list(intermediates)
        self._store = Store(self._roots)

    def also(self, certificates: Iterable[x509.Certificate]) -> "Trust":
        """Return the same with more: what signed itself is a root, anything else only helps to reach one."""
        more = list(certificates)
        roots = [one for one in more if one.issuer == one.subject]
        return Trust([*self._roots, *roots], [*self._intermediates, *(one for one in more if one not in roots)])

    def check(self, certificate: Certificate, names: tuple[str, ...], at: datetime) -> None:
        """See that a certificate has one of these names, was valid at an instant, and is rooted here.

        Raises:
            Untrusted: it does not, was not, or is not.
        """
        reason = _objection(self, certificate, names, at.replace(microsecond=0))
        if reason is not None:
            raise Untrusted(reason)

    def objection(self, certificate: Certificate, name: str, at: datetime) -> str | None:
        """Say what is wrong with the chain of a certificate that has this name; None where it holds."""
        verifier = PolicyBuilder().store(self._store).time(at).build_server_verifier(x509.DNSName(name))
        try:
            verifier.verify(certificate.leaf, [*certificate.intermediates, *self._intermediates])
        except VerificationError as error:
            return f"it has no chain to a trusted root that held then: {str(error)[:_SHOWN_CHARACTERS]}"
        return None


@lru_cache(maxsize=1024)
def _objection(trust: Trust, certificate: Certificate, names: tuple[str, ...], at: datetime) -> str | None:
    leaf = certificate.leaf
    name = next((one for one in names if one in _names(leaf)), None)
    if name is None:
        return f"it is not for {' or '.join(names)}"
    if not leaf.not_valid_before_utc <= at <= leaf.not_valid_after_utc:
        begin, end = leaf.not_valid_before_utc.isoformat(), leaf.not_valid_after_utc.isoformat()
        return f"it was valid from {begin} to {end}, and not at {at.isoformat()}"
    return None if certificate.pinned else trust.objection(certificate, name, at)


def _names(leaf: x509.Certificate) -> list[str]:
    try:
        extension = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return []
    return extension.value.get_values_for_type(x509.DNSName)


@cache
def system_roots() -> tuple[x509.Certificate, ...]:
    """Return the roots that this machine trusts; certifi's, which httpx brings, where it keeps none in one file."""
    context = ssl.create_default_context()
    found = context.get_ca_certs(binary_form=True) or httpx.create_ssl_context(trust_env=False).get_ca_certs(True)
    return tuple(_load("\n".join(map(ssl.DER_cert_to_PEM_cert, found)).encode()))
