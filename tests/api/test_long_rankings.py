"""A ranking of many systems goes the way of the jobs, alone and beside others; a small one is made at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.domain.recipe import NAMED
from app.jobs import job_steps as job_work
from app.main import create_app
from app.reports.inputs import snapshot
from app.reports.inputs.expected_time import AT_ONCE, CampaignTestSetSize, estimate_resampling_seconds
from app.reports.ranking import report as ranking_report
from app.reports.ranking.from_sums import WHY
from app.reports.ranking.input import load_ranking_input
from app.reports.ranking.renderings import render_segment_scores
from app.reports.ranking_comparison import report as side_by_side
from app.services.access import tokens
from app.services.jobs import jobs, rankings
from app.services.jobs import ranking_comparison as side_by_side_jobs
from app.stats.testing.pair_tests import choose_number_of_resamples
from app.storage import embedded
from app.storage.db import Database
from app.storage.ratings_files import duckdb_engine
from app.storage.ratings_folder import RatingsFolder
from tests.api.conftest import OPTIONS, TestClient
from tests.services.data.test_imports import MQM
from tests.spine import Spine, chosen, fresh
from tests.working import drained

RANKING, BESIDE = "/v1/campaigns/mqm/ranking", "/v1/campaigns/mqm/reports/recipes"
SHAPES = {
    "text/csv": ".csv",
    "application/x-tex": ".tex",
    "text/markdown": ".md",
    "image/svg+xml": ".svg",
}


@dataclass(frozen=True)
class World:
    """A campaign of two systems and seven documents."""

    spine: Spine
    client: httpx.Client
    manager: dict[str, str]
    viewer: dict[str, str]

    def get(self, path: str, who: str = "manager", headers: dict[str, str] | None = None, **query: Any) -> Any:
        return self.client.get(path, params=query, headers={**getattr(self, who), **(headers or {})})

    def later(self, path: str, **query: Any) -> str:
        """Where the job is that answers."""
        answer = self.get(path, headers={"Prefer": "wait=0"}, **query)
        assert answer.status_code == 202, answer.text
        place: str = answer.headers["Location"]
        return place


@pytest.fixture(scope="module")
def shared(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[World]:
    with fresh(postgres, migrated_template) as spine:
        spine.take("mqm", "mqm-tsv", MQM.encode())
        with spine.database.transaction() as session:
            given = [tokens.issue_token(session, role=role).secret for role in ("manager", "viewer")]
        callers = [{"Authorization": f"Bearer {secret}"} for secret in given]
        with TestClient(create_app(spine.database, OPTIONS), raise_server_exceptions=False) as client:
            yield World(spine, client, *callers)


@pytest.fixture
def world(shared: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Where whatever is drawn is expected to take long."""
    monkeypatch.setattr(rankings, "AT_ONCE", 0.0)
    return shared


def test_a_small_ranking_needs_no_worker(shared: World) -> None:
    assert shared.get(RANKING, headers={"Prefer": "wait=0"}, seed=1).status_code == 200
    assert shared.get(BESIDE, headers={"Prefer": "wait=0"}, recipes="recommended,wmt26").status_code == 200


def test_a_long_ranking_is_a_job_and_its_bytes_are_those_of_one_made_at_once(world: World) -> None:
    asked = {"recipe": "google-mqm", "seed": "7"}
    place = world.later(RANKING, **asked)
    told = world.get(place).json()
    assert (told["kind"], told["campaigns"], told["state"]) == ("ranking", {"mqm": 1}, "queued")
    assert world.later(f"{RANKING}.csv", **asked) == place, "the same question in another kind is the same job"
    drained(world.spine.database)
    done = world.get(place).json()
    assert (done["state"], done["done"], done["total"]) == ("done", 1, 1)

    found = world.get(RANKING, **asked)
    by_job = world.get(f"{place}/report")
    with world.spine.database.transaction() as session:
        about = snapshot.load_snapshot(session, "mqm", None)
        at_once = load_ranking_input(session, about, chosen("google-mqm", {"seed": "7"})).compute_ranking_json()
    assert (found.status_code, found.content, by_job.content) == (200, at_once, at_once)
    assert by_job.headers["ETag"] == found.headers["ETag"]
    assert world.get(RANKING, headers={"If-None-Match": found.headers["ETag"]}, **asked).status_code == 304


@pytest.mark.parametrize(("media_type", "suffix"), SHAPES.items())
def test_every_kind_of_a_job_is_that_of_its_ranking(world: World, media_type: str, suffix: str) -> None:
    asked = {"seed": str(80 + list(SHAPES).index(media_type))}
    place = f"{world.later(f'{RANKING}{suffix}', **asked)}/report"
    drained(world.spine.database)
    found = world.get(f"{RANKING}{suffix}", **asked)
    assert place in [job["report"] for job in world.get("/v1/campaigns/mqm/jobs").json()["items"]]
    accept = {"Accept": media_type}
    by_job = world.get(place, headers=accept)
    if suffix == ".svg":
        pairs = world.get(place, headers=accept, picture="pairs")
        assert pairs.content == world.get(f"{RANKING}.svg", picture="pairs", **asked).content != by_job.content
    assert by_job.content == found.content == world.get(RANKING, headers=accept, **asked).content
    assert by_job.headers["ETag"] == found.headers["ETag"]
    assert world.get(place, headers=accept, picture="of-nothing").status_code == 422


def test_a_recipe_in_the_body_goes_the_same_way(world: World) -> None:
    recipe = {"name": "google-mqm", "seed": 9}
    sent = world.client.post(RANKING, json=recipe, headers={**world.manager, "Prefer": "wait=0"})
    assert sent.status_code == 202, sent.text
    assert world.later(RANKING, recipe="google-mqm", seed="9") == sent.headers["Location"]
    drained(world.spine.database)
    found = world.client.post(RANKING, json=recipe, headers=world.manager)
    assert found.json()["recipe"]["name"] == "google-mqm+seed"
    assert found.content == world.get(RANKING, recipe="google-mqm", seed="9").content


def test_a_recipe_that_does_not_fit_is_refused_once_a_worker_has_found_out_as_it_would_be_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"recipe": "google-mqm", "scoring": "spans:nope"}
    place = world.later(RANKING, **asked)
    drained(world.spine.database)
    assert world.get(place).json()["state"] == "failed"
    later, of_job = world.get(RANKING, **asked), world.get(f"{place}/report")
    monkeypatch.setattr(rankings, "AT_ONCE", AT_ONCE)
    at_once = world.get(RANKING, **asked)
    told = [(one.status_code, one.json()["detail"], one.json()["errors"]) for one in (later, of_job, at_once)]
    assert at_once.status_code == 422
    assert told == [told[2]] * 3


def test_a_large_campaign_is_ranked_from_sums_by_a_worker(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RatingsFolder(tmp_path, most_in_memory=1)
    url, role = world.spine.url, world.spine.database.role
    with (
        closing(Database(url, size=3, role=role, ratings_folder=folder)) as database,
        TestClient(create_app(database, OPTIONS), raise_server_exceptions=False) as client,
    ):
        large = replace(world, client=client)
        with monkeypatch.context() as lacking:
            lacking.setattr(duckdb_engine, "find_spec", lambda _: None)
            for path, asked in ((RANKING, {"seed": "14"}), (BESIDE, {"recipes": "recommended,wmt-da"})):
                refused = large.get(path, headers={"Prefer": "wait=0"}, **asked)
                told = refused.json()["title"]
                assert (refused.status_code, "pip install 'plumbline[large]'" in told) == (422, True), path
        assert drained(database) == 0, "no job was made"
        place = large.later(RANKING, seed="14")
        with monkeypatch.context() as lacking:
            lacking.setattr(duckdb_engine, "find_spec", lambda _: None)
            drained(database)
            assert "pip install" in large.get(place).json()["error"]["title"], "a worker lacks it"
        assert large.later(RANKING, seed="14") == place, "with the extra it is begun again"
        drained(database)
        found = large.get(RANKING, seed="14").json()
        table = large.get(f"{RANKING}.csv", seed="14")
    world.later(RANKING, seed="14")
    drained(world.spine.database)
    held = world.get(RANKING, seed="14").json()
    assert (found.keys(), found["data_hash"]) == (held.keys(), held["data_hash"])
    assert WHY in found["notes"]
    assert WHY not in held["notes"], "the two are different reports"
    assert table.status_code == 200


def test_a_cancelled_ranking_is_not_made_until_it_is_asked_for_again(world: World) -> None:
    place = world.later(RANKING, seed="10")
    assert world.client.delete(place, headers=world.viewer).status_code == 403
    assert world.client.delete(place, headers=world.manager).json()["state"] == "cancelled"
    assert drained(world.spine.database) == 0
    assert world.get(f"{place}/report").status_code == 409
    assert world.later(RANKING, seed="10") == place
    drained(world.spine.database)
    assert world.get(RANKING, seed="10").status_code == 200


def test_who_only_views_is_not_told_by_a_job_who_the_raters_are(world: World) -> None:
    asked = {"seed": "11", "exclude": "rater:r1"}
    place = world.later(RANKING, **asked)
    drained(world.spine.database)
    whole, seen = world.get(f"{place}/report"), world.get(f"{place}/report", "viewer")
    assert (b"rater:r1" in whole.content, b"rater:r1" in seen.content) == (True, False)
    assert seen.headers["ETag"] != whole.headers["ETag"]


def test_what_was_renamed_after_it_was_asked_for_is_not_stored_under_the_older_name(world: World) -> None:
    alone, beside = world.later(RANKING, seed="12"), world.later(BESIDE, recipes="google-mqm,wmt22")
    requests = [jobs_of(world, place).request for place in (alone, beside)]
    work = job_work.load_job_work(world.spine.database, requests[1])
    rename(world, "Anew")
    with pytest.raises(jobs.JobInputsChanged):
        work.chunk(0)
    drained(world.spine.database)
    assert [world.get(place).json()["error"]["title"] for place in (alone, beside)] == [
        jobs.JobInputsChanged.title()
    ] * 2
    rename(world, "A")
    assert world.later(RANKING, seed="12") == alone, "asked again it is begun again"
    drained(world.spine.database)
    assert {one["name"] for one in world.get(RANKING, seed="12").json()["systems"]} == {"A", "B"}


def rename(world: World, name: str) -> None:
    """Call system A something else."""
    world.spine.ask(f"UPDATE systems SET name = '{name}' WHERE key = 'A' RETURNING 1")


def jobs_of(world: World, place: str) -> jobs.JobView:
    with world.spine.database.transaction() as session:
        return jobs.get_job(session, place.rpartition("/")[2])


def test_many_recipes_are_a_job_with_a_ranking_a_chunk_and_the_answer_that_is_made_at_once(world: World) -> None:
    own = {"mine": {"seed": 13}, "odd": {"scoring": {"from": "spans", "profile": "nope"}}}
    for name, choices in own.items():
        path = f"/v1/campaigns/mqm/recipes/{name}"
        assert world.client.put(path, json={"name": "google-mqm", **choices}, headers=world.manager).is_success
    named = "mine,odd,wmt-da"
    place = world.later(BESIDE, recipes=named)
    drained(world.spine.database)
    done = world.get(place).json()
    assert (done["kind"], done["state"], done["done"], done["total"]) == ("recipes", "done", 3, 3)
    found, by_job = world.get(BESIDE, recipes=named), world.get(f"{place}/report")
    assert world.get(f"{place}/report", picture="pairs").status_code == 422, "there is none by name"
    assert (found.status_code, found.content) == (200, by_job.content)
    assert [bool(one["why"]) for one in found.json()["rankings"]] == [False, True, False], "a misfit says why"
    assert world.get(RANKING, recipe="mine").status_code == 200, "each is stored as a ranking of its own, too"
    with world.spine.database.transaction(snapshot=True) as session:
        stored = side_by_side_jobs.parse_stored_rankings(jobs.get_job_report(session, jobs_of(world, place)).body)
    assert side_by_side.find_or_compute_recipe_rankings(world.spine.database, "mqm", named.split(",")) == stored
    for media_type, suffix in SHAPES.items():
        by_suffix = world.get(f"{BESIDE}{suffix}", recipes=named)
        assert world.get(f"{place}/report", headers={"Accept": media_type}).content == by_suffix.content


def test_how_long_many_recipes_take_is_the_sum_of_those_that_are_not_stored() -> None:
    size, recipe = CampaignTestSetSize(36, 180, 900), replace(NAMED["recommended"], rank_sets=False)
    one = estimate_resampling_seconds(size, recipe)
    assert 0.5 * AT_ONCE < one < AT_ONCE, "one is made at once, and two are not"
    longer = [
        replace(recipe, test="bootstrap"),
        replace(recipe, permutations=10 * choose_number_of_resamples(recipe, 630)),
    ]
    assert all(estimate_resampling_seconds(size, other) > AT_ONCE for other in longer)
    joint = replace(recipe, adjust="maxT")
    assert estimate_resampling_seconds(size, joint) > estimate_resampling_seconds(size, replace(joint, adjust="none"))


def test_segment_scores_do_not_hang_on_what_is_not_drawn_for_them(shared: World) -> None:
    for name in ("recommended", "wmt26", "google-mqm"):
        light, whole = (
            make(shared.spine.database, "mqm", recipe=NAMED[name])
            for make in (ranking_report.compute_ranking_with_fewest_draws, ranking_report.compute_ranking)
        )
        assert list(render_segment_scores(light)) == list(render_segment_scores(whole))
