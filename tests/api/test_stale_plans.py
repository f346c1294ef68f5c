"""A plan of something else than there is now does not open a campaign; a plan of what there is does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from app.services.plans.staleness import IDLE
from app.storage import embedded
from tests.api.conftest import template_by_admin

LIVE = "/v1/campaigns/live"


def _ok(answer: httpx.Response) -> Any:
    assert answer.status_code in {200, 201}, answer.text
    return answer.json()


def _document(client: httpx.Client, d: int, systems: tuple[str, ...] = ("sysA", "sysB")) -> None:
    _ok(client.put(f"{LIVE}/documents/d{d}", json={"position": d, "segments": [{"source": f"Source {d}."}]}))
    for system in systems:
        _output(client, d, system)


def _output(client: httpx.Client, d: int, system: str) -> None:
    _ok(client.put(f"{LIVE}/systems/{system}/outputs/d{d}", json={"segments": [f"{system} says {d}."]}))


@pytest.fixture(scope="module")
def planned_template(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[str]:
    """The name of a database with the campaign of `planned`."""
    with template_by_admin(postgres, migrated_template, lambda admin, _: _make_and_plan(admin)) as name:
        yield name


@pytest.fixture
def template(planned_template: str) -> str:
    return planned_template


@pytest.fixture
def planned(admin: httpx.Client) -> httpx.Client:
    """A planned campaign: four documents, two systems of which one lacks an output, three raters."""
    return admin


def _make_and_plan(admin: httpx.Client) -> None:
    _ok(admin.post("/v1/campaigns", json={"key": "live", "protocol": "da", "target_language": "de"}))
    for system in ("sysA", "sysB"):
        _ok(admin.put(f"{LIVE}/systems/{system}", json={}))
    for d in range(1, 4):
        _document(admin, d)
    _document(admin, 4, ("sysA",))
    for rater in ("r1", "r2", "r3"):
        _ok(admin.put(f"{LIVE}/raters/{rater}", json={}))
    _plan(admin)


def _plan(client: httpx.Client) -> None:
    _ok(client.post(f"{LIVE}/plan", json={"seed": 3, "overlap": None}))


def _stale(client: httpx.Client) -> Any:
    return _ok(client.get(f"{LIVE}/plan"))["stale"]


def _leaves(client: httpx.Client, rater: str) -> None:
    seen = client.get(f"{LIVE}/raters/{rater}").headers["ETag"]
    _ok(client.put(f"{LIVE}/raters/{rater}", json={"state": "left"}, headers={"If-Match": seen}))


def _add_document(client: httpx.Client) -> None:
    _document(client, 5)


def _add_system(client: httpx.Client) -> None:
    _ok(client.put(f"{LIVE}/systems/sysC", json={}))


def _add_rater(client: httpx.Client) -> None:
    _ok(client.put(f"{LIVE}/raters/r4", json={}))


def _bound_a_rater(client: httpx.Client) -> None:
    seen = client.get(f"{LIVE}/raters/r1").headers["ETag"]
    body = {"capacity": 100, "capacity_unit": "items"}
    _ok(client.put(f"{LIVE}/raters/r1", json=body, headers={"If-Match": seen}))


def _add_an_output(client: httpx.Client) -> None:
    _output(client, 4, "sysB")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (_add_document, "documents added: d5"),
        (_add_system, "systems added: sysC"),
        (_add_rater, "raters added: r4"),
        (_bound_a_rater, "capacity"),
        (_add_an_output, "outputs"),
    ],
)
def test_a_campaign_does_not_open_on_a_plan_of_something_else_until_it_is_compiled_again(
    planned: httpx.Client, change: Any, named: str
) -> None:
    assert _stale(planned) == []
    change(planned)
    assert named in "; ".join(_stale(planned))

    refused = planned.post(f"{LIVE}/open")

    assert refused.status_code == 409, refused.text
    assert named in refused.json()["detail"]
    assert _ok(planned.get(LIVE))["state"] == "planned"
    _plan(planned)
    assert _stale(planned) == []
    assert _ok(planned.post(f"{LIVE}/open"))["state"] == "open"


def test_a_campaign_that_was_open_opens_again_whatever_has_come(planned: httpx.Client) -> None:
    _ok(planned.post(f"{LIVE}/open"))
    _ok(planned.post(f"{LIVE}/pause"))
    _add_rater(planned)

    assert _ok(planned.post(f"{LIVE}/open"))["state"] == "open"


def test_what_a_replan_has_taken_in_is_no_change_any_more_and_what_comes_after_is(planned: httpx.Client) -> None:
    _ok(planned.post(f"{LIVE}/open"))
    _leaves(planned, "r1")
    assert _stale(planned) == ["raters gone: r1"]

    replanned = _ok(planned.post(f"{LIVE}/plan/replan", json={"reason": "r1 left"}))
    assert (replanned["stale"], _stale(planned)) == ([], [])

    _add_rater(planned)
    assert _stale(planned) == ["raters added: r4", IDLE]
    assert _ok(planned.get(f"{LIVE}/plans/1"))["stale"] is None


def test_a_plan_of_what_nobody_can_judge_any_more_says_so(planned: httpx.Client) -> None:
    for rater in ("r1", "r2", "r3"):
        _leaves(planned, rater)

    assert _stale(planned) == ["There are no raters yet: enrol raters, or create an invitation"]
