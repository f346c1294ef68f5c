"""The plan in force as a list and as a file says all that the compiled plan does."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from app.services import plans
from app.storage import campaigns
from app.storage import plans as stored_plans
from app.storage.db import Database
from tests.api.live_campaign import LIVE, Auth, lease, ok, open_live, tokens_of


@pytest.fixture
def auth(database: Database) -> Auth:
    return tokens_of(database)


@pytest.mark.parametrize("arms", [[], [{"name": "a"}, {"name": "b"}]])
def test_the_plan_in_force_is_listed_and_exported_item_by_item(
    admin: httpx.Client, auth: Auth, database: Database, arms: list[dict[str, str]]
) -> None:
    controls = {"bad_reference": {"rate": 0.1, "method": "word_mixing"}}
    open_live(admin, controls=controls, task={"max_segments": 30}, arms=arms)
    assert lease(admin, auth("r1"))
    with database.transaction() as session:
        campaign = campaigns.get(session, "live").id
        compiled = plans.unpacked(stored_plans.get(session, campaign, None).compiled)
    groups = {group.number: group for group in compiled.groups}

    paged: list[dict[str, Any]] = []
    cursor: str | None = None
    while cursor is not None or not paged:
        page = ok(admin.get(f"{LIVE}/plan/items", params={"limit": 7, **({"cursor": cursor} if cursor else {})}))
        paged += page["items"]
        cursor = page["next"]

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
