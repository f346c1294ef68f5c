"""Of a campaign with many judgments a worker makes every report, with the bytes of one that is made at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest

from app.main import create_app
from app.reports import registry
from app.reports.kit import store
from app.reports.kit.request import ReportRequest
from app.services.access import tokens
from app.storage import embedded, staged_judgments
from tests.api.conftest import OPTIONS, TestClient
from tests.services.data.test_imports import MQM
from tests.spine import Spine, fresh
from tests.working import drained

OF_ONE = sorted(
    (one for one in (*registry.ALL.values(), *registry.WITH_OWN_ROUTES.values()) if one.over == "campaign"),
    key=lambda one: one.name,
)
ANYWHERE = {"quality", "timing", "revisions"}


def askable(kind: Any) -> bool:
    """By its name alone: not the gate, which wants two systems, nor what has an address of its own elsewhere."""
    of_its_own = kind.own_routes and kind.name not in ANYWHERE
    return not of_its_own and not any(field.is_required() for field in kind.options.model_fields.values())


@dataclass(frozen=True)
class World:
    """A campaign of two systems and seven documents."""

    spine: Spine
    client: httpx.Client
    manager: dict[str, str]

    def get(self, name: str, **headers: str) -> httpx.Response:
        return self.client.get(f"/v1/campaigns/mqm/reports/{name}", headers={**self.manager, **headers})


@pytest.fixture(scope="module")
def shared(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[World]:
    with fresh(postgres, migrated_template) as spine:
        spine.take("mqm", "mqm-tsv", MQM.encode())
        with spine.database.transaction() as session:
            secret = tokens.issue_token(session, role="manager").secret
        with TestClient(create_app(spine.database, OPTIONS), raise_server_exceptions=False) as client:
            yield World(spine, client, {"Authorization": f"Bearer {secret}"})


@pytest.fixture
def large(shared: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """As if there were more judgments than are quick."""
    monkeypatch.setattr(staged_judgments, "has_more_judgments_than", lambda *_: True)
    return shared


@pytest.mark.parametrize("kind", [one for one in OF_ONE if not one.long and askable(one)], ids=lambda one: one.name)
def test_every_report_of_many_judgments_is_a_job_with_the_same_bytes(large: World, kind: Any) -> None:
    asked = large.get(kind.name, Prefer="wait=0")
    if asked.status_code == 202:
        drained(large.spine.database)
        asked = large.get(kind.name, Prefer="wait=0")
    with large.spine.database.transaction() as session:
        lookup = store.look_up_report(session, ReportRequest(kind, ("mqm",), kind.options()))
        if asked.status_code == 422:
            assert lookup.body is None
            return
        work = kind.prepare(session, lookup.about, kind.options())
    made = store.compute_report(work, on_progress=lambda _done, _total: None, should_stop=lambda: False)
    assert (asked.status_code, lookup.body, asked.content) == (200, made, made)


@pytest.mark.parametrize("name", sorted(ANYWHERE))
def test_nothing_of_a_large_campaign_is_computed_by_who_answers(
    large: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(large.spine.url) as connection:
        connection.execute("DELETE FROM reports")
        connection.execute("DELETE FROM jobs")
    monkeypatch.setattr(store, "compute_report", None)
    for address in (name, f"{name}.csv", f"{name}.svg"):
        asked = large.get(address, Prefer="wait=0")
        assert (asked.status_code, asked.json()["kind"]) == (202, name)


def test_a_coordinator_is_sent_to_the_verdicts_and_not_to_the_job(large: World) -> None:
    made = large.client.put("/v1/campaigns/mqm/teams/bonn", json={"name": "Bonn"}, headers=large.manager)
    assert made.status_code == 200, made.text
    with large.spine.database.transaction() as session:
        secret = tokens.issue_token(session, role="coordinator", campaign="mqm", team="bonn").secret
    mine = {"Authorization": f"Bearer {secret}", "Prefer": "wait=0"}
    with psycopg.connect(large.spine.url) as connection:
        connection.execute("DELETE FROM reports")
        connection.execute("DELETE FROM jobs")
    address = "/v1/campaigns/mqm/reports/quality"
    asked = large.client.get(address, headers=mine)
    assert (asked.status_code, asked.headers["Location"]) == (202, address)
    drained(large.spine.database)
    assert large.client.get(asked.headers["Location"], headers=mine).status_code == 200


def test_more_judgments_than_a_number_are_counted_no_further(shared: World) -> None:
    with psycopg.connect(shared.spine.url) as connection:
        ((campaign, n),) = connection.execute("SELECT campaign_id, count(*) FROM judgments GROUP BY 1").fetchall()
    with shared.spine.database.transaction() as session:
        found = [staged_judgments.has_more_judgments_than(session, [campaign], most) for most in (0, n - 1, n, n + 1)]
        assert found == [True, True, False, False]
        assert not staged_judgments.has_more_judgments_than(session, [campaign + 1], 0)
        assert staged_judgments.has_more_judgments_than(session, [campaign + 1, campaign], n - 1)
