"""A renewed plan shows control items as the one before it did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.storage.db import Database
from tests.api.live_campaign import LIVE, finish, judge_task, ok, open_live, ranked, replan, tokens_of

TEXTS = "SELECT output_id, name, text, how::text FROM variants WHERE kind = 'degraded'"
SHOWN = """SELECT count(*) FROM items i JOIN tasks t ON t.id = i.task_id WHERE i.variant IS NOT NULL AND t.plan = {}"""


@pytest.mark.parametrize("grouping", [pytest.param("psxs", marks=pytest.mark.soak), "none"])
def test_what_was_degraded_for_an_earlier_plan_is_shown_again_as_it_was(
    admin: httpx.Client, database: Database, ask_rows: Callable[[str], list[tuple[Any, ...]]], grouping: str
) -> None:
    auth = tokens_of(database)
    controls = {"bad_reference": {"rate": 0.25}}
    open_live(admin, grouping=grouping, ratings_per_item=2, task={"max_segments": 8}, controls=controls)
    before = ask_rows(TEXTS)
    judge_task(admin, auth("r1"))
    seen = admin.get(f"{LIVE}/raters/r1").headers["ETag"]
    ok(admin.put(f"{LIVE}/raters/r1", json={"state": "left"}, headers={"If-Match": seen}))

    assert [replan(admin)["version"] for _ in range(2)] == [2, 3]

    assert set(before) <= set(ask_rows(TEXTS))
    assert ask_rows(SHOWN.format(3))[0][0] > 0
    finish(admin, auth, "r2", "r3")
    assert sum(ranked(admin).values()) > 24
