"""A stored report loads no ratings when it is asked for again, and is never told to who may not, nor after a change."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.storage.db import Database
from tests.api.conftest import MQM, TestClient
from tests.api.counting import Counting
from tests.api.counting import counting as counting  # a fixture
from tests.spine import Spine

Secrets = Callable[..., str]
CARD, RANKING = "/v1/campaigns/ted/reports/card", "/v1/campaigns/ted/ranking?recipe=google-mqm&permutations=100"
TABLE = RANKING.replace("?", ".csv?")
every_address = pytest.mark.parametrize(
    "path", [CARD, TABLE, *(pytest.param(path, marks=pytest.mark.soak) for path in (f"{CARD}.md", RANKING))]
)


@pytest.fixture
def ted(admin: httpx.Client, database: Database, database_url: str) -> httpx.Client:
    """A client of who may do all, where one campaign has judgments."""
    Spine(database_url, database).take("ted", "mqm-tsv", MQM.encode())
    return admin


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def same(first: httpx.Response, again: httpx.Response) -> bool:
    own = {"x-request-id"}
    told = [{k: v for k, v in one.headers.items() if k not in own} for one in (first, again)]
    return first.status_code == again.status_code and first.content == again.content and told[0] == told[1]


@every_address
def test_a_report_asked_for_again_loads_no_ratings(ted: TestClient, counting: Counting, path: str) -> None:
    with counting() as at_first:
        first = ted.get(path)
    with counting() as later:
        again = ted.get(path)
        unchanged = ted.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert first.status_code == 200, first.text
    assert same(first, again)
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    reads = re.compile(r"\b(judgments|scores)\b")
    assert any(map(reads.search, at_first))
    assert not any(map(reads.search, later)), later


@every_address
def test_who_begins_with_the_tag_gets_the_same_304_and_the_body_when_it_is_wanted(
    ted: httpx.Client, secret: Secrets, path: str
) -> None:
    first = ted.get(path)
    tag = {**bearer(secret("manager")), "If-None-Match": first.headers["ETag"]}
    once, twice = ted.get(path, headers=tag), ted.get(path, headers=tag)
    assert once.status_code == 304
    assert same(once, twice)
    whole = ted.get(path, headers={**tag, "If-None-Match": '"of-nothing"'})
    assert (whole.status_code, whole.content) == (200, first.content)


@every_address
def test_a_credential_that_ended_is_refused_at_once(
    ted: httpx.Client, secret: Secrets, ask: Callable[..., None], path: str
) -> None:
    revoked, expired = secret("viewer"), secret("viewer", campaign="ted")
    for one in (revoked, expired):
        assert [ted.get(path, headers=bearer(one)).status_code for _ in range(3)] == [200] * 3
    assert ted.delete(f"/v1/tokens/{revoked.split('_')[1]}").status_code == 204
    ask("UPDATE tokens SET expires_at = now() WHERE campaign_id IS NOT NULL")
    assert [ted.get(path, headers=bearer(one)).status_code for one in (revoked, expired)] == [401, 401]


def test_nobody_is_told_what_another_was(ted: httpx.Client, secret: Secrets) -> None:
    assert ted.post("/v1/campaigns", json={"key": "other", "protocol": "mqm"}).status_code == 201
    whole, seen = ted.get(RANKING), ted.get(RANKING, headers=bearer(secret("viewer")))
    assert ted.get(RANKING).headers["ETag"] == whole.headers["ETag"] != seen.headers["ETag"]
    for path in (CARD, RANKING):
        good = secret("viewer", campaign="ted")
        assert ted.get(path, headers=bearer(good)).status_code == 200
        almost = good[:-3] + ("A" if good[-3] != "A" else "B") + good[-2:]
        assert ted.get(path, headers=bearer(almost)).status_code == 401
        assert ted.get(path, headers=bearer(secret("manager", campaign="other"))).status_code == 404
        assert ted.get(path, headers=bearer(secret("frontend", campaign="ted"))).status_code == 403
        assert ted.get(path.replace("ted", "unknown")).status_code == 404
        assert ted.get(path, headers={"Accept": "text/markdown"}).headers["Content-Type"].startswith("text/markdown")
        assert ted.get(path, headers={"Accept": "application/json"}).json()


@pytest.mark.parametrize(
    ("change", "back"),
    [
        ("UPDATE systems SET name = name || '!'", "UPDATE systems SET name = rtrim(name, '!')"),
        ("UPDATE documents SET domain = 'legal'", "UPDATE documents SET domain = NULL"),
    ],
)
def test_a_name_that_is_changed_is_told_at_once_and_so_is_the_one_before(
    ted: httpx.Client, ask: Callable[..., None], change: str, back: str
) -> None:
    before = [ted.get(RANKING).headers["ETag"] for _ in range(2)]
    ask(change)
    between = [ted.get(RANKING).headers["ETag"] for _ in range(2)]
    ask(back)
    after = [ted.get(RANKING).headers["ETag"] for _ in range(2)]
    assert before == after
    assert between[0] == between[1] != before[0]


def test_further_judgments_and_another_recipe_of_the_name_are_seen_at_once(
    ted: httpx.Client, database: Database, database_url: str
) -> None:
    mine = RANKING.replace("google-mqm", "mine")
    stored = "/v1/campaigns/ted/recipes/mine"
    assert ted.put(stored, json={"name": "google-mqm", "alpha": 0.05}).status_code == 200
    paths = (CARD, RANKING, mine)
    first = {path: [ted.get(path).json() for _ in range(2)][1] for path in paths}
    assert first[mine]["recipe"]["alpha"] == 0.05
    assert ted.put(stored, json={"name": "google-mqm", "alpha": 0.01}).status_code == 200
    assert ted.get(mine).json()["recipe"]["alpha"] == 0.01
    Spine(database_url, database).take("ted", "mqm-tsv", MQM.replace("rater1", "rater9").encode())
    for path in paths:
        now = ted.get(path)
        assert now.status_code == 200
        assert now.json()["data_hash"] != first[path]["data_hash"]
    old = ted.get(RANKING + "&as_of=1").json()
    assert old["data_hash"] == first[RANKING]["data_hash"]


def test_a_report_that_an_erasure_took_is_not_told_any_more(ted: httpx.Client, ask_rows: Callable[..., Any]) -> None:
    before = [ted.get(CARD).headers["ETag"] for _ in range(2)][1]
    assert ted.delete("/v1/raters/rater1?campaign=ted").status_code in {200, 204}
    assert ask_rows("SELECT count(*) FROM reports") == [(0,)]
    assert ted.get(CARD, headers={"If-None-Match": before}).status_code == 200
