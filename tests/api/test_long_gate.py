"""A gate over many systems goes the way of the jobs; a small one is answered at once, by whoever is asked."""

from __future__ import annotations

from itertools import pairwise

import pytest

from app.domain.recipe import NAMED
from app.reports.gate import report as gate
from app.reports.inputs.expected_time import AT_ONCE, CampaignTestSetSize, estimate_resampling_seconds
from app.storage import campaigns
from tests.api.test_gate import BETTER, World, world
from tests.working import drained

__all__ = ["world"]  # the fixture of the neighbouring tests
ASKED = {**BETTER, "normalize": "none", "seed": "77"}


def test_a_small_gate_needs_no_worker_and_a_large_one_is_a_job_with_the_same_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = world.get("same", ASKED, Prefer="wait=0")
    assert at_once.status_code == 200, "the control: nobody works"

    monkeypatch.setattr(gate, "AT_ONCE", 0.0)
    assert world.get("same", ASKED, Prefer="wait=0").status_code == 200, "what is stored is stored"
    later = world.get("mqm", ASKED, Prefer="wait=0")
    assert later.status_code == 202, later.text
    assert later.json()["kind"] == "gate"
    assert later.headers["Retry-After"].isdigit()
    drained(world.spine.database)
    found = world.get("mqm", ASKED)
    assert (found.status_code, found.json()["verdict"]) == (200, "better")
    own = {"Authorization": f"Bearer {world.tokens['viewer']}"}
    by_job = world.client.get(f"{later.headers['Location']}/report", headers=own)
    assert (by_job.content, by_job.headers["ETag"]) == (found.content, found.headers["ETag"])
    assert world.get("mqm", ASKED, **{"If-None-Match": found.headers["ETag"]}).status_code == 304


def test_the_size_of_a_campaign_is_what_was_imported(world: World) -> None:
    with world.spine.database.transaction() as session:
        assert CampaignTestSetSize.load(session, campaigns.load_campaign(session, "few").id).documents == 3
        found = CampaignTestSetSize.load(session, campaigns.load_campaign(session, "mqm").id)
    assert (found.systems, found.documents) == (2, 7)
    assert found.segments >= found.documents


def test_a_ranking_is_expected_to_take_longer_the_more_there_is_of_it() -> None:
    recipe = NAMED["recommended"]
    times = [estimate_resampling_seconds(CampaignTestSetSize(n, 180, 900), recipe) for n in (0, 1, 2, 15, 30, 60)]
    assert all(less <= more for less, more in pairwise(times))
    assert times[3] < AT_ONCE < times[5]
    assert estimate_resampling_seconds(CampaignTestSetSize(60, 180, 900), NAMED["wmt-da"]) == 0.0, "nothing is drawn"
    by_segment = estimate_resampling_seconds(CampaignTestSetSize(60, 180, 9000), NAMED["google-mqm"])
    assert by_segment > estimate_resampling_seconds(CampaignTestSetSize(60, 180, 900), NAMED["google-mqm"]) > 0
