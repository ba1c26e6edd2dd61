"""Cases at their end, one for each verdict, and the record of it."""

from typing import Any

from casework import CAPTURE_KEY, DAY, DOWN, MINUTE, PAYPAL, WRONG, CaseWork, case, found, refunded, start

REFUND = "$observed.refund_readback.data.refund"


def verified() -> CaseWork:
    """Read back and told of by an event, delivered twice."""
    work = case(start(), refunded(300), refunded(400))
    work.answer(600, found())
    return work


def contradicted() -> CaseWork:
    """Verified, and a day later a second refund."""
    work = verified()
    work.send(refunded(DAY, 2, born="2026-03-12T15:50:00Z"))
    return work


def failed() -> CaseWork:
    """A transaction that failed at the gateway."""
    work = case(start())
    work.tick(1000)
    work.answer(1500, found(status="FAILURE", amount="0.0"))
    return work


def timed_out() -> CaseWork:
    """A PayPal refund that nothing was ever seen of."""
    work = case(start(contract=PAYPAL), key=CAPTURE_KEY)
    work.run(15 * MINUTE + 1, DOWN)
    return work


def wrong_amount() -> CaseWork:
    """Another amount, read after the stale-read window."""
    work = case(start(MINUTE))
    work.answer(MINUTE + 500, WRONG)
    return work


def last(work: CaseWork) -> dict[str, Any]:
    """The last verdict's record."""
    record: dict[str, Any] = [one.record for one in work.told if hasattr(one, "verdict_id")][-1]
    return record


def rules(record: dict[str, Any], group: str) -> dict[str, dict[str, Any]]:
    """The rules of one group as a record shows them, by their ids."""
    return {one["id"]: one for one in record["evidence"][group]}
