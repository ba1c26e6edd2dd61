"""Signed deliveries as a worker takes them in: certificates first, then purely."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from accounts import CATALOGUE, paypal, sample, shop, signed
from authority import LEAF, MIDDLE, ROOT, SENT_MS, URL, WEBHOOK, pem, transmitted

from contracts.instants import to_rfc3339
from streams.intake import Context, certificates_for, take_delivery
from streams.outputs import Output, Refused, ToCase
from streams.policy import Policy
from verifiers import certificates as module
from verifiers.certificates import Certificates
from verifiers.events import Delivery

BODY = sample("paypal_webhook_capture_refunded.body")
NOW = SENT_MS + 5000


@dataclasses.dataclass(frozen=True)
class Rec:
    """A record of the topic `webhooks`."""

    headers: Sequence[tuple[str, bytes | None]]
    value: bytes | None = BODY
    topic: str = "webhooks"
    partition: int = 0
    offset: int = 7
    timestamp: int = SENT_MS + 3000
    key: bytes | None = None


def record(delivery: Delivery, connection: str = "pay", *, spell: Any = str.upper, arrived: bool = True) -> Rec:
    """What a gateway puts on the topic, each header's name spelled in some way."""
    headers = [(spell(name), value.encode("latin-1")) for name, value in delivery.headers.items()]
    headers.append(("connection_id", connection.encode()))
    if arrived:
        headers.append(("arrived_at", to_rfc3339(delivery.arrived_ms).encode()))
    return Rec(headers, delivery.body)


@pytest.fixture
def served() -> list[httpx.Response]:
    """What PayPal answers to each request for a certificate."""
    return []


@pytest.fixture
def context(served: list[httpx.Response], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    monkeypatch.setattr(module, "_PAUSES_S", (0.0, 0.0))
    roots = tmp_path / "roots.pem"
    roots.write_bytes(pem(ROOT.certificate))
    auth = {"webhook_id": ["OLD", WEBHOOK], "trust_file": str(roots)}
    connections = {
        "pay": paypal(base_url="https://api-m.paypal.com", webhook_auth=auth),
        "believed": paypal(id="believed"),
        "acme": shop(),
    }
    transport = httpx.MockTransport(lambda _: served.pop(0))
    return Context(CATALOGUE, connections, Policy(), Certificates(transport))


async def take(context: Context, *records: Rec, now: int = NOW) -> list[Output]:
    """Take records in as the worker does."""
    await context.certificates.obtain(certificates_for(records, context, now))
    return [output for one in records for output in take_delivery(one, context, now)]  # type: ignore[arg-type]


def classes(outputs: list[Output]) -> list[str]:
    return [output.class_ if isinstance(output, Refused) else type(output).__name__ for output in outputs]


GOOD = httpx.Response(200, content=pem(LEAF, MIDDLE.certificate))


@pytest.mark.parametrize("spell", [str.upper, str.lower, str.title, lambda name: name.replace("paypal", "PayPal")])
async def test_a_delivery_is_taken_in_however_its_headers_are_spelled(
    spell: Any, context: Context, served: list[httpx.Response]
) -> None:
    served.append(GOOD)
    (output,) = await take(context, record(transmitted(BODY), spell=spell))
    assert isinstance(output, ToCase)
    assert output.key == "case/pay/capture_id/7CAP00001TEST001A"


@pytest.mark.parametrize("spell", [str.upper, str.lower, str.title])
async def test_shopifys_headers_may_be_spelled_in_any_way_too(spell: Any, context: Context) -> None:
    delivery = signed(sample("shopify_webhook_refunds_create.body"))
    outputs = await take(context, record(dataclasses.replace(delivery, arrived_ms=NOW), "acme", spell=spell))
    assert classes(outputs) == ["ToCase"]


async def test_one_certificate_serves_all_the_deliveries_of_a_unit(
    context: Context, served: list[httpx.Response]
) -> None:
    served.append(GOOD)
    flipped = dataclasses.replace(transmitted(BODY), body=BODY[:-1] + b" ")
    records = [record(transmitted(BODY)), record(flipped), record(transmitted(BODY))]
    assert classes(await take(context, *records)) == ["ToCase", "not_authentic", "ToCase"]


async def test_a_certificate_that_cannot_be_had_is_no_forgery_and_the_letter_can_be_put_back(
    context: Context, served: list[httpx.Response], monkeypatch: pytest.MonkeyPatch
) -> None:
    served += [httpx.Response(503)] * 3
    one = record(transmitted(BODY))
    (refused,) = await take(context, one)
    assert isinstance(refused, Refused)
    assert (refused.class_, refused.value, refused.headers) == ("certificate_unavailable", BODY, tuple(one.headers))
    assert refused.reason.endswith("is not at hand: its address answered 503")
    # Weeks later, when the certificate has ended and PayPal would no longer send: it is as good as it was.
    served.append(GOOD)
    clock = context.certificates._now() + 61
    monkeypatch.setattr(context.certificates, "_now", lambda: clock)
    back = dataclasses.replace(one, headers=[*one.headers, ("requeued from", b"webhooks/0/7")], offset=99)
    assert classes(await take(context, back, now=NOW + 400 * 86_400_000)) == ["ToCase"]


async def test_what_is_refused_anyway_costs_no_request(context: Context) -> None:
    forged = [
        record(transmitted(BODY, paypal_cert_url="https://evil.test/v1/notifications/certs/CERT-1")),
        record(transmitted(BODY, paypal_cert_url=None)),
        record(transmitted(BODY, paypal_auth_algo="none")),
        record(transmitted(BODY, arrived_ms=SENT_MS + 5 * 86_400_000)),
    ]
    assert classes(await take(context, *forged, now=NOW + 10 * 86_400_000)) == ["not_authentic"] * 4
    unknown = [
        record(transmitted(BODY), "nobody"),
        record(dataclasses.replace(transmitted(BODY), body=b"x"), "believed"),
    ]
    unknown.append(dataclasses.replace(record(transmitted(BODY)), value=None))
    assert classes(await take(context, *unknown)) == ["unknown_connection", "not_json", "not_json"]


async def test_a_gateway_that_says_no_time_leaves_the_records_own(
    context: Context, served: list[httpx.Response]
) -> None:
    served.append(GOOD)
    (output,) = await take(context, record(transmitted(BODY), arrived=False))
    assert isinstance(output, ToCase)
    late = dataclasses.replace(record(transmitted(BODY), arrived=False), timestamp=SENT_MS + 4 * 86_400_000)
    assert classes(await take(context, late, now=NOW + 5 * 86_400_000)) == ["not_authentic"]


def test_without_an_account_that_needs_them_no_record_is_looked_at(context: Context) -> None:
    others = {name: context.connections[name] for name in ("acme", "believed")}
    without = dataclasses.replace(context, connections=others)
    assert certificates_for([object()], without, NOW) == []  # type: ignore[list-item]


def test_the_addresses_are_named_once_and_in_their_order(context: Context) -> None:
    other = URL.replace("CERT-3", "CERT-4")
    records = [record(transmitted(BODY, paypal_cert_url=one)) for one in (URL, other, URL, other)]
    assert certificates_for(records, context, NOW) == [URL, other]  # type: ignore[arg-type]
