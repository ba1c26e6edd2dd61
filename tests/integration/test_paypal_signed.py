"""A real worker that checks PayPal's signatures itself."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
import yaml
from system import System

from streams.simulation import paypal
from streams.simulation.signing import Signer

WEBHOOK = "5GP028458E2496506"


def believe(system: System, signer: Signer) -> None:
    """Have PayPal's connection check signatures, by a simulated PayPal's certificate."""
    path = system.directory / "connections.yaml"
    document: Any = yaml.safe_load(path.read_text())
    (account,) = [one for one in document["connections"] if one["provider"] == "paypal"]
    account["webhook_auth"] = {"webhook_id": WEBHOOK, "certificates": {signer.url: signer.certificate}}
    path.write_text(yaml.safe_dump(document))


@pytest.mark.timeout(120)
async def test_what_paypal_has_signed_is_verified_and_a_forgery_is_a_dead_letter(system: System):
    signer, forger = Signer(), Signer()
    believe(system, signer)
    await system.start_worker()
    inputs = {"capture_id": "7CAP1", "amount": "60.00", "currency_code": "USD"}
    asked = await system.start("paypal.refund.recorded", inputs, "op-1")
    made = paypal.Refund("8REF1", "7CAP1", "60.00", datetime.now(UTC))
    system.account.add(made)
    await system.publish("operations", orjson.dumps(asked | {"action": {"result": {"id": made.id}}}))
    second = paypal.Refund("8REF2", "7CAP1", "60.00", datetime.now(UTC))  # it would contradict, were it true

    for refund, by in ((second, forger), (made, signer)):
        sent = paypal.capture_refunded(refund, webhook_id=WEBHOOK, sent_at=datetime.now(UTC), signer=by)
        await system.deliver(sent, "pp")

    (verdict,) = await system.verdicts("op-1")
    assert verdict["verdict"] == "VERIFIED"
    (letter,) = await system.read("dead-letters", lambda found: len(found) == 1)
    assert dict(letter.headers)["dead_letter_class"] == b"not_authentic"
