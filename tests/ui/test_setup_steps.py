"""The way of a campaign: what is done, what comes next, and that each step leads to a page."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from app.reports.inputs.campaign import CampaignInfo
from app.services.campaigns import campaigns
from app.services.campaigns.campaigns import NewCampaign
from app.services.campaigns.setup import CampaignSetupFacts, get_setup_facts
from app.storage.db import Database
from app.ui.manager import page_table
from app.ui.manager.pages import WAY
from app.ui.manager.setup_steps import find_next_step, list_setup_steps
from app.ui.messages import load_page_messages

NOTHING = CampaignSetupFacts(
    documents=0,
    systems=0,
    raters=0,
    outputs=False,
    guidelines=False,
    consent=False,
    plan=False,
    work_left=False,
    tasks=False,
    judgments=False,
    side_by_side=False,
    arms=False,
    metrics=False,
    lock=False,
)
TEXTS = replace(NOTHING, documents=2, systems=2, outputs=True)
RATERS = replace(TEXTS, raters=1)
PLANNED = replace(RATERS, plan=True, tasks=True, work_left=True)
JUDGED = replace(PLANNED, judgments=True)
DONE = replace(JUDGED, work_left=False, lock=True)
ENGLISH = load_page_messages("en")


@pytest.fixture
def campaign(database: Database) -> CampaignInfo:
    """A draft without anything."""
    with database.transaction() as session:
        return campaigns.create_campaign(session, NewCampaign(key="new", protocol="esa"), actor="test")


@pytest.mark.parametrize(
    ("facts", "state", "expected"),
    [
        (NOTHING, "draft", "Texts"),
        (replace(TEXTS, systems=1), "draft", "Texts"),
        (TEXTS, "draft", "Raters"),
        (RATERS, "draft", "Design and plan"),
        (PLANNED, "planned", "Opening"),
        (PLANNED, "open", "Watching"),
        (JUDGED, "paused", "Watching"),
        (DONE, "open", None),
        (replace(DONE, lock=False), "closed", "Analysis"),
        (replace(TEXTS, judgments=True), "draft", "Analysis"),  # imported
    ],
)
def test_the_first_thing_that_is_missing_comes_next(
    facts: CampaignSetupFacts, state: str, expected: str | None, campaign: CampaignInfo
) -> None:
    found = find_next_step(list_setup_steps(facts, replace(campaign, state=state), ENGLISH))
    assert (found.name if found else None) == expected


def test_imported_judgments_need_no_raters_and_no_plan(campaign: CampaignInfo) -> None:
    states = {step.name: step.state for step in list_setup_steps(replace(TEXTS, judgments=True), campaign, ENGLISH)}
    assert [name for name, state in states.items() if state == "skipped"] == [
        "Guidelines and consent",
        "Raters",
        "Design and plan",
        "Rehearsal",
        "Opening",
        "Watching",
    ]


def test_every_step_leads_to_a_page_and_only_a_planned_campaign_is_opened(campaign: CampaignInfo) -> None:
    ends = {page.path for page in page_table.PAGES.values()}
    for facts in (NOTHING, TEXTS, RATERS, PLANNED, JUDGED, DONE):
        for state in ("draft", "planned", "open", "paused", "closed"):
            steps = list_setup_steps(facts, replace(campaign, state=state), ENGLISH)
            assert {step.page for step in steps} <= ends
            posts = [step.post for step in steps if step.post]
            assert posts == (["open"] if state == "planned" else [])


def test_the_facts_are_those_of_the_campaign(database: Database, campaign: CampaignInfo, demo: str) -> None:
    with database.transaction() as session:
        assert get_setup_facts(session, campaign.key) == NOTHING
        assert get_setup_facts(session, "no-such-campaign") == NOTHING
        known = get_setup_facts(session, demo)
    assert (known.documents, known.systems, known.raters) == (24, 8, 0)
    said = {one.name: getattr(known, one.name) for one in fields(known) if one.type == "bool"}
    assert said == {
        "outputs": True,
        "guidelines": False,
        "consent": False,
        "plan": False,
        "work_left": False,
        "tasks": True,
        "judgments": True,
        "side_by_side": False,
        "arms": False,
        "metrics": False,
        "lock": False,
    }


def test_the_overview_shows_the_way_to_managers_alone(sign_in: Any, demo: str) -> None:
    assert sign_in("manager").get(f"/campaigns/{demo}/overview").text.count('<li class="is-') == 10
    for role in ("viewer", "coordinator"):
        assert '<li class="is-' not in sign_in(role).get(f"/campaigns/{demo}/overview").text


def test_pages_of_a_draft_say_what_comes_next_and_what_cannot_be_used_yet(sign_in: Any, campaign: CampaignInfo) -> None:
    browser = sign_in("manager")
    shown = browser.get(f"/campaigns/{campaign.key}/raters").text
    aside = shown.partition('<aside id="next-step"')[2].partition("</aside>")[0]
    assert f'href="/campaigns/{campaign.key}/texts"' in aside
    menu = shown.partition('<details class="sidebar"')[2].partition("</nav>")[0]
    for page in page_table.PAGES.values():
        assert (f'<span class="not-yet">{page.name}</span>' in menu) == (page.needs is not None), page.name
    assert menu.count("after the first judgments") == 3  # in each of the sections that have such pages


def test_steps_are_told_in_the_language_of_the_page(campaign: CampaignInfo) -> None:
    german = load_page_messages("de", WAY)
    for facts in (NOTHING, TEXTS, RATERS, PLANNED, JUDGED, DONE):
        marked = [
            step.status_text for step in list_setup_steps(facts, campaign, german) if "<span lang=" in step.status_text
        ]
        assert marked == ['<span lang="en">Error span annotation</span>']  # the protocol's own title
