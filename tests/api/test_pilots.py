"""A pilot that is named by its key: what is planned from it, and that nobody reads a campaign through another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

from app.cli import build_cli_app
from app.storage.db import Database
from app.storage.embedded import EmbeddedServer
from tests.api.conftest import template_asked_for, template_by_admin
from tests.api.direct import anonymous as anonymous  # a fixture
from tests.api.test_plans import LIVE, draft, draft_template, ready
from tests.working import drained

__all__ = ["draft_template", "ready"]  # fixtures of the neighbouring tests
PILOT = "/v1/campaigns/before"
DESIGN = {"seed": 5, "overlap": None}
POWER = {"pilot": "before", "studies": "20", "draws": "0", "groupings": "psxs", "ratings": "1", "documents": "6,12"}


@pytest.fixture(scope="module")
def pilot_template(postgres: EmbeddedServer, migrated_template: str) -> Iterator[str]:
    """The name of a database with the campaigns of `pilot`."""

    def fill(admin: httpx.Client, _: str) -> None:
        draft(admin)
        judge_before(admin)

    with template_by_admin(postgres, migrated_template, fill) as name:
        yield name


@pytest.fixture
def template(request: pytest.FixtureRequest, migrated_template: str) -> str:
    """Who asks for the pilot or for the draft alone has it in the database from the start."""
    return template_asked_for(request, migrated_template, {"pilot": "pilot_template", "ready": "draft_template"})


@pytest.fixture
def pilot(ready: httpx.Client) -> httpx.Client:
    """Beside the draft a campaign of eight documents, three systems and three raters who judged everything."""
    return ready


def judge_before(ready: httpx.Client) -> None:
    made = ready.post("/v1/campaigns", json={"key": "before", "protocol": "esa", "target_language": "de"})
    assert made.status_code == 201, made.text
    rng, severity = np.random.default_rng(3), {"r1": 0.0, "r2": 9.0, "r3": -6.0}
    quality = {"x": 4.0, "y": 0.0, "z": -4.0}
    for document in range(1, 9):
        segments = [{"source": f"Source {document} {n}."} for n in (1, 2)]
        ready.put(f"{PILOT}/documents/p{document}", json={"position": document, "segments": segments})
    for system in quality:
        ready.put(f"{PILOT}/systems/{system}", json={})
        for document in range(1, 9):
            texts = [f"{system} says {document} {n}." for n in (1, 2)]
            ready.put(f"{PILOT}/systems/{system}/outputs/p{document}", json={"segments": texts})
    for rater in severity:
        ready.put(f"{PILOT}/raters/{rater}", json={})
    given = [
        {
            "rater": rater,
            "document": f"p{d}",
            "segment": n,
            "system": system,
            "payload": {
                "protocol": "esa",
                "errors": [],
                "score": float(np.clip(60 + s + q + rng.normal(0, 8), 0, 100)),
            },
            "external_id": f"{rater}{d}{n}{system}",
        }
        for rater, s in severity.items()
        for system, q in quality.items()
        for d in range(1, 9)
        for n in (1, 2)
    ]
    answer = ready.post(f"{PILOT}/judgments", json=given, headers={"Idempotency-Key": "k"})
    assert answer.status_code in {200, 201}, answer.text


def planned(client: httpx.Client, *, dry_run: str = "true", **query: str) -> httpx.Response:
    return client.post(f"{LIVE}/plan", json=DESIGN, params={"dry_run": dry_run, "pilot": "before", **query})


def test_a_plan_is_forecast_from_the_pilot_that_it_names_and_its_documents_are_drawn_again(pilot: httpx.Client) -> None:
    report = planned(pilot).json()["report"]

    assert report["forecast"]["source"] == "before, pilot"
    assert 30 < report["forecast"]["components"]["residual"] < 130
    told = report["pilot"]
    assert (told["campaign"], told["ratings"], told["documents"]) == ("before", 144, 8)
    assert told["data_version"] == pilot.get(f"{PILOT}/ranking").json()["data_version"]
    assert report["srp"]["between_systems"] == told["between_systems"] > 0
    assert 0.4 < told["resampled"] <= 1, "the difference is the one that is found with 80 % power"
    assert told["resampled_error"] < 0.1
    assert planned(pilot).json()["report"] == report
    without = pilot.post(f"{LIVE}/plan", json=DESIGN, params={"dry_run": "true"}).json()["report"]
    assert "pilot" not in without
    assert without["forecast"]["source"] != "before, pilot"


def test_a_replan_goes_on_from_the_pilot_of_the_plan_without_reading_it_again(
    pilot: httpx.Client, secret: Callable[..., str]
) -> None:
    frozen = planned(pilot, dry_run="false")
    assert frozen.status_code == 201, frozen.text
    first = frozen.json()["report"]

    bound = {"Authorization": f"Bearer {secret('manager', campaign='live')}"}
    again = pilot.post(f"{LIVE}/plan/replan", json={"reason": "r3 left"}, params={"dry_run": "true"}, headers=bound)

    assert again.status_code == 200, again.text
    report = again.json()["report"]
    assert report["forecast"]["components"] == first["forecast"]["components"]
    assert report["pilot"]["resampled"] is None
    assert "does not read the pilot" in report["pilot"]["why_not_resampled"]


def test_who_may_name_the_pilot_and_that_others_are_told_of_it_what_they_are_told_of_none(
    pilot: httpx.Client, database: Database, secret: Callable[..., str]
) -> None:
    for role, plans in (("admin", 200), ("manager", 200), ("viewer", 403)):
        given = {"Authorization": f"Bearer {secret(role)}"}
        query = {"dry_run": "true", "pilot": "before"}
        assert pilot.post(f"{LIVE}/plan", json=DESIGN, params=query, headers=given).status_code == plans
        answer = pilot.get(f"{LIVE}/reports/power", params=POWER, headers={**given, "Prefer": "wait=0"})
        assert answer.status_code == 202, answer.text
    job = answer.json()["job"]
    drained(database)  # it is stored now, as for somebody who sees both
    assert pilot.get(f"{LIVE}/reports/power", params=POWER).status_code == 200

    for own, other in (("live", "before"), ("before", "live")):
        given = {"Authorization": f"Bearer {secret('manager', campaign=own)}"}
        found = refused(pilot, own, other, given)
        assert found == refused(pilot, own, "nowhere", given)
        assert {status for status, *_ in found} == {404}
        assert pilot.get(f"/v1/jobs/{job}", headers=given).status_code == 404
        assert pilot.get(f"/v1/jobs/{job}/report", headers=given).status_code == 404


def refused(client: httpx.Client, own: str, other: str, given: dict[str, str]) -> list[tuple[int, Any, Any]]:
    """What the routes that take a pilot answer to a credential of one campaign that names another."""
    answers = [
        client.post(f"/v1/campaigns/{own}/plan", json=DESIGN, params={"pilot": other, **how}, headers=given)
        for how in ({"dry_run": "true"}, {})
    ]
    for shape in ("", ".csv", ".svg"):
        there = f"/v1/campaigns/{own}/reports/power{shape}"
        answers.append(client.get(there, params={**POWER, "pilot": other}, headers=given))
    return [(one.status_code, one.json()["title"], one.json()["detail"]) for one in answers]


def test_a_planner_takes_the_sizes_of_its_campaign_and_the_components_and_documents_of_the_pilot(
    pilot: httpx.Client, database: Database
) -> None:
    without = {name: value for name, value in POWER.items() if name != "pilot"}
    asked_for = pilot.get(f"{LIVE}/reports/power", params=POWER, headers={"Prefer": "wait=0"})
    assert set(asked_for.json()["campaigns"]) == {"live", "before"}
    pilot.get(f"{PILOT}/reports/power", params=without, headers={"Prefer": "wait=0"})
    drained(database)
    view = pilot.get(f"{LIVE}/reports/power", params=POWER).json()
    own = pilot.get(f"{PILOT}/reports/power", params=without)

    assert (view["pilot"], view["components"]["source"]) == ("before", "before, pilot")
    assert own.json()["components"]["source"] == "before, own judgments"
    assert all(point["resampled"] is not None for point in view["designs"][0]["points"])
    values = {name: view["components"][name] for name in view["components"] if name != "source"}
    assert values == {name: own.json()["components"][name] for name in values}


def test_a_pilot_that_tells_nothing_about_the_campaign_is_refused_by_name(pilot: httpx.Client) -> None:
    """One without judgments, and one on another scale."""
    pilot.post("/v1/campaigns", json={"key": "apart", "protocol": "mqm", "target_language": "de"})
    for named in ("live", "apart"):
        answer = planned(pilot, pilot=named)
        assert answer.status_code == 422, answer.text
        assert [error["loc"] for error in answer.json()["errors"]] == [["query", "pilot"]]


def test_the_command_names_a_pilot_and_prints_what_it_tells(
    pilot: httpx.Client, database_url: str, tmp_path: Path
) -> None:
    design = tmp_path / "design.json"
    design.write_text('{"seed": 5, "overlap": null}')
    told = CliRunner().invoke(
        build_cli_app("plan"),
        ["plan", "live", str(design), "--dry-run", "--pilot", "before"],
        env={"PLUMBLINE_DATABASE_URL": database_url, "COLUMNS": "300"},
    )
    assert "Pilot before: 144 ratings of 8 documents; resampled, " in told.stdout, told.output
