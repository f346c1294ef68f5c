"""Instructions of items and documents stand above the texts that they are about, as text."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.browser.axe import violations

SOURCES = ["The old dog barked.", "Nobody slept.", "Good morning!"]
TEXTS = ["Der alte Hund bellte.", "Niemand schlief.", "Guten Morgen!"]
FORMAL = (
    "<p>Keep it <b>formal</b>.</p><script>document.title = 'ran'</script><img src=x onerror=\"document.title='ran'\">"
)
SHORT = "Short & <u>spoken</u> only"


def give(*of_segments: str | None, document: str | None = None) -> tuple[str, ...]:
    """Statements that put instructions into a campaign: of its segments, and of its documents."""
    told = [
        "UPDATE segments SET meta = '" + json.dumps({"instructions": html}).replace("'", "''") + "'"
        f" WHERE campaign_id = %(id)s AND position = {position}"
        for position, html in enumerate(of_segments, 1)
        if html is not None
    ]
    if document is not None:
        whole = json.dumps({"evaluation_instruction": document}).replace("'", "''")
        told.append(f"UPDATE documents SET meta = '{whole}' WHERE campaign_id = %(id)s")
    return tuple(told)


@pytest.fixture
def at(campaign, rater):
    def arrive(*change: str, **how: object):
        return rater(campaign(protocol="da", outputs=TEXTS, sources=SOURCES, systems=("sysA",), change=change, **how))

    return arrive


def test_instructions_stand_above_the_first_of_the_segments_that_share_them(at):
    page = at(*give(FORMAL, FORMAL, SHORT)).page

    told = page.locator(".item-instructions")
    expect(told).to_have_count(2)
    expect(told.nth(0).locator("p")).to_have_text("Keep it formal.")
    expect(told.nth(1).locator("p")).to_have_text("Short & spoken only")
    assert page.locator(".item-instructions + .row").evaluate_all("rows => rows.map((row) => row.dataset.segment)") == [
        "1",
        "3",
    ]
    assert "ran" not in page.title()
    assert violations(page) == []


def test_those_of_a_document_hold_for_the_segments_that_have_none(at):
    page = at(*give(None, SHORT, document="Write as close friends talk.")).page

    expect(page.locator(".item-instructions p")).to_have_text(
        ["Write as close friends talk.", "Short & spoken only", "Write as close friends talk."]
    )


def test_without_instructions_there_is_nothing(at):
    expect(at().page.locator(".item-instructions")).to_have_count(0)
