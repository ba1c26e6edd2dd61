"""The pages that the catalogue's files render, held against the published ones."""

import re
from pathlib import Path
from typing import Any

import pytest
from mutation import DROP, PAYPAL, SHOPIFY, mutated

from contracts.catalogue import Catalogue
from contracts.page import render_page

PAGES = Path(__file__).parents[2] / "data" / "pages"
PUBLISHED = sorted(path.stem for path in PAGES.glob("*.md"))
HEADING = re.compile(r"^#{1,3} .*$", re.MULTILINE)
BETWEEN_CELLS = re.compile(r"(?<!\\)\|")


def rendered(contract_id: str) -> str:
    return render_page(Catalogue.load().get(contract_id))


def published(contract_id: str) -> str:
    return (PAGES / f"{contract_id}.md").read_text(encoding="utf-8")


def sections(page: str) -> dict[str, list[Any]]:
    """Split a page at its headings; a table's row becomes the list of its cells."""
    bodies = HEADING.split(page)[1:]
    return {
        heading: [_line(line) for line in body.splitlines()]
        for heading, body in zip(HEADING.findall(page), bodies, strict=True)
    }


def _line(line: str) -> Any:
    return [cell.strip() for cell in BETWEEN_CELLS.split(line)[1:-1]] if line.startswith("|") else line


def section_of(changes: dict[str, Any], heading: str, contract_file: str = PAYPAL) -> str:
    page = render_page(mutated(contract_file, changes))
    return HEADING.split(page.split(heading, maxsplit=1)[1], maxsplit=1)[0]


def test_every_built_in_contract_that_names_a_page_has_it_here() -> None:
    with_page = [contract.id for contract in Catalogue.load().contracts if contract.published.canonical]
    assert sorted(with_page) == PUBLISHED


def test_a_contract_without_a_page_of_its_own_says_nothing_of_one() -> None:
    page = render_page(
        mutated(PAYPAL, {f"published.{name}": DROP for name in ("hash", "canonical", "skill", "read_next")})
    )
    for word in ("Canonical:", "Skill", "Hash", "Read next", "None"):
        assert word not in page
    head = page.split("*Contract identity.*", maxsplit=1)[0]
    assert "Last reviewed: 2026-09-05  \nCertification: provisional  \n" in head


@pytest.mark.parametrize("contract_id", PUBLISHED)
def test_the_sections_are_those_of_the_published_page(contract_id: str) -> None:
    assert list(sections(rendered(contract_id))) == list(sections(published(contract_id)))


@pytest.mark.parametrize(
    ("contract_id", "heading"),
    [(contract_id, heading) for contract_id in PUBLISHED for heading in sections(published(contract_id))],
)
def test_a_section_says_what_the_published_one_says(contract_id: str, heading: str) -> None:
    ours, theirs = sections(rendered(contract_id))[heading], sections(published(contract_id))[heading]
    for index, (line, expected) in enumerate(zip(ours, theirs, strict=False), start=1):
        assert line == expected, f"line {index} of {heading!r}"
    assert len(ours) == len(theirs)


@pytest.mark.parametrize("contract_id", PUBLISHED)
def test_a_page_equals_the_published_one_byte_for_byte(contract_id: str) -> None:
    assert rendered(contract_id).encode() == (PAGES / f"{contract_id}.md").read_bytes()


SUBJECT = "## What is the subject and the action?"
EVIDENCE = "## Which evidence does the contract require?"
CONDITIONS = "## Which conditions must all hold for VERIFIED?"
CONTRADICTIONS = "## Which conditions give CONTRADICTED?"
TIMING = "## How long does the runtime observe?"
ALONE = "### Can paypal.refund.recorded return VERIFIED from the action response alone?"
AFTER = "### What happens after the timeout?"


@pytest.mark.parametrize(
    ("changes", "heading", "said"),
    [
        ({"idempotency.retry_is_safe": False}, SUBJECT, "through `PayPal-Request-Id`, retry is not safe"),
        (
            {"subject.identity.capture_id": "$input.capture_id"},
            SUBJECT,
            "refund_id = `$action.result.id`; capture_id = `$input.capture_id`",
        ),
        (
            {"evidence.independent_channel_required": False},
            EVIDENCE,
            "An independent channel is not required.",
        ),
        ({"evidence.minimum_channels": 2}, EVIDENCE, "Minimum channels: 2."),
        ({"channels.refund_readback.description": "a | b\nc"}, EVIDENCE, r"a \| b c"),
        ({"conditions.refund_present.expected": True}, CONDITIONS, "`true`"),
        ({"conditions.refund_present.expected": "é"}, CONDITIONS, "`é`"),
        ({"contradictions": {}}, CONTRADICTIONS, "The contract declares no contradictions."),
        ({"provider_api_versions": ("v1", "v2")}, "# What does paypal.refund.recorded prove?", "`v1`, `v2`"),
        ({"timing.on_timeout.escalate": True}, TIMING, "(`evidence_unavailable_before_timeout`), escalated"),
        ({"evidence.minimum_level": "E1"}, ALONE, "No. The minimum evidence level is E1."),
        (
            {"evidence.minimum_level": "E1", "evidence.independent_channel_required": False},
            ALONE,
            "Yes. The minimum evidence level is E1.",
        ),
        ({"conditions.refund_on_intended_capture": DROP}, ALONE, "conditions read `refund_readback`."),
    ],
)
def test_a_page_says_what_the_file_says(changes: dict[str, Any], heading: str, said: str) -> None:
    assert said in section_of(changes, heading)


def test_three_channels_are_listed_with_commas() -> None:
    changes = {"conditions.refund_created_in_window.evidence": "order_refund_events"}
    heading = "### Can shopify.refund.created return VERIFIED from the action response alone?"
    assert section_of(changes, heading, SHOPIFY).endswith(
        "read `order_refund_events`, `refund_readback` and `refund_events`.\n\n"
    )


def test_no_person_is_named_where_nothing_is_escalated() -> None:
    changes = {"timing.on_timeout.escalate": False}
    assert "person" not in section_of(changes, TIMING)
    assert "person" not in section_of(changes, AFTER)


def test_a_section_without_anything_to_say_is_left_out() -> None:
    page = render_page(mutated(PAYPAL, {"published.read_next": ()}))
    assert "Read next" not in page
    assert page.endswith("for review.")
