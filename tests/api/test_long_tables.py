"""Of a large campaign a worker makes the segment scores and the look at the test set, with the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import psycopg
import pytest

from app.main import create_app
from app.reports import ingest
from app.services.access import tokens
from app.services.jobs import ingest_reports, rankings, segment_scores
from app.storage import campaigns, embedded
from tests.api.conftest import OPTIONS, TestClient
from tests.services.data.test_imports import MQM
from tests.spine import Spine, fresh
from tests.working import drained

SEGMENTS, INGEST = "/v1/campaigns/mqm/ranking/segments", "/v1/campaigns/mqm/reports/ingest"
RANKING = "/v1/campaigns/mqm/ranking"


@dataclass(frozen=True)
class World:
    """A campaign of two systems and seven documents."""

    spine: Spine
    client: httpx.Client
    manager: dict[str, str]

    def get(self, path: str, **query: str) -> httpx.Response:
        return self.client.get(path, params=query, headers={**self.manager, "Prefer": "wait=0"})


@pytest.fixture
def world(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[World]:
    with fresh(postgres, migrated_template) as spine:
        spine.take("mqm", "mqm-tsv", MQM.encode())
        with spine.database.transaction() as session:
            secret = tokens.issue_token(session, role="manager").secret
        with TestClient(create_app(spine.database, OPTIONS), raise_server_exceptions=False) as client:
            yield World(spine, client, {"Authorization": f"Bearer {secret}"})


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were more judgments and outputs than are quick."""
    for module in (segment_scores, rankings):
        monkeypatch.setattr(module, "QUICK_JUDGMENTS", 0)
    monkeypatch.setattr(ingest_reports, "QUICK_OUTPUTS", 0)


@pytest.mark.parametrize("path", [SEGMENTS, INGEST])
def test_a_worker_makes_the_same_and_it_is_stored(
    world: World, path: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = world.get(path)
    assert at_once.status_code == 200
    request.getfixturevalue("large")
    asked = world.get(path)
    assert (asked.status_code, world.get(path).headers["Location"]) == (202, asked.headers["Location"])
    drained(world.spine.database)
    for module, name in (
        (ingest, "make_ingest_report"),
        (segment_scores.ranking_report, "compute_ranking_with_fewest_draws"),
    ):
        monkeypatch.setattr(module, name, None)
    stored, of_job = world.get(path), world.get(f"{asked.headers['Location']}/report")
    assert [one.status_code for one in (stored, of_job)] == [200, 200]
    assert stored.content == of_job.content == at_once.content
    assert stored.headers["content-type"] == of_job.headers["content-type"] == at_once.headers["content-type"]


def test_each_choice_of_a_recipe_is_a_table_of_its_own(world: World, large: None) -> None:
    one, other = (world.get(SEGMENTS, recipe=name).headers["Location"] for name in ("google-mqm", "recommended"))
    assert one != other


def test_the_look_at_a_test_set_is_kept_while_raters_judge_and_no_longer(world: World, large: None) -> None:
    assert world.get(INGEST).status_code == 202
    drained(world.spine.database)
    before = world.get(INGEST).json()
    for what, status in (("judgments", 200), ("hand-in", 200), ("texts", 202)):
        with world.spine.database.transaction() as session:
            version = campaigns.take_next_data_version(
                session, campaigns.load_campaign(session, "mqm").id, actor="test", what=what
            )
        answer = world.get(INGEST)
        assert answer.status_code == status, what
        assert status == 202 or answer.json() == {**before, "data_version": version}
    drained(world.spine.database)
    assert world.get(INGEST).json()["data_version"] == version


def test_texts_that_change_before_a_worker_comes_are_asked_for_again(world: World, large: None) -> None:
    asked = world.get(INGEST)
    with world.spine.database.transaction() as session:
        campaigns.take_next_data_version(
            session, campaigns.load_campaign(session, "mqm").id, actor="test", what="texts"
        )
    drained(world.spine.database)
    assert world.get(f"{asked.headers['Location']}/report").status_code == 409
    assert world.get(INGEST).headers["Location"] != asked.headers["Location"]


def test_limits_are_met_to_the_judgment_and_the_output(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def statuses(path: str, module: object, name: str, n: int) -> list[int]:
        found = []
        for most in (n - 1, n):
            monkeypatch.setattr(module, name, most)
            found.append(world.get(path).status_code)
        return found

    n_outputs = sum(one["outputs"] for one in world.get(INGEST).json()["systems"])
    with psycopg.connect(world.spine.url) as db:
        (n_judgments,) = db.execute("SELECT count(*) FROM judgments").fetchone() or (0,)
    assert statuses(INGEST, ingest_reports, "QUICK_OUTPUTS", n_outputs) == [202, 200]
    assert statuses(SEGMENTS, segment_scores, "QUICK_JUDGMENTS", n_judgments) == [202, 200]
    assert statuses(RANKING, rankings, "QUICK_JUDGMENTS", n_judgments) == [202, 200]
