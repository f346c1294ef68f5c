"""What a rater's credential can fetch of hours, progress and quality: their own hours, and nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.storage.db import Database
from tests.api.test_access_matrix import addresses
from tests.collecting import Collecting, collect

RATERS = ("r1", "r2", "r3")
CLOSED = ("/progress", "/hours", "/reports/quality", "/reports/timing", "/reports/revisions")
Said = tuple[str, str, int]


@pytest.fixture
def live(database: Database) -> Collecting:
    return collect(database, raters=RATERS)


@pytest.fixture
def admin_headers(secret: Callable[..., str]) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret()}"}


def test_no_rater_is_let_in_where_the_hours_and_progress_of_a_campaign_are(
    app: FastAPI, anonymous: httpx.Client, live: Collecting, secret: Callable[..., str]
) -> None:
    values = {"campaign": live.key, "kind": "csv"}
    through = {"Authorization": f"Bearer {secret('frontend', campaign=live.key)}", "Plumbline-Rater": "r1"}
    tried = 0
    for address in addresses(app):
        inside = address.path.removeprefix("/v1/campaigns/{campaign}")
        if inside == address.path or not inside.startswith(CLOSED):
            continue
        for caller in (live.auth("r1"), through, {**live.auth("r1"), "Accept": "text/event-stream"}):
            answer = anonymous.request(address.method, address.path.format(**values), headers=caller, **address.body())
            assert answer.status_code == 403, address.name
            assert "sys" not in answer.text
            tried += 1
    assert tried >= 3 * 10


SAYINGS = st.lists(
    st.tuples(st.sampled_from(RATERS), st.sampled_from(["adjustment", "dispute"]), st.integers(1, 9999)),
    min_size=1,
    max_size=6,
)


def test_own_hours_are_exactly_what_was_said_of_oneself(
    anonymous: httpx.Client, live: Collecting, admin_headers: dict[str, str]
) -> None:
    model: dict[str, list[Said]] = defaultdict(list)

    @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
    @given(SAYINGS)
    def run(sayings: list[Said]) -> None:
        for rater, kind, seconds in sayings:
            _say(anonymous, live, admin_headers, model, (rater, kind, seconds))
        for rater in RATERS:
            told = anonymous.get("/v1/me/hours", headers=live.auth(rater))
            entries = told.json()["entries"]
            assert [(one["kind"], one["seconds"]) for one in entries] == [said[1:] for said in model[rater]]
            assert {one["reason"] for one in entries} <= {f"of {rater}"}
            adjusted = sum(seconds for _, kind, seconds in model[rater] if kind == "adjustment")
            assert told.json()["hours"]["adjusted_seconds"] == adjusted
            others = {name for name in (*RATERS, "sysA", "sysB") if name != rater}
            assert not any(name in told.text for name in others)

    run()
    assert sum(map(len, model.values())) > 12


def _say(
    client: httpx.Client, live: Collecting, admin: dict[str, str], model: dict[str, list[Said]], said: Said
) -> None:
    """An adjustment by a manager, or a dispute as long as a rater may have one more."""
    rater, kind, seconds = said
    if kind == "adjustment":
        body = {"rater": rater, "seconds": seconds, "reason": f"of {rater}"}
        answer = client.post(f"/v1/campaigns/{live.key}/hours/adjustments", json=body, headers=admin)
        assert answer.status_code == 201, answer.text
        model[rater].append(said)
        return
    body = {"seconds": seconds, "reason": f"of {rater}"}
    answer = client.post("/v1/me/hours/disputes", json=body, headers=live.auth(rater))
    if answer.status_code == 201:
        model[rater].append(said)
    else:
        assert sum(one[1] == "dispute" for one in model[rater]) == 20


def test_the_team_of_a_rater_is_not_told_to_them(anonymous: httpx.Client, live: Collecting, database_url: str) -> None:
    with psycopg.connect(database_url) as db:
        db.execute("INSERT INTO teams (campaign_id, key, name) SELECT id, 'plantedTeam', 'p' FROM campaigns")
        db.execute("UPDATE enrolments SET team_id = (SELECT id FROM teams)")
    assert "plantedTeam" not in anonymous.get("/v1/me/hours", headers=live.auth("r1")).text
