"""The plan in force as a list and as a file says all that the compiled plan does."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from app.services.plans import plans
from app.storage import campaigns
from app.storage import plans as stored_plans
from app.storage.db import Database
from tests.api.live_campaign import LIVE, Auth, judge_task, lease, ok, open_live, replan


def listed(client: httpx.Client, **which: int) -> list[dict[str, Any]]:
    """All pages."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while cursor is not None or not found:
        page = ok(
            client.get(f"{LIVE}/plan/items", params={"limit": 7, **which, **({"cursor": cursor} if cursor else {})})
        )
        found += page["items"]
        cursor = page["next"]
    return found


@pytest.mark.parametrize("arms", [[], [{"name": "a"}, {"name": "b"}]])
def test_the_plan_in_force_is_listed_and_exported_item_by_item(
    admin: httpx.Client, auth: Auth, database: Database, arms: list[dict[str, str]]
) -> None:
    controls = {"bad_reference": {"rate": 0.1, "method": "word_mixing"}}
    open_live(admin, controls=controls, task={"max_segments": 30}, arms=arms)
    assert lease(admin, auth("r1"))
    with database.transaction() as session:
        campaign = campaigns.load_campaign(session, "live").id
        compiled = plans.decode_plan(stored_plans.load_plan(session, campaign, None).compiled)
    groups = {group.number: group for group in compiled.groups}

    paged = listed(admin)
    lines = admin.get(f"{LIVE}/plan/items.jsonl")
    assert lines.headers["content-type"].startswith("application/x-ndjson")
    assert [json.loads(line) for line in lines.text.splitlines()] == paged
    meant = [(task, item) for task in compiled.tasks for item in task.items]
    number_of = {one["task"]: one["number"] for one in paged}
    assert len(paged) == len(meant)
    for shown, (task, item) in zip(paged, meant, strict=True):
        assert (shown["number"], shown["item"], shown["rater"]) == (task.number, item.position, task.rater)
        assert (shown["role"], shown["document"], shown["first"]) == (item.role, item.document, item.first)
        assert (shown["propensity"], shown["bucket"], shown["variant"]) == (item.propensity, task.bucket, item.variant)
        assert shown["arm"] == (arms[task.arm]["name"] if task.arm is not None else None)
        group = None if item.group is None else groups[item.group]
        assert (shown["group"] and (shown["group"]["unit"], shown["group"]["nth"])) == (
            group and (group.unit, group.nth)
        )
        of = shown["of"] and (number_of[shown["of"]["task"]], shown["of"]["item"])
        assert of == (item.of and (item.of.task, item.of.position))
    assert admin.get(f"{LIVE}/plan/items", params={"cursor": "x"}).status_code == 422
    assert admin.get("/v1/campaigns/other/plan/items").status_code == 404
    assert admin.get("/v1/campaigns/other/plan/items.jsonl").status_code == 404


def as_made(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What an earlier plan tells of each: all but names and states of tasks, which are those of today."""
    told = []
    for one in items:
        group = one["group"] and (one["group"]["unit"], one["group"]["nth"])
        of = one["of"] and (one["of"]["number"], one["of"]["item"])
        kept = {name: value for name, value in one.items() if name not in {"task", "state", "presentation"}}
        told.append({**kept, "group": group, "of": of})
    return told


def test_an_earlier_plan_is_listed_as_it_was_made_with_what_a_replan_took_back(admin: httpx.Client, auth: Auth) -> None:
    open_live(admin, controls={"repeat": {"rate": 0.2, "min_distance": 0}}, task={"max_segments": 12})
    judge_task(admin, auth("r1"))
    judge_task(admin, auth("r2"), submit=False)
    before = listed(admin)
    assert any(one["of"] for one in before)
    etag = admin.get(f"{LIVE}/raters/r2").headers["etag"]
    ok(admin.put(f"{LIVE}/raters/r2", json={"state": "left"}, headers={"If-Match": etag}))
    replan(admin)

    earlier, now = listed(admin, plan=1), listed(admin)

    assert as_made(earlier) == as_made(before)
    assert {(one["task"], one["state"]) for one in earlier} == {(None, None)}
    assert any(one["rater"] == "r2" for one in earlier)
    assert {one["plan"] for one in now} == {2}
    assert listed(admin, plan=2) == now
    for which, items in ((1, earlier), (2, now)):
        lines = admin.get(f"{LIVE}/plan/items.jsonl", params={"plan": which}).text.splitlines()
        assert [json.loads(line) for line in lines] == items
    for end in ("items", "items.jsonl"):
        statuses = [admin.get(f"{LIVE}/plan/{end}", params={"plan": n}).status_code for n in (0, 3, 2**31)]
        assert statuses == [422, 404, 422], end
