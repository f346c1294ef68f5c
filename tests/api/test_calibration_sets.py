"""Calibration sets: kept by version, frozen when used, and judged by every rater of a campaign that took one in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.services.access import tokens
from app.storage.db import Database

SETS = "/v1/calibration-sets/anchors"
LIVE = "/v1/campaigns/live"
PAIRS = [
    {"text1": f"Text {n} here.", "text2": f"Anchor {n} there.", "consensus": n, "stratum": str(n)} for n in range(1, 6)
]


def _put(client: httpx.Client, pairs: list[dict[str, Any]], status: int = 200, protocol: str = "xsts") -> Any:
    answer = client.put(SETS, json={"protocol": protocol, "pairs": pairs})
    assert answer.status_code == status, answer.text
    return answer.json()


def _ok(answer: httpx.Response) -> Any:
    assert answer.status_code in {200, 201}, answer.text
    return answer.json()


@pytest.fixture
def live(admin: httpx.Client) -> httpx.Client:
    _ok(admin.post("/v1/campaigns", json={"key": "live", "protocol": "xsts", "target_language": "de"}))
    for d in range(1, 4):
        _ok(admin.put(f"{LIVE}/documents/d{d}", json={"segments": [{"source": f"Source {d}."}]}))
        for system in "AB":
            _ok(admin.put(f"{LIVE}/systems/{system}", json={}))
            _ok(admin.put(f"{LIVE}/systems/{system}/outputs/d{d}", json={"segments": [f"{system} {d}."]}))
    for rater in ("r1", "r2"):
        _ok(admin.put(f"{LIVE}/raters/{rater}", json={}))
    return admin


def test_a_set_changes_until_it_is_used_and_is_a_new_version_then(live: httpx.Client) -> None:
    first = _put(live, PAIRS)
    again = _put(live, PAIRS)
    changed = _put(live, PAIRS[:4])
    assert (first["version"], again, changed["version"]) == (1, first, 1)
    assert (changed["consensus"], changed["strata"]) == (2.5, {"1": 1, "2": 1, "3": 1, "4": 1})

    taken = _ok(live.post(f"{LIVE}/calibration", json={"set": "anchors"}))
    later = _put(live, PAIRS)

    assert taken["frozen_at"] is not None
    assert later["version"] == 2
    assert live.get(SETS, params={"version": 1}).json()["pairs"] == changed["pairs"]
    assert [one["version"] for one in live.get("/v1/calibration-sets").json()["items"]] == [2]
    assert live.post(f"{LIVE}/calibration", json={"set": "anchors"}).status_code == 409
    assert _ok(live.post(f"{LIVE}/calibration", json={"set": "anchors", "version": 1}))["version"] == 1


@pytest.mark.parametrize(
    ("pairs", "protocol", "loc"),
    [
        ([{**PAIRS[0], "consensus": 6}], "xsts", ["body", "pairs", 0, "consensus"]),
        (PAIRS, "nothing", ["body", "protocol"]),
        ([], "xsts", ["body", "pairs"]),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(
    admin: httpx.Client, pairs: list[dict[str, Any]], protocol: str, loc: list[str]
) -> None:
    assert loc in [error["loc"] for error in _put(admin, pairs, 422, protocol)["errors"]]
    assert admin.get(SETS).status_code == 404


def test_every_rater_judges_the_sample_and_no_ranking_counts_it(
    live: httpx.Client, database: Database, ask_rows: Callable[[str], list[tuple[Any, ...]]]
) -> None:
    _put(live, PAIRS)
    design = {"seed": 2, "overlap": None, "calibration": {"set": "anchors", "sample": 3, "placement": "first"}}
    assert "takes anchors in" in live.post(f"{LIVE}/plan", json=design).json()["detail"]
    _ok(live.post(f"{LIVE}/calibration", json={"set": "anchors"}))
    _ok(live.post(f"{LIVE}/plan", json=design))
    _ok(live.post(f"{LIVE}/open"))

    for rater in ("r1", "r2"):
        _judge(live, database, rater)

    rows = ask_rows(
        """SELECT r.key, i.role, count(*) FROM judgments j JOIN items i ON i.id = j.item_id
           JOIN raters r ON r.id = j.rater_id GROUP BY 1, 2"""
    )
    assert Counter({(rater, role): n for rater, role, n in rows if role == 4}) == {("r1", 4): 3, ("r2", 4): 3}
    ranking = _ok(live.get(f"{LIVE}/ranking", params={"normalize": "none"}))
    assert {one["system"]: one["n_ratings"] for one in ranking["systems"]} == {"A": 3, "B": 3}


def _judge(client: httpx.Client, database: Database, rater: str) -> None:
    with database.transaction() as session:
        headers = {
            "Authorization": f"Bearer {tokens.issue_token(session, role='rater', campaign='live', rater=rater).secret}"
        }
    while (task := _ok(client.post(f"{LIVE}/lease", headers=headers))["task"]) is not None:
        assert "anchors" not in str(task)
        for item in task["items"]:
            for segment in item["segments"]:
                path = f"/v1/tasks/{task['task']}/judgments/{item['item']}/{segment['segment']}"
                _ok(client.put(path, json={"protocol": "xsts", "score": 3}, headers=headers))
        _ok(client.post(f"/v1/tasks/{task['task']}/submit", headers=headers))


def test_a_set_of_another_protocol_is_not_taken_in(admin: httpx.Client, live: httpx.Client) -> None:
    _put(admin, [{**one, "consensus": 50} for one in PAIRS], protocol="da")

    refused = live.post(f"{LIVE}/calibration", json={"set": "anchors"})

    assert refused.status_code == 409
    assert "judges by xsts" in refused.json()["detail"]
