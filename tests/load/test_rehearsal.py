"""Rehearsals: a campaign is made, judged by simulated raters over HTTP, closed and ranked, small and at full size."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import psycopg
import pytest
from scipy.stats import kendalltau

from app.cli.kit.long_reports import fetch_report_when_ready
from app.cli.kit.simulated_raters import RehearsalTally, SimulatedRaterSettings, run_simulated_raters
from app.cli.serving.background_server import serve_on_free_port
from app.client.campaign_client import CampaignClient
from app.services.access import tokens
from app.simulation import RaterModel, make_rater_model_template
from app.storage.db import Database
from tests.load.server import Made, Served, serving, set_up
from tests.working import working

RATERS = tuple(f"r{n}" for n in range(1, 8))
# In size the study of Riley et al. 2024: 7 raters in 7 buckets of 3, three ratings per item, all systems of a document
# together.
DESIGN = {
    "grouping": "psxs",
    "ratings_per_item": 3,
    "buckets": {"raters_per_bucket": 3, "count": 7},
    "task": {"max_segments": 100},
    "seed": 20261120,
}
LONG = 300.0  # seconds: who waits for others' tasks to end does not leave before, however slow the machine is
SMALL = Made([2, 1, 2, 1, 2, 1, 2] * 2, {"A": 90.0, "B": 70.0, "C": 50.0, "D": 30.0}, RATERS)
FULL = Made([8] * 48 + [7] * 133, {f"S{n:02}": 90.0 - 2.5 * n for n in range(15)}, RATERS)


def judged(managed: CampaignClient, made: Made, pace: SimulatedRaterSettings) -> tuple[RaterModel, RehearsalTally]:
    """Let the raters judge all that there is."""
    planted = make_rater_model_template(
        managed.fetch_campaign_for_simulation(),
        managed.fetch_outputs_for_simulation(),
        managed.list_active_raters(),
        seed=7,
        qualities=made.systems,
    )
    links = managed.renew_rater_tokens(made.raters)
    return planted, asyncio.run(run_simulated_raters(managed.remote.url, planted, links, pace))


def closed_and_ranked(managed: CampaignClient, planted: RaterModel) -> tuple[list[str], float]:
    """Systems as they were ranked, and Kendall's tau to the planted order."""
    managed.change_campaign_state("close")
    assert managed.fetch_campaign()["state"] == "closed"
    address, query = f"{managed.campaign_path}/ranking", {"seed": 1}
    ranked = json.loads(
        fetch_report_when_ready(managed.remote, "GET", address, query, on_progress=lambda _done, _total: None)
    )
    order = [one["system"] for one in ranked["systems"]]
    places = {key: n for n, key in enumerate(planted.true_ranking)}
    return order, float(kendalltau(range(len(order)), [places[key] for key in order]).statistic)


def figures(url: str, campaign: str) -> Mapping[str, int]:
    """What is in the database: tasks by state, addresses that are judged, and how many people judged each."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            """SELECT count(*) FILTER (WHERE t.state <> 'handed_in') AS unfinished, count(*) AS tasks
               FROM tasks t JOIN campaigns c ON c.id = t.campaign_id WHERE c.key = %s""",
            (campaign,),
        ).fetchone()
        ratings = connection.execute(
            """SELECT min(n), max(n), sum(n) FROM (
                   SELECT count(DISTINCT j.rater_id) AS n FROM judgments j
                   JOIN campaigns c ON c.id = j.campaign_id AND c.key = %s
                   JOIN credits k ON k.item_id = j.item_id GROUP BY k.system_id, j.segment_id) x""",
            (campaign,),
        ).fetchone()
    assert row is not None
    assert ratings is not None
    return {
        "unfinished": row[0],
        "tasks": row[1],
        "fewest": ratings[0],
        "most": ratings[1],
        "ratings": int(ratings[2]),
    }


def test_a_small_rehearsal_runs_over_http_to_closed_and_recovers_the_planted_order(database_url: str) -> None:
    with serving(database_url) as served:
        managed = set_up(served, "small", SMALL, DESIGN)

        planted, tally = judged(managed, SMALL, SimulatedRaterSettings(workers=7, patience=LONG))
        order, _ = closed_and_ranked(managed, planted)

    found = figures(database_url, "small")
    assert (found["unfinished"], found["fewest"], found["most"]) == (0, 3, 3)
    assert found["ratings"] == 3 * SMALL.outputs == tally.judgments - tally.revisions
    assert tally.ended == dict.fromkeys(RATERS, "finished")
    assert set(tally.by_status) == {200}
    assert tuple(order) == planted.true_ranking == tuple("ABCD")


@pytest.mark.soak
def test_raters_who_ignore_the_texts_do_not_recover_it(database_url: str) -> None:
    """The control of the test above: what it finds comes from what is planted, not from the order of anything."""
    with serving(database_url) as served:
        managed = set_up(served, "blind", SMALL, DESIGN)
        planted = make_rater_model_template(
            managed.fetch_campaign_for_simulation(),
            managed.fetch_outputs_for_simulation(),
            managed.list_active_raters(),
            seed=7,
            qualities=SMALL.systems,
        )
        careless = {key: one.model_copy(update={"careless": True}) for key, one in planted.raters.items()}
        blind = planted.model_copy(update={"raters": careless})
        asyncio.run(
            run_simulated_raters(
                served.url, blind, managed.renew_rater_tokens(RATERS), SimulatedRaterSettings(workers=7, patience=LONG)
            )
        )
        order, _ = closed_and_ranked(managed, planted)

    assert tuple(order) != planted.true_ranking


@pytest.mark.soak
def test_a_rehearsal_of_the_size_of_the_study_runs_over_http_to_closed(database_url: str, tmp_path: Path) -> None:
    """15 systems, 181 documents, 1,315 segments, 7 raters in 7 buckets of 3, three ratings: 59,175 judgments."""
    assert (len(FULL.documents), sum(FULL.documents), 3 * FULL.outputs) == (181, 1315, 59_175)
    database = Database(database_url, size=2, role="plumbline_app")
    with database.transaction() as session:
        secret = tokens.issue_token(session, role="admin", name="test").secret
    database.close()
    with serve_on_free_port(database_url, "plumbline_app") as origin:
        managed = set_up(Served(origin, secret), "full", FULL, DESIGN)
        planted, tally = judged(managed, FULL, SimulatedRaterSettings(workers=7, patience=LONG))
        with working(database_url, tmp_path):  # a ranking of so many judgments is a worker's
            order, tau = closed_and_ranked(managed, planted)

    sys.stdout.write(json.dumps({**tally.as_json(), "kendall_tau": round(tau, 4), "order": order}) + "\n")
    found = figures(database_url, "full")
    assert (found["unfinished"], found["fewest"], found["most"]) == (0, 3, 3)
    assert found["ratings"] == 59_175 == tally.judgments - tally.revisions
    assert tau > 0.9
