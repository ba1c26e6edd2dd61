"""How a declared provider signs its deliveries.

Sources: the Standard Webhooks specification (standardwebhooks.com), and the pages of Stripe, Slack and GitHub on
verifying deliveries, whose ways the scheme ``hmac`` covers.

A time that is signed is compared with when the delivery arrived and never with now: what was stored verifies later.
"""

import base64
import binascii
import hmac
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from contracts.instants import parse_instant, to_rfc3339
from verifiers.connection import ConnectionPart, Secret
from verifiers.declared.events import TimeForm
from verifiers.declared.parts import HeaderName
from verifiers.events import Delivery, NotAuthentic

_WHSEC: Final = "whsec_"
_SECRET_BYTES: Final = range(24, 65)
_MAX_SIGNATURES: Final = 20
_UNIX = re.compile(r"[0-9]{1,15}")
_MESSAGE_ID = re.compile(r"[!-\-/-~]{1,255}")  # printable ASCII without the full stop that ends it
Tolerance = Annotated[int, Field(strict=True, ge=1, le=86_400)]


def _standard_secret(secret: SecretStr) -> SecretStr:
    try:
        key = _standard_key(secret)
    except binascii.Error:
        key = b""
    if len(key) not in _SECRET_BYTES:
        raise ValueError("must be whsec_ and the base64 of 24 to 64 bytes")
    return secret


def _standard_key(secret: SecretStr) -> bytes:
    text = secret.get_secret_value()
    if not text.startswith(_WHSEC) or not text.isascii():
        raise binascii.Error
    return base64.b64decode(text.removeprefix(_WHSEC), validate=True)


class StandardWebhooksScheme(ConnectionPart):
    """Standard Webhooks with symmetric keys: ``v1`` signatures over ``id.timestamp.body``, by any of the secrets."""

    secrets: Annotated[tuple[Annotated[Secret, AfterValidator(_standard_secret)], ...], Field(min_length=1)]
    tolerance_s: Tolerance = 300

    def check(self, delivery: Delivery) -> None:
        """See that one of the secrets has signed the delivery, when it arrived.

        Raises:
            NotAuthentic: none has, or not then.
        """
        identity, sent = header(delivery, "webhook-id"), header(delivery, "webhook-timestamp")
        if _MESSAGE_ID.fullmatch(identity) is None:
            raise NotAuthentic("the header webhook-id is no id")
        check_age(instant_ms(sent, "unix_s", "webhook-timestamp"), delivery.arrived_ms, self.tolerance_s)
        given = [
            decoded(signature, "base64")
            for version, _, signature in (
                one.partition(",") for one in header(delivery, "webhook-signature").split(" ")
            )
            if version == "v1"
        ]
        signed = f"{identity}.{sent}.".encode() + delivery.body
        keys = [_standard_key(secret) for secret in self.secrets]
        if not matches(given, (hmac.digest(key, signed, "sha256") for key in keys)):
            raise NotAuthentic("webhook-signature holds no v1 signature of this delivery by one of the secrets")


class SignedTime(ConnectionPart):
    """The time that is signed with the body: in a header of its own, or a field of the signature's."""

    header: HeaderName | None = None
    field: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]{1,32}$")] | None = None
    form: TimeForm = "unix_s"
    tolerance_s: Tolerance = 300

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.header is None) == (self.field is None):
            raise ValueError("give either `header` or `field`")
        return self


class HmacScheme(ConnectionPart):
    """An HMAC in a header, over the body or over a text that holds it.

    ``field`` names the signatures where the header holds several ``name=value`` parts, as ``t=…,v1=…``; ``prefix`` is
    what a plain signature begins with. ``signed`` is what is signed, with ``{timestamp}`` and ``{body}`` in it.
    """

    header: HeaderName
    secrets: Annotated[tuple[Secret, ...], Field(min_length=1)]
    encoding: Literal["hex", "base64"]
    algorithm: Literal["sha256", "sha384", "sha512"] = "sha256"
    prefix: Annotated[str, Field(pattern=r"^([!-~][ -~]{0,31})?$")] = ""
    field: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]{1,32}$")] | None = None
    timestamp: SignedTime | None = None
    signed: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.field is not None and self.prefix:
            raise ValueError("prefix: a signature that is a field has no prefix")
        if self.timestamp is not None and self.timestamp.field is not None:
            if self.field is None:
                raise ValueError(
                    "timestamp.field: the header has no fields, since `field` names none for the signature"
                )
            if self.timestamp.field == self.field:
                raise ValueError("timestamp.field: this is the signature's field")
        self._check_template()
        return self

    def _check_template(self) -> None:
        before, found, after = self._template.partition("{timestamp}")
        if not self._template.endswith("{body}") or "{" in (before + after).removesuffix("{body}"):
            raise ValueError("signed: must end with {body}, and hold each of {timestamp} and {body} once")
        if self.timestamp is None and found:
            raise ValueError("signed: holds {timestamp}, and no `timestamp` says where it stands")
        if self.timestamp is not None and not found:
            raise ValueError("signed: lacks {timestamp}, so anybody could give an old delivery a new time")
        if self.timestamp is not None and (after == "{body}" or after[0].isalnum()):
            raise ValueError("signed: something that is no letter and no digit must stand behind {timestamp}")

    @property
    def _template(self) -> str:
        if self.signed is not None:
            return self.signed
        return "{body}" if self.timestamp is None else "{timestamp}.{body}"

    def check(self, delivery: Delivery) -> None:
        """See that one of the secrets has signed the delivery and, where a time is signed, when it arrived.

        Raises:
            NotAuthentic: none has, or not then.
        """
        value = header(delivery, self.header)
        fields = list(_fields(value)) if self.field is not None else []
        sent = self._sent(delivery, fields)
        if self.field is not None:
            given = [decoded(one, self.encoding) for name, one in fields if name == self.field]
        elif value.startswith(self.prefix):
            given = [decoded(value.removeprefix(self.prefix), self.encoding)]
        else:
            raise NotAuthentic(f"the header {self.header} does not begin with {self.prefix!r}")
        text = self._template.removesuffix("{body}").replace("{timestamp}", sent)
        signed = text.encode() + delivery.body
        keys = [secret.get_secret_value().encode() for secret in self.secrets]
        if not matches(given, (hmac.digest(key, signed, self.algorithm) for key in keys)):
            raise NotAuthentic(f"the header {self.header} holds no signature of this delivery by one of the secrets")

    def _sent(self, delivery: Delivery, fields: list[tuple[str, str]]) -> str:
        if self.timestamp is None:
            return ""
        if self.timestamp.header is not None:
            sent, where = header(delivery, self.timestamp.header), self.timestamp.header
        else:
            times = [value for name, value in fields if name == self.timestamp.field]
            if len(times) != 1:
                raise NotAuthentic(f"the header {self.header} does not hold one time, as `{self.timestamp.field}`")
            sent, where = times[0], f"{self.header}, {self.timestamp.field}"
        check_age(instant_ms(sent, self.timestamp.form, where), delivery.arrived_ms, self.timestamp.tolerance_s)
        return sent


class SignatureSchemes(ConnectionPart):
    """Which of the schemes: one."""

    standard_webhooks: StandardWebhooksScheme | None = None
    hmac: HmacScheme | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.standard_webhooks is None) == (self.hmac is None):
            raise ValueError("give either `standard_webhooks` or `hmac`")
        return self

    def check(self, delivery: Delivery) -> None:
        """See that the provider has signed the delivery.

        Raises:
            NotAuthentic: it has not.
        """
        scheme = self.standard_webhooks or self.hmac
        assert scheme is not None  # noqa: S101 - there is one
        scheme.check(delivery)


def header(delivery: Delivery, name: str) -> str:
    """Return a header's value.

    Raises:
        NotAuthentic: it is missing.
    """
    value = delivery.headers.get(name.lower())
    if value is None:
        raise NotAuthentic(f"the header {name} is missing")
    return value


def _fields(value: str) -> Iterator[tuple[str, str]]:
    for part in value.split(","):
        name, equals, content = part.strip().partition("=")
        if equals:
            yield name, content


def instant_ms(text: str, form: TimeForm, where: str) -> int:
    """Read the time of signing, in milliseconds since the epoch.

    Raises:
        NotAuthentic: it is none.
    """
    if form == "rfc3339":
        try:
            return parse_instant(text).start_ms
        except ValueError as error:
            raise NotAuthentic(f"{where}: {error}") from None
    if _UNIX.fullmatch(text) is None:
        raise NotAuthentic(f"{where}: {text[:64]!r} is no whole number of seconds or milliseconds")
    return int(text) * (1000 if form == "unix_s" else 1)


def check_age(signed_ms: int, arrived_ms: int, tolerance_s: int) -> None:
    """See that a delivery was signed when it arrived.

    Raises:
        NotAuthentic: it was not.
    """
    away = abs(arrived_ms - signed_ms)
    if away > tolerance_s * 1000:
        raise NotAuthentic(
            f"the delivery was signed {away // 1000} s away from its arrival at {to_rfc3339(arrived_ms)}, and"
            f" {tolerance_s} s are tolerated"
        )


def decoded(signature: str, encoding: Literal["hex", "base64"]) -> bytes:
    """Return a signature's bytes; none at all for what is not encoded as it must be, which matches nothing."""
    try:
        text = signature.encode("ascii")
        return base64.b64decode(text, validate=True) if encoding == "base64" else binascii.unhexlify(text)
    except (UnicodeEncodeError, binascii.Error):
        return b""


def matches(given: list[bytes], right: Iterable[bytes]) -> bool:
    """Compare signatures in constant time: how long it takes says nothing about which of them was nearly right."""
    found = False
    for digest in right:
        for one in given[:_MAX_SIGNATURES]:
            found |= hmac.compare_digest(digest, one)
    return found
