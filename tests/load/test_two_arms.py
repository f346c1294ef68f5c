"""A campaign of two presentations, judged by simulated raters over HTTP, gives its reports; so do two campaigns."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from app.cli.kit.simulated_raters import SimulatedRaterSettings, run_simulated_raters
from app.simulation import make_rater_model_template
from app.storage import embedded
from tests.load.server import Made, Served, serving, set_up
from tests.spine import fresh

MADE = Made([2, 6, 3, 7, 2, 12], {"A": 85.0, "B": 60.0, "C": 35.0}, ("r1", "r2", "r3", "r4"))
ARMS = [{"name": "segments", "presentation": "segment"}, {"name": "documents", "presentation": "document"}]
DESIGN = {
    "grouping": "psxs",
    "ratings_per_item": 2,
    "arms": ARMS,
    "cross": "groups",
    "task": {"max_segments": 60},
    "seed": 20261120,
}
PLAIN = {name: DESIGN[name] for name in ("grouping", "ratings_per_item", "task", "seed")}
IN_DOCUMENTS, SLOW = 1.5, 2.0
"""How many times as long a judgment takes in whole documents, and how many times in the second campaign."""
PLANT = """
ALTER TABLE judgments DISABLE TRIGGER USER;
WITH taken AS (
    SELECT j.id, j.rater_id, (10 + mod(row_number() OVER (PARTITION BY j.rater_id ORDER BY j.id), 7))
                             * CASE WHEN a.name = 'documents' THEN %(documents)s ELSE 1 END
                             * CASE WHEN c.key = 'slow' THEN %(slow)s ELSE 1 END AS seconds
    FROM judgments j JOIN campaigns c ON c.id = j.campaign_id
    JOIN items i ON i.campaign_id = j.campaign_id AND i.id = j.item_id
    JOIN tasks t ON t.campaign_id = i.campaign_id AND t.id = i.task_id
    LEFT JOIN arms a ON a.campaign_id = t.campaign_id AND a.plan = t.plan AND a.n = t.arm),
ended AS (
    SELECT id, seconds, timestamptz '2026-11-02' + sum(seconds) OVER (PARTITION BY rater_id ORDER BY id)
                        * interval '1 second' AS at FROM taken)
UPDATE judgments j SET submitted_at = e.at, started_at = e.at - e.seconds * interval '1 second'
FROM ended e WHERE e.id = j.id;
ALTER TABLE judgments ENABLE TRIGGER USER;"""
"""A rehearsal takes seconds of the server's clock: times are put to where raters would have left them.

How long each answer takes depends on how many of the rater's came before. By its number, which depends on who came
first, it would be drawn anew in every run, and one interval of 95 % in twenty leaves out what was planted.
"""


def judged(served: Served, key: str, design: dict[str, Any]) -> None:
    """Let the raters judge all that there is."""
    managed = set_up(served, key, MADE, design)
    model = make_rater_model_template(
        managed.fetch_campaign_for_simulation(),
        managed.fetch_outputs_for_simulation(),
        managed.list_active_raters(),
        seed=7,
        qualities=MADE.systems,
    )
    tempers = {rater: one.model_copy(update={"revisions": 0.2}) for rater, one in model.raters.items()}
    planted = model.model_copy(update={"raters": tempers})
    asyncio.run(
        run_simulated_raters(
            served.url, planted, managed.renew_rater_tokens(MADE.raters), SimulatedRaterSettings(workers=4)
        )
    )
    managed.change_campaign_state("close")


@pytest.fixture(scope="module")
def reports(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Served]:
    with fresh(postgres, migrated_template) as spine, serving(spine.url) as served:
        judged(served, "two", DESIGN)
        judged(served, "slow", PLAIN)
        with psycopg.connect(spine.url) as connection:
            connection.execute(PLANT % {"documents": IN_DOCUMENTS, "slow": SLOW})
        yield served


def asked(served: Served, path: str, **query: object) -> Any:
    answer = httpx.get(
        f"{served.url}{path}", params=query, headers={"Authorization": f"Bearer {served.secret}"}, timeout=60
    )
    assert answer.status_code == 200, answer.text
    return answer.json() if answer.headers["Content-Type"].startswith("application/json") else answer.content


def test_arms_stand_side_by_side_with_every_kind_of_time(reports: Served) -> None:
    found = asked(reports, "/v1/campaigns/two/reports/arms")

    assert [(one["arm"], one["presentation"]) for one in found["arms"]] == [
        ("segments", "segment"),
        ("documents", "document"),
    ]
    assert sum(one["judgments"] for one in found["arms"]) == 2 * MADE.outputs
    assert all(one["timed"] == one["judgments"] for one in found["arms"])
    whats = {one["what"] for one in found["times"] if one["documents"] == "all"}
    assert whats >= {"segment", "per_word", "document", "task", "first_third", "last_third"}
    segment = {one["arm"]: one for one in found["times"] if (one["what"], one["documents"]) == ("segment", "all")}
    assert segment["documents"]["change"] == pytest.approx(
        100 * (segment["documents"]["mean"] / segment["segments"]["mean"] - 1)
    )
    assert (segment["documents"]["ratio_design"], segment["documents"]["ratio_raters"]) == ("within", 4)
    assert segment["documents"]["ratio"] == pytest.approx(IN_DOCUMENTS, rel=0.1)
    assert {(one["arm"], one["what"]) for one in found["pace"]} == {
        (arm, what) for arm in ("segments", "documents") for what in ("learning", "fatigue")
    }
    revised = {one["arm"]: one["segment_rate"] for one in found["revisions"]}
    assert revised["segments"] == 0.0  # one segment a screen: nobody goes back
    assert revised["documents"] > 0.05


def test_a_mixed_model_says_how_many_times_as_long_a_condition_takes(reports: Served) -> None:
    model = asked(reports, "/v1/campaigns/two/reports/arms")["model"]
    assert (model["n"], model["n_raters"], model["n_documents"]) == (2 * MADE.outputs, 4, 6)
    condition = next(one for one in model["effects"] if one["what"] == "condition")
    assert (condition["arm"], condition["degrees"]) == ("documents", 3)
    assert condition["interval"][0] < IN_DOCUMENTS < condition["interval"][1]
    assert condition["factor"] == pytest.approx(IN_DOCUMENTS, rel=0.1)
    assert {one["what"] for one in model["effects"]} >= {"position", "practice"}
    turned = asked(reports, "/v1/campaigns/two/reports/arms", baseline="documents")["model"]
    other = next(one for one in turned["effects"] if one["what"] == "condition")
    assert (other["arm"], other["factor"]) == ("segments", pytest.approx(1 / condition["factor"], rel=1e-6))


def test_the_baseline_can_be_chosen_and_an_unknown_one_is_refused_by_name(reports: Served) -> None:
    found = asked(reports, "/v1/campaigns/two/reports/arms", baseline="documents")
    assert (found["baseline"], found["arms"][0]["arm"]) == ("documents", "documents")
    refused = httpx.get(
        f"{reports.url}/v1/campaigns/two/reports/arms",
        params={"baseline": "films"},
        headers={"Authorization": f"Bearer {reports.secret}"},
        timeout=60,
    )
    assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, ["query", "baseline"])
    assert "segments" in refused.text


def test_two_arms_are_compared_with_scores_agreement_and_conclusions(reports: Served) -> None:
    found = asked(reports, "/v1/comparisons/ui", campaigns="two")

    assert found["match"] == "none"
    assert {one["arm"] for one in found["histograms"]} == {"segments", "documents"}
    assert all(sum(one["shares"]) == pytest.approx(1.0) for one in found["histograms"])
    spread = {(one["arm"], one["documents"]): one for one in found["spread"]}
    assert {documents for _, documents in spread} >= {"all", "short", "1–5", "6–10", "11–15"}
    assert all(one["sd"] > 0 and one["within"] > 0 for one in spread.values())
    (pair,) = found["shared"]
    assert pair["n"] == MADE.outputs  # both ratings of each text went to different arms
    assert pair["tau"] == 1.0
    assert any(said.startswith("A segment score takes") and "longer" in said for said in found["conclusions"])
    for shape in (".csv", ".md", ".tex", ".svg"):
        assert asked(reports, f"/v1/comparisons/ui{shape}", campaigns="two")
    assert b"<svg" in asked(reports, "/v1/comparisons/ui.svg", campaigns="two", picture="times")


def test_two_campaigns_are_matched_by_document_and_the_planted_slowness_is_found(reports: Served) -> None:
    found = asked(reports, "/v1/comparisons/ui", campaigns="two,slow")

    assert found["match"] == "documents"
    assert [one["arm"] for one in found["arms"]] == ["two: segments", "two: documents", "slow"]
    (slow,) = (
        one for one in found["times"] if (one["arm"], one["what"], one["documents"]) == ("slow", "segment", "all")
    )
    assert slow["ratio"] == pytest.approx(SLOW, rel=0.1)
    assert slow["ratio_interval"][0] < SLOW < slow["ratio_interval"][1]
    assert {one["arm"] for one in found["agreement"]} >= {"slow"}


def test_outputs_alone_are_matched_where_asked(reports: Served) -> None:
    found = asked(reports, "/v1/comparisons/ui", campaigns="two,slow", match="outputs")
    assert {one["n"] for one in found["shared"]} == {MADE.outputs}
    assert not found["dropped"]


def test_in_tasks_of_all_systems_together_every_two_systems_meet(reports: Served) -> None:
    found = asked(reports, "/v1/campaigns/two/reports/composition")
    assert found["systems"] == ["A", "B", "C"]
    assert found["by_rater"]["counts"] == [[4] * 3] * 3
    assert found["by_task"]["least"] == 1.0  # all systems of a document together: Knowles 2021, §6 (a)
