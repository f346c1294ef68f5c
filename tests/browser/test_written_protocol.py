"""A manager writes a protocol in the browser; it is planned, judged by simulated raters, ranked and exported."""

from __future__ import annotations

import json
import threading

import pytest
from playwright.sync_api import Route, expect

from app.cli.kit.long_reports import fetch_report_when_ready
from app.cli.kit.simulated_raters import SimulatedRaterSettings
from app.cli.simulate import run_rehearsal
from app.services.campaigns.campaigns import get_campaign
from app.simulation.rater_model_template import make_rater_model_template
from tests.browser.desk import sign_in
from tests.browser.test_accessible import check
from tests.browser.test_manager_way import QUALITIES, SYSTEMS, texts
from tests.working import draining

KEY = "written"
DESIGN = {"grouping": "psxs", "ratings_per_item": 2, "task": {"columns": 2}, "seed": 1}


@pytest.fixture
def managed(served):
    """A draft with the outputs of three systems and two raters."""
    managed = served.managed(KEY)
    write, path = managed.remote.send_change, managed.campaign_path
    write("POST", "/v1/campaigns", {}, {"key": KEY, "protocol": "da", "source_language": "en", "target_language": "de"})
    lines = [json.loads(line) for line in texts(documents=3).splitlines()]
    sources: dict[str, list[dict[str, str]]] = {}
    outputs: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        if line["type"] == "segment":
            sources.setdefault(line["document"], []).append({"source": line["source"]})
        elif line["type"] == "output":
            outputs.setdefault((line["system"], line["document"]), []).append(line["text"])
    for system in SYSTEMS:
        write("PUT", f"{path}/systems/{system}", {}, {})
    for document, segments in sources.items():
        write("PUT", f"{path}/documents/{document}", {}, {"segments": segments})
    for (system, document), segments in outputs.items():
        write("PUT", f"{path}/systems/{system}/outputs/{document}", {}, {"segments": segments})
    for rater in ("r1", "r2"):
        managed.enrol_rater(rater, {})
    return managed


def test_a_protocol_that_is_written_here_is_judged_ranked_exported_and_read_again(page, served, spine, managed):
    sign_in(page, served.url, spine, "manager")
    held: list[Route] = []
    page.route(f"**/v1/campaigns/{KEY}/protocol", lambda route: held.append(route), times=1)  # noqa: PLW0108  (it takes no method of C)
    page.goto(f"{served.url}/campaigns/{KEY}/protocol")
    page.get_by_label("Start with").select_option("da")
    page.get_by_role("button", name="Write my own from it").click()
    parts = page.locator("fieldset.part")
    expect(parts).to_have_count(2)  # the score of DA, and what holds for all
    held.pop().continue_()  # what is stored is known only now, and is not put over what was begun
    expect(page.get_by_role("button", name="Save the protocol")).to_be_enabled()
    expect(page.get_by_label("Start with")).to_have_value("da")
    parts.first.get_by_label("Question").fill("How faithful is it?")
    parts.first.get_by_label("Name in reports and files").fill("faithful")
    parts.first.get_by_label("Share of the overall score").fill("2")
    page.get_by_role("button", name="Add: Score on a scale").click()
    parts.nth(1).get_by_label("Question").fill("How well does it read?")
    parts.nth(1).get_by_label("Name in reports and files").fill("fluent")
    parts.nth(1).get_by_label("Share of the overall score").fill("1")
    page.get_by_role("button", name="Add: Marked errors").click()
    spans = page.locator("fieldset.part[data-kind=spans]")
    spans.get_by_label("Categories").fill("Meaning: Wrong, Left out\nLanguage")
    spans.get_by_label("Errors of the whole text").fill("Instructions not followed")
    for _ in range(2):
        spans.get_by_role("button", name="Up").click()
    page.get_by_role("button", name="Add: Yes or no").click()
    page.get_by_label("Systems are ranked by").select_option("overall")
    page.get_by_label("Comparison of systems side by side").select_option("ranking")
    # The task beside it is what raters will see.
    preview = page.locator("#work")
    expect(preview.get_by_text("How faithful is it?").first).to_be_visible()
    expect(preview.get_by_text("Could it be published as it is?").first).to_be_visible()
    check(page, "protocol")
    page.get_by_label("Systems are ranked by").select_option("")
    page.locator("fieldset.part").nth(1).get_by_label("To").fill("-1")
    expect(page.locator("#refused")).to_contain_text("less than maximum")
    page.locator("fieldset.part").nth(1).get_by_label("To").fill("100")
    page.get_by_label("Systems are ranked by").select_option("overall")
    page.get_by_role("button", name="Save the protocol").click()
    expect(page.locator("#saved")).to_have_text("Saved.")

    about = managed.fetch_campaign()
    assert about["protocol"] == "custom"
    assert [part["kind"] for part in about["options"]["parts"]] == ["spans", "slider", "slider", "yes_no"]
    managed.compile_and_freeze_plan(DESIGN)
    managed.change_campaign_state("open")
    judge(managed)
    managed.change_campaign_state("close")
    with draining(spine.database):
        assert [row["system"] for row in read(managed, "/ranking")["systems"]] == ["good", "fair", "poor"]
        assert read(managed, "/ranking", scoring="spans")["systems"][0]["system"] == "good"
        assert read(managed, "/reports/agreement")["levels"]
        assert read(managed, "/reports/preferences")["systems"][0]["system"] == "good"

    exported = b"".join(managed.remote.stream_body(f"{managed.campaign_path}/exports/jsonl"))
    spine.take("again", "jsonl", exported)
    with spine.database.transaction(snapshot=True) as session:
        again = get_campaign(session, "again")
    assert (again.protocol, again.options) == ("custom", about["options"])
    assert records(spine.export("again", "jsonl")) == records(exported)
    page.goto(f"{served.url}/campaigns/{KEY}")
    expect(page.get_by_role("region", name="Ranking of the systems").locator("tbody tr")).to_have_count(3)


def records(exported: bytes) -> list[dict[str, object]]:
    """What a file says, but for how the campaign is called."""
    said = [json.loads(line) for line in exported.splitlines()]
    return [{**one, "name": None} if one["type"] == "campaign" else one for one in said if one["type"] != "end"]


def read(managed, end: str, **query: str) -> dict[str, object]:
    """A report, however long it takes."""
    body = fetch_report_when_ready(
        managed.remote, "GET", managed.campaign_path + end, query, on_progress=lambda *_: None
    )
    report: dict[str, object] = json.loads(body)
    return report


def judge(managed) -> None:
    """Simulated raters work over HTTP; in a thread, as the browser's driver has the loop of this one."""
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
            run_rehearsal(managed, model, SimulatedRaterSettings(workers=2))
        except BaseException as error:
            failed.append(error)
            raise

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(90)
    assert not failed
    assert not thread.is_alive()
