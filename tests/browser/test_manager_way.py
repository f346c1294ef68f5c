"""A manager's way through the pages only: from nothing to a ranking of published data, and from nothing to closed."""

from __future__ import annotations

import gzip
import json
import threading
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app.cli.kit.simulated_raters import SimulatedRaterSettings
from app.cli.simulate import run_rehearsal
from app.simulation.rater_model_template import make_rater_model_template
from tests.browser.desk import glance, sign_in
from tests.browser.test_accessible import check
from tests.judged_demo import load_judged
from tests.spine import SHARED, TED
from tests.working import draining

SLOW = 90_000  # milliseconds: of what is worked out while the page waits
SYSTEMS = ("good", "fair", "poor")
QUALITIES = {"good": 90.0, "fair": 75.0, "poor": 55.0}
RATERS = "r1, r2, r3"


def new_campaign(page: Page, url: str, key: str, protocol: str, **more: str) -> None:
    """Fill in the form of a new campaign."""
    page.goto(f"{url}/campaigns")
    page.get_by_role("link", name="New campaign").first.click()
    page.wait_for_url("**/new-campaign")  # and until it is loaded: its form has no script before
    page.get_by_label("Key", exact=True).fill(key)
    page.get_by_label("Protocol", exact=True).select_option(protocol)
    for label, value in more.items():
        field = page.get_by_label(label.replace("_", " ").capitalize(), exact=True)
        if field.evaluate("one => one.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
    page.get_by_role("button", name="Create campaign").click()
    page.wait_for_url(f"**/campaigns/{key}/texts")


def test_lines():
    """The texts of the second campaign are what the format reads."""
    assert len(texts().splitlines()) == 1 + 3 + 6 + 12 + 36


def texts(documents: int = 6, segments: int = 2) -> str:
    """A test set with outputs of three systems."""
    lines: list[dict[str, object]] = [{"type": "plumbline", "version": 1}]
    lines += [{"type": "system", "key": key, "name": key} for key in SYSTEMS]
    for d in range(1, documents + 1):
        lines.append({"type": "document", "key": f"doc-{d}", "name": f"doc-{d}", "position": d})
        for n in range(1, segments + 1):
            where = {"document": f"doc-{d}", "position": n}
            source = f"Sentence {n} of document {d} was written by somebody on a quiet morning in the spring."
            lines.append({"type": "segment", **where, "source": source})
            for system in SYSTEMS:
                text = f"Der Satz {n} im Dokument {d} wurde an einem stillen Morgen im Frühling geschrieben, {system}."
                lines.append({"type": "output", **where, "system": system, "text": text})
    return "\n".join(json.dumps(line) for line in lines)


@pytest.mark.parametrize("talk", ["talk.3", pytest.param("", marks=pytest.mark.soak)], ids=["shortest", "all"])
def test_a_manager_uploads_published_judgments_and_ranks_them(talk, page, served, spine, tmp_path):
    whole = Path(SHARED / "data" / TED)
    if not whole.exists():
        pytest.skip(f"no public data at {whole.parent.name}")
    heading, *lines = gzip.decompress(whole.read_bytes()).splitlines(keepends=True)
    wanted = [line for line in lines if not talk or f"\t{talk}\t".encode() in line]
    path = tmp_path / whole.name
    path.write_bytes(gzip.compress(b"".join([heading, *wanted])))
    sign_in(page, served.url, spine, "manager")
    new_campaign(page, served.url, f"ted{talk[5:]}", "mqm", weights_of_errors="freitag2021", source_language="en")
    page.get_by_label("Format").select_option("jsonl")
    page.get_by_label("Files").set_input_files(path)
    page.get_by_role("button", name="Check only").click()
    said = page.locator("#upload .said")
    expect(said).to_contain_text("mqm_ted_ende.tsv.gz", timeout=SLOW)  # the error names the file, and the line
    glance(page, "an import that fails")
    page.get_by_label("Format").select_option("mqm-tsv")
    page.get_by_role("button", name="Read and store").click()
    expect(page.get_by_role("heading", name="Stored", exact=True).first).to_be_visible(timeout=SLOW)
    expect(said).to_be_empty()
    glance(page, "what an import stored")
    page.get_by_role("link", name="See the ranking").click()
    rows = page.get_by_role("region", name="Ranking of the systems").locator("tbody tr")
    expect(rows).to_have_count(14, timeout=SLOW)


def test_a_manager_sets_up_watches_and_closes_a_campaign(page, served, spine):
    sign_in(page, served.url, spine, "manager")
    new_campaign(page, served.url, "own", "da", source_language="en", target_language="de")
    page.get_by_text("Paste instead").click()
    page.get_by_label("Content of a file").fill(texts())
    page.get_by_role("button", name="Read and store").click()
    page.get_by_role("link", name="Enrol raters").click()
    page.wait_for_url("**/raters")
    page.get_by_label("Keys of raters").fill(RATERS)
    page.get_by_role("button", name="Enrol").click()
    expect(page.get_by_role("cell", name="active")).to_have_count(3)
    page.get_by_role("button", name="New link for r1").click()
    expect(page.locator(".secret")).to_contain_text("#token=plb_")
    glance(page, "a link")
    design(page, served.url)
    page.goto(f"{served.url}/campaigns/own/overview")
    page.get_by_role("button", name="Open").click()
    expect(page.locator("#state")).to_have_text("open")
    expect(page.get_by_role("button", name="Close")).to_be_visible()
    judge(served)
    expect(page.locator("#live")).to_contain_text("100 %", timeout=SLOW)  # without loading the page again
    check(page, "live progress")
    exclude(page, served.url)
    close(page, served.url)


def design(page: Page, url: str) -> None:
    """Look at a plan, then freeze it."""
    page.goto(f"{url}/campaigns/own/design")
    page.get_by_label("Ratings of an item").fill("2")
    page.get_by_label("Share rated twice").fill("")
    page.get_by_label("Share of repeats").fill("0.1")
    page.get_by_role("button", name="Preview the plan").click()
    expect(page.get_by_role("heading", name="Preview of the plan")).to_be_visible(timeout=SLOW)
    glance(page, "a plan that is looked at")
    page.get_by_role("button", name="Freeze it").click()
    expect(page.get_by_role("heading", name="Plan 1, frozen")).to_be_visible(timeout=SLOW)
    expect(page.locator("#plan img")).to_have_js_property("complete", value=True)
    check(page, "a frozen plan")


def judge(served) -> None:
    """Simulated raters work over HTTP; in a thread, as the browser's driver has the loop of this one."""
    managed = served.managed("own")
    model = make_rater_model_template(
        managed.fetch_campaign_for_simulation(),
        managed.fetch_outputs_for_simulation(),
        managed.list_active_raters(),
        seed=1,
        qualities=QUALITIES,
    )
    failed: list[BaseException] = []

    def work() -> None:
        try:
            run_rehearsal(managed, model, SimulatedRaterSettings(workers=3))
        except BaseException as error:
            failed.append(error)
            raise

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(SLOW / 1000)
    assert not failed
    assert not thread.is_alive()


def exclude(page: Page, url: str) -> None:
    """Exclude a rater: not without a reason, not before the preview, and it stands in the list then."""
    page.goto(f"{url}/campaigns/own/quality")
    page.get_by_role("button", name="Exclude r2").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Exclude", exact=True)).to_be_disabled()
    dialog.get_by_label("Reason").fill("rates everything alike")
    dialog.get_by_role("button", name="Preview the effect").click()
    expect(dialog.get_by_role("region", name="Ranking before and after")).to_be_visible(timeout=SLOW)
    glance(page, "the preview of an exclusion")
    dialog.get_by_role("button", name="Exclude", exact=True).click()
    expect(page.get_by_role("cell", name="rater r2")).to_be_visible(timeout=SLOW)
    glance(page, "an exclusion")


def close(page: Page, url: str) -> None:
    """Close the campaign, after being asked, and see the ranking."""
    page.goto(f"{url}/campaigns/own/overview")
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Close it").click()
    expect(page.get_by_role("button", name="Open again")).to_be_visible()
    expect(page.get_by_role("link", name="See the ranking")).to_be_visible()
    facts = page.locator("#live dt")
    expect(facts.get_by_text("Judgments", exact=True)).to_be_visible()
    for ended in ("Pace", "Expected end at this pace"):  # nobody goes on
        expect(facts.get_by_text(ended, exact=True)).to_have_count(0)
    publish(page, url)
    page.goto(f"{url}/campaigns/own/overview")
    page.locator(".sidebar > summary").click()  # the window is as narrow as a phone since the last look
    page.get_by_role("link", name="Results").click()
    rows = page.get_by_role("region", name="Ranking of the systems").locator("tbody tr")
    expect(rows).to_have_count(3, timeout=SLOW)
    assert "good" in rows.first.inner_text()


def publish(page: Page, url: str) -> None:
    """Create the public archive; its copied address opens it."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{url}/campaigns/own/exports")
    archive = page.locator("#archive")
    archive.get_by_role("button", name="Create a public link").click()
    archive.get_by_role("button", name="Copy the link").click()
    expect(archive.locator("button.is-done")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == archive.get_by_role("link").first.get_attribute("href")
    page.goto(copied)
    expect(page.locator("main ul a").first).to_be_visible()


@pytest.mark.soak  # `test_manager_pages` does the same with another report that takes long
def test_stability_is_simulated_by_a_job_that_can_be_cancelled(page, served, spine):
    demo = load_judged(spine.database)
    sign_in(page, served.url, spine, "manager")
    page.goto(f"{served.url}/campaigns/{demo}/stability")
    page.get_by_label("Studies", exact=True).fill("20")
    page.get_by_label("Studies per document set").fill("10")
    page.get_by_label("Documents").fill("4")
    page.get_by_role("button", name="Simulate").click()
    expect(page.locator("#job progress")).to_be_visible()
    glance(page, "a job")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("[data-told]")).to_contain_text("Cancelled")
    with draining(spine.database):
        page.get_by_role("link", name="Retry").click()
        again = page.get_by_role("link", name="Retry")
        table = page.get_by_role("region", name="Stability by design")
        expect(table.or_(again).first).to_be_visible(timeout=SLOW)
        expect(table).to_be_visible(timeout=SLOW)
    expect(page.locator("svg.plot").first).to_be_visible()
    glance(page, "stability")
