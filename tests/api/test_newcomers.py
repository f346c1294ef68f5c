"""Whoever joins an open campaign is told that nothing is planned for them, and gets an even share when asked for."""

from __future__ import annotations

import httpx

from app.services.access import tokens
from app.storage.db import Database
from tests.api.live_campaign import (
    LIVE,
    RATERS,
    Auth,
    finish,
    judge_task,
    lease,
    ok,
    ranked,
    replan,
)

NOTHING = "have nothing to judge in this plan, and are told so"


def warned(client: httpx.Client, **headers: str) -> list[str]:
    """What stands on the campaign's overview."""
    found: list[str] = ok(client.get(f"{LIVE}/progress", headers={"Accept": "application/json", **headers}))["warnings"]
    return [one for one in found if "nothing to judge" in one]


def test_who_joins_an_open_campaign_is_told_and_gets_an_even_share_when_asked(live: httpx.Client, auth: Auth) -> None:
    """They were told that there are no more tasks; and a replan gave them none."""
    assert judge_task(live, auth("r1"))
    assert warned(live) == []
    enrolled = ok(live.put(f"{LIVE}/raters/r9", json={}))
    assert [("r9" in one, "redistribute" in one) for one in enrolled["warnings"]] == [(True, True)]
    assert warned(live) == enrolled["warnings"]
    told = ok(live.post(f"{LIVE}/lease", headers=auth("r9")))
    assert (told["why"], told["retry_after"] is not None) == ("nothing_planned", True)
    assert any("r9" in note and "redistribute" in note for note in replan(live)["report"]["notes"])
    assert lease(live, auth("r9")) is None

    assert warned(live) == enrolled["warnings"]
    plan = replan(live, rebalance=True)

    assert warned(live) == []
    groups = {load["rater"]: load["groups"] for load in plan["report"]["raters"]}
    assert groups["r9"] >= 1
    assert not any("nothing to judge" in note for note in plan["report"]["notes"])
    finish(live, auth, *RATERS, "r9")
    assert ranked(live) == {"sysA": 12, "sysB": 12}
    assert ok(live.post(f"{LIVE}/lease", headers=auth("r9")))["why"] == "finished"


def test_a_crowd_that_comes_after_the_plan_gets_a_share_when_asked(live: httpx.Client) -> None:
    ok(live.post(f"{LIVE}/invitations", json={"count": 3}))
    assert [one.split(" have")[0] for one in warned(live)] == ["3 invitation places"]

    plan = replan(live, rebalance=True)

    loads = {load["rater"]: load["groups"] for load in plan["report"]["raters"]}
    assert len(loads) == 6
    assert set(loads.values()) == {1}


def test_those_who_have_nothing_are_named_to_those_who_may_know_them_alone(
    live: httpx.Client, database: Database, anonymous: httpx.Client
) -> None:
    """One who left, was paused or is on another team's list is nobody's who waits."""
    for team in ("bonn", "jena"):
        ok(live.put(f"{LIVE}/teams/{team}", json={"name": team}))
    for rater, state, team in (("r7", "left", "bonn"), ("r8", "active", "bonn"), ("r9", "active", None)):
        ok(live.put(f"{LIVE}/raters/{rater}", json={"state": state, "team": team}))
    listed = ok(live.post(f"{LIVE}/raters", json={"keys": ["s1", "s2"]}))["warnings"]
    assert [one.split(";")[0] for one in listed] == [f"2 raters {NOTHING}: s1, s2"]
    with database.transaction() as session:
        given = {
            who: tokens.issue_token(session, role=role, campaign="live", team=team).secret
            for who, role, team in (
                ("viewer", "viewer", None), ("bonn", "coordinator", "bonn"), ("jena", "coordinator", "jena"),
            )
        }  # fmt: skip
    seen = {who: warned(anonymous, Authorization=f"Bearer {secret}") for who, secret in given.items()}
    assert {who: [one.split(";")[0] for one in told] for who, told in seen.items()} == {
        "viewer": ["4 raters have nothing to judge in this plan"],
        "bonn": ["1 rater has nothing to judge in this plan, and is told so: r8"],
        "jena": [],
    }
    assert [one.split(";")[0] for one in warned(live)] == [f"4 raters {NOTHING}: r8, r9, s1, s2"]
    ok(live.post(f"{LIVE}/close"))
    assert warned(live) == []
