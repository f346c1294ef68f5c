"""The campaigns of a series whose rankings take long are a job with a ranking a chunk; others are ranked at once."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.recipe import NAMED
from app.jobs import job_steps as job_work
from app.reports.inputs.expected_time import AT_ONCE, CampaignTestSetSize, estimate_ranking_seconds
from app.services.access import tokens
from app.services.campaigns.campaigns import NewCampaign, create_campaign
from app.services.jobs import jobs, rankings
from tests.api.test_long_rankings import SHAPES, World, jobs_of, rename, shared, world
from tests.services.data.test_imports import MQM
from tests.working import drained

__all__ = ["shared", "world"]  # the fixtures of the neighbouring tests
SERIES = "/v1/series/wmt/ranking"


@pytest.fixture(scope="module")
def several(shared: World) -> World:
    """A series of a campaign of A and B, one of A and C, and one without judgments."""
    with shared.spine.database.transaction() as session:
        for key in ("first", "second", "third"):
            create_campaign(session, NewCampaign(key=key, protocol="mqm", series="wmt"), actor="test")
    shared.spine.take("first", "mqm-tsv", MQM.encode())
    shared.spine.take("second", "mqm-tsv", MQM.replace("B\td", "C\td").encode())
    misfit = {"name": "google-mqm", "scoring": {"from": "spans", "profile": "nope"}}
    for key in ("first", "second"):
        path = f"/v1/campaigns/{key}/recipes/odd"
        assert shared.client.put(path, json=misfit, headers=shared.manager).is_success
    return shared


def shown(world: World, **asked: str) -> list[tuple[int, bytes, str]]:
    """A series as JSON and in every other kind, and as JSON to who only views."""
    paths = [SERIES, *(f"{SERIES}{suffix}" for suffix in SHAPES.values())]
    found = [*(world.get(path, **asked) for path in paths), world.get(SERIES, "viewer", **asked)]
    return [(one.status_code, one.content, one.headers["ETag"]) for one in found]


def anew(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """As if nothing had ever been made, and all could be made at once."""
    world.spine.ask("DELETE FROM reports RETURNING 1")
    monkeypatch.setattr(rankings, "AT_ONCE", AT_ONCE)
    return world


def test_a_long_series_is_a_job_with_a_campaign_a_chunk_and_the_bytes_of_one_made_at_once(
    several: World, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"recipe": "google-mqm"}
    place = world.later(SERIES, **asked)
    told = world.get(place).json()
    assert (told["kind"], told["state"], list(told["campaigns"])) == ("series", "queued", ["first", "second", "third"])
    assert world.later(f"{SERIES}.csv", **asked) == place, "the same question in another kind is the same job"
    drained(world.spine.database)
    done = world.get(place).json()
    assert (done["state"], done["done"], done["total"]) == ("done", 3, 3)

    by_job = shown(world, **asked)
    assert {status for status, _, _ in by_job} == {200}
    assert world.get(f"{place}/report").content == by_job[0][1]
    for media_type, suffix in SHAPES.items():
        report = world.get(f"{place}/report", headers={"Accept": media_type})
        assert report.content == world.get(f"{SERIES}{suffix}", **asked).content
    for key in told["campaigns"]:
        alone = world.get(f"/v1/campaigns/{key}/ranking", headers={"Prefer": "wait=0"}, **asked)
        assert alone.status_code == 200, "each is stored as a ranking of its own, too"
    assert shown(anew(world, monkeypatch), **asked) == by_job
    assert "not every system is in every campaign" in world.get(SERIES, **asked).json()["warnings"][0]


def test_rankings_that_are_stored_need_no_worker(several: World, world: World) -> None:
    asked = {"recipe": "wmt22"}
    for key in ("first", "second", "third"):
        world.later(f"/v1/campaigns/{key}/ranking", **asked)
    assert world.get(SERIES, headers={"Prefer": "wait=0"}, **asked).status_code == 202, "the control"
    drained(world.spine.database)
    world.spine.ask("DELETE FROM reports WHERE kind = 'campaigns/series' RETURNING 1")
    assert world.get(SERIES, headers={"Prefer": "wait=0"}, **asked).status_code == 200


def test_a_name_that_means_nothing_in_a_campaign_or_does_not_fit_it_is_its_reason(
    several: World, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert world.get(SERIES, recipe="unknown").status_code == 422
    place = world.later(SERIES, recipe="odd")
    drained(world.spine.database)
    assert world.get(place).json()["state"] == "done"
    by_job = world.get(SERIES, recipe="odd")
    reasons = [one["why"] for one in by_job.json()["rankings"]]
    assert "nope" in reasons[0]
    assert "no recipe of that name" in reasons[2]
    assert anew(world, monkeypatch).get(SERIES, recipe="odd").content == by_job.content


def test_who_sees_one_campaign_learns_nothing_of_a_job_for_all(several: World, world: World) -> None:
    place = world.later(SERIES, recipe="srp-paper")
    with world.spine.database.transaction() as session:
        secret = tokens.issue_token(session, role="viewer", campaign="first").secret

    def bound(path: str, **query: Any) -> Any:
        headers = {"Authorization": f"Bearer {secret}", "Prefer": "wait=0"}
        return world.client.get(path, params=query, headers=headers)

    own = bound(SERIES, recipe="srp-paper")
    assert (own.status_code, own.json()["campaigns"]) == (202, {"first": 1})
    assert [bound(path).status_code for path in (place, f"{place}/report")] == [404, 404]
    listed = bound("/v1/campaigns/first/jobs").json()["items"]
    assert place.rpartition("/")[2] not in {one["job"] for one in listed}
    assert own.json()["job"] in {one["job"] for one in listed}
    drained(world.spine.database)
    assert [one["name"] for one in bound(SERIES, recipe="srp-paper").json()["rankings"]] == ["first"]


def test_a_cancelled_series_is_begun_again_and_one_of_older_names_is_not_kept(several: World, world: World) -> None:
    place = world.later(SERIES, recipe="wmt26")
    assert world.client.delete(place, headers=world.viewer).status_code == 403
    assert world.client.delete(place, headers=world.manager).json()["state"] == "cancelled"
    assert world.get(f"{place}/report").status_code == 409
    assert world.later(SERIES, recipe="wmt26") == place
    work = job_work.load_job_work(world.spine.database, jobs_of(world, place).request)
    rename(world, "Anew")
    for n in range(2):
        with pytest.raises(jobs.JobInputsChanged):
            work.chunk(n)
    drained(world.spine.database)
    assert world.get(place).json()["error"]["title"] == jobs.JobInputsChanged.title()
    rename(world, "A")


def test_what_is_read_adds_up_over_the_campaigns_of_a_series() -> None:
    each = estimate_ranking_seconds(CampaignTestSetSize(15, 180, 900), NAMED["wmt-da"])
    assert each < 11 * each < AT_ONCE < 100 * each, "though nothing is drawn"
