"""What an exclusion would do to a ranking of many systems is worked out by a job; a small one needs no worker."""

from __future__ import annotations

from typing import Any

import pytest

from app.jobs import job_steps as job_work
from app.reports.inputs.expected_time import AT_ONCE
from app.services.jobs import jobs, rankings
from tests.api.test_long_rankings import World, jobs_of, rename, shared, world
from tests.working import drained

__all__ = ["shared", "world"]  # the fixtures of the neighbouring tests
EXCLUSIONS = "/v1/campaigns/mqm/exclusions"
NOW = {"Prefer": "wait=0"}


def look(world: World, who: str = "manager", recipe: str = "recommended", **named: str) -> Any:
    """A preview, without waiting for it."""
    asked, body = {"dry_run": "true", "recipe": recipe}, {**named, "reason": "late"}
    return world.client.post(EXCLUSIONS, params=asked, json=body, headers={**getattr(world, who), **NOW})


def test_a_preview_that_takes_long_is_a_job_and_its_bytes_are_those_of_one_made_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = look(world, rater="r1")
    place = later.headers["Location"]
    assert (later.status_code, later.json()["kind"], later.json()["campaigns"]) == (202, "exclusion", {"mqm": 1})
    drained(world.spine.database)
    done = world.get(place).json()
    assert (done["state"], done["done"], done["total"]) == ("done", 2, 2)
    found, by_job = look(world, rater="r1"), world.get(f"{place}/report")
    assert (found.status_code, by_job.content) == (200, found.content)
    assert world.get(f"{place}/report", headers={"If-None-Match": by_job.headers["ETag"]}).status_code == 304
    named = world.get(f"{place}/report", picture="pairs")
    assert (named.status_code, named.json()["errors"][0]["loc"]) == (422, ["query", "picture"]), "it has none"
    for options in ({}, {"exclude": "rater:r1"}):
        alone = world.get("/v1/campaigns/mqm/ranking", headers=NOW, **options)
        assert alone.status_code == 200, "each is stored as a ranking of its own, too"

    world.spine.ask("DELETE FROM reports RETURNING 1")
    monkeypatch.setattr(rankings, "AT_ONCE", AT_ONCE)
    at_once = look(world, rater="r1")
    assert (at_once.status_code, at_once.content) == (200, found.content)
    sure = at_once.json()["stability"]
    assert sure["before"]["srp"] is not None
    assert "six documents" in sure["after"]["why"]
    assert world.get(EXCLUSIONS).json()["items"] == [], "nothing was stored"


def test_who_only_views_learns_nothing_of_a_preview(world: World) -> None:
    assert look(world, "viewer", system="B").status_code == 403
    place = look(world, system="B").headers["Location"]
    drained(world.spine.database)
    assert [world.get(path, "viewer").status_code for path in (place, f"{place}/report")] == [403, 403]
    listed = {who: world.get("/v1/campaigns/mqm/jobs", who).json()["items"] for who in ("manager", "viewer")}
    kinds = {who: {one["kind"] for one in found} for who, found in listed.items()}
    assert ("exclusion" in kinds["manager"], "exclusion" in kinds["viewer"]) == (True, False)


def test_what_does_not_fit_is_refused_as_it_would_be_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(world, rater="nobody").status_code == 422, "without a job"
    misfit = {"name": "google-mqm", "scoring": {"from": "spans", "profile": "nope"}}
    assert world.client.put("/v1/campaigns/mqm/recipes/odd", json=misfit, headers=world.manager).is_success
    place = look(world, recipe="odd", rater="r1").headers["Location"]
    drained(world.spine.database)
    later, of_job = look(world, recipe="odd", rater="r1"), world.get(f"{place}/report")
    monkeypatch.setattr(rankings, "AT_ONCE", AT_ONCE)
    at_once = look(world, recipe="odd", rater="r1")
    told = [(one.status_code, one.json()["detail"], one.json()["errors"]) for one in (later, of_job, at_once)]
    assert at_once.status_code == 422
    assert told == [told[2]] * 3


def test_a_cancelled_preview_is_begun_again_and_one_of_older_names_is_not_kept(world: World) -> None:
    place = look(world, recipe="wmt22", document="d1").headers["Location"]
    assert world.client.delete(place, headers=world.manager).json()["state"] == "cancelled"
    assert world.get(f"{place}/report").status_code == 409
    assert look(world, recipe="wmt22", document="d1").headers["Location"] == place
    work = job_work.load_job_work(world.spine.database, jobs_of(world, place).request)
    rename(world, "Anew")
    with pytest.raises(jobs.JobInputsChanged):
        work.chunk(0)
    drained(world.spine.database)
    assert world.get(place).json()["error"]["title"] == jobs.JobInputsChanged.title()
    rename(world, "A")
