"""How many actions a newcomer needs who takes what each page offers: each click and each filled field is one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.desk import enter, glance
from tests.judged_demo import load_judged

SLOW = 90_000  # milliseconds: of what is worked out while the page waits
SENTENCES = 8
TEXTS_TO_OPEN = 13
LINKS = 2
MAY_I_CLAIM_IT = 1
GATE_IN_CI = 5
TABLE = "source,Alpha,Beta,Gamma\n" + "".join(
    f"Sentence {n} of eight.,Satz {n} von acht.,Der Satz {n} von acht.,{n} Satz acht.\n"
    for n in range(1, SENTENCES + 1)
)


@pytest.fixture(scope="module")
def demo(spine):
    """A campaign with judgments."""
    return load_judged(spine.database)


@dataclass
class Newcomer:
    """Somebody at the pages, whose actions are counted."""

    page: Page
    actions: int = 0

    def click(self, place: Locator) -> None:
        """Click once."""
        self.actions += 1
        place.click()

    def fill(self, label: str, text: str) -> None:
        """Fill a field."""
        self.actions += 1
        self.page.get_by_label(label, exact=True).fill(text)

    def link(self, name: str) -> None:
        """Follow a link that the page offers."""
        self.click(self.page.locator("main").get_by_role("link", name=name, exact=True).first)

    def button(self, name: str) -> None:
        """Press a button."""
        self.click(self.page.get_by_role("button", name=name, exact=True))


@pytest.fixture
def newcomer(page, served, spine) -> Newcomer:
    """A manager at the list of campaigns, who has never been here."""
    enter(page, served.url, spine, "manager")
    return Newcomer(page)


@pytest.fixture
def analyst(page, served, spine, demo) -> Newcomer:
    """A manager of one campaign, at the list that has it alone."""
    enter(page, served.url, spine, "manager", campaign=demo)
    return Newcomer(page)


def test_a_table_of_sentences_becomes_an_open_campaign_whose_raters_have_links(newcomer):
    page = newcomer.page
    newcomer.link("New campaign")
    page.wait_for_function("() => document.querySelector('#main').dataset.ready")
    newcomer.fill("Name", "Eight sentences")
    newcomer.click(page.get_by_label("ESA with a crowd"))
    newcomer.button("Create campaign")
    page.wait_for_url("**/campaigns/eight-sentences/texts")
    file = {"name": "eight.csv", "mimeType": "text/csv", "buffer": TABLE.encode()}
    page.get_by_label("Files", exact=True).set_input_files(file)
    newcomer.actions += 1
    page.get_by_label("The lines are").select_option("texts of their own, one each")
    newcomer.actions += 1
    newcomer.button("Read and store")
    newcomer.link("Enrol raters")
    newcomer.fill("Keys of raters", "anna, ben")
    newcomer.button("Enrol")
    newcomer.link("Make a plan")
    newcomer.button("Freeze it")
    expect(page.locator("#plan")).to_contain_text("Plan 1, frozen", timeout=SLOW)
    newcomer.click(page.locator("#next-step").get_by_role("button", name="Open the campaign"))
    expect(page.locator("#state")).to_have_text("open")
    assert newcomer.actions <= TEXTS_TO_OPEN

    newcomer.actions = 0
    newcomer.click(page.get_by_role("link", name="2 raters have not begun"))
    newcomer.button("New links for all, as CSV")
    expect(page.get_by_role("link", name="Save the links")).to_be_visible()
    assert newcomer.actions <= LINKS


def test_which_system_is_best_and_whether_one_may_say_so_is_one_click_away(analyst, demo):
    page = analyst.page
    analyst.click(page.locator(f"a.name[href='/campaigns/{demo}']"))
    claims = page.get_by_role("region", name="What can be claimed")
    expect(claims).to_contain_text("ranks first")
    expect(claims).to_contain_text("You may")
    expect(claims).to_be_in_viewport()
    assert analyst.actions <= MAY_I_CLAIM_IT


def test_a_claim_about_a_release_becomes_a_command_for_ci(analyst, demo):
    page = analyst.page
    analyst.click(page.locator(f"a.name[href='/campaigns/{demo}']"))
    analyst.click(page.get_by_role("link", name="Gate", exact=True).first)
    analyst.fill("Candidate", "Linde")
    analyst.fill("Baseline", "Ulme")
    analyst.button("Ask")
    expect(page.get_by_role("region", name="Command for CI")).to_have_text(
        f"plumbline gate {demo} --candidate Linde --baseline Ulme"
    )
    glance(page, "a gate with its command")
    assert analyst.actions <= GATE_IN_CI
