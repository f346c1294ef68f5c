"""Whoever joins an open campaign is told that nothing is planned for them, and gets an even share when asked for."""

from __future__ import annotations

import httpx
import pytest

from app.storage.db import Database
from tests.api.live_campaign import (
    LIVE,
    RATERS,
    Auth,
    finish,
    judge_task,
    lease,
    ok,
    open_live,
    ranked,
    replan,
    tokens_of,
)


@pytest.fixture
def live(admin: httpx.Client) -> httpx.Client:
    """An open campaign: six documents, two systems, three raters."""
    open_live(admin)
    return admin


@pytest.fixture
def auth(database: Database) -> Auth:
    return tokens_of(database)


def test_who_joins_an_open_campaign_is_told_and_gets_an_even_share_when_asked(live: httpx.Client, auth: Auth) -> None:
    """They were told that there are no more tasks; and a replan gave them none."""
    assert judge_task(live, auth("r1"))
    ok(live.put(f"{LIVE}/raters/r9", json={}))
    told = ok(live.post(f"{LIVE}/lease", headers=auth("r9")))
    assert (told["why"], told["retry_after"] is not None) == ("nothing_planned", True)
    assert any("r9" in note and "rebalance" in note for note in replan(live)["report"]["notes"])
    assert lease(live, auth("r9")) is None

    plan = replan(live, rebalance=True)

    groups = {load["rater"]: load["groups"] for load in plan["report"]["raters"]}
    assert groups["r9"] >= 1
    assert not any("nothing to judge" in note for note in plan["report"]["notes"])
    finish(live, auth, *RATERS, "r9")
    assert ranked(live) == {"sysA": 12, "sysB": 12}
    assert ok(live.post(f"{LIVE}/lease", headers=auth("r9")))["why"] == "finished"


def test_a_crowd_that_comes_after_the_plan_gets_a_share_when_asked(live: httpx.Client) -> None:
    ok(live.post(f"{LIVE}/invitations", json={"count": 3}))

    plan = replan(live, rebalance=True)

    loads = {load["rater"]: load["groups"] for load in plan["report"]["raters"]}
    assert len(loads) == 6
    assert set(loads.values()) == {1}
