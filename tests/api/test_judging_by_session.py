"""Judging as raters' pages do it, by the cookie of a session: looked up once, and over at once."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from app.services.access import sessions
from app.storage.db import Database
from tests.api.test_sessions import SAME, sign_in
from tests.collecting import Collecting, collect
from tests.spine import row_counts

Rows = Callable[[str], list[tuple[object, ...]]]


@pytest.fixture
def live(database: Database) -> Collecting:
    options = {"document_score": True, "preference": "ranking"}
    return collect(database, options=options, columns=2, presentation="side_by_side")


@pytest.fixture
def page(anonymous: httpx.Client, live: Collecting) -> httpx.Client:
    """A client that is signed in as r1, and sends the proof of our pages."""
    anonymous.headers.update({**SAME, "X-CSRF-Token": sign_in(anonymous, live.secrets["r1"])})
    return anonymous


def changes(page: httpx.Client, live: Collecting, score: int) -> list[httpx.Response]:
    """Everything that a rater who is remembered may change."""
    leased = page.post(f"/v1/campaigns/{live.key}/lease")
    held = f"/v1/tasks/{live.tasks[0]}"
    said, compared = (
        {"protocol": "da", "score": score},
        {"protocol": "da", "preference": [[score % 2 + 1], [2 - score % 2]]},
    )
    return [
        leased,
        page.put(f"{held}/judgments/1/1", json=said),
        page.put(f"{held}/judgments/1", json=said),
        page.put(f"{held}/judgments/screens/1", json=compared),
        page.post(f"{held}/judgments", json=[{"item": 1, "segment": 2, "payload": said}]),
        page.post(f"{held}/heartbeat", json={}),
    ]


def test_a_session_is_looked_up_once(page: httpx.Client, live: Collecting, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    look_up = sessions.authenticate_session
    monkeypatch.setattr(sessions, "authenticate_session", lambda *given: asked.append("") or look_up(*given))
    for score in (1, 2, 3):
        assert [answer.status_code for answer in changes(page, live, score)] == [200] * 6
    assert len(asked) == 2  # for the address of the campaign, and for those of tasks


@pytest.mark.parametrize(
    "ends",
    [
        "DELETE FROM sessions",
        "UPDATE sessions SET expires_at = now()",
        "UPDATE tokens SET revoked_at = now() WHERE role = 'rater'",
    ],
)
def test_what_ends_a_session_ends_it_for_who_is_remembered(
    page: httpx.Client, live: Collecting, database: Database, ask: Callable[..., None], ends: str
) -> None:
    assert [answer.status_code for answer in changes(page, live, 1)] == [200] * 6
    before = row_counts(database.url)["judgments"]
    ask(ends)
    assert [answer.status_code for answer in changes(page, live, 2)] == [401] * 6
    assert row_counts(database.url)["judgments"] == before


def test_who_signs_out_of_one_browser_goes_on_in_another(page: httpx.Client, live: Collecting) -> None:
    assert [answer.status_code for answer in changes(page, live, 1)] == [200] * 6
    first, proof = page.cookies["rater"], page.headers["X-CSRF-Token"]
    page.cookies.clear()
    page.headers["X-CSRF-Token"] = sign_in(page, live.secrets["r1"])
    assert [answer.status_code for answer in changes(page, live, 2)] == [200] * 6
    assert page.delete("/v1/session").status_code == 204
    page.cookies.set("rater", first)
    page.headers["X-CSRF-Token"] = proof
    assert [answer.status_code for answer in changes(page, live, 3)] == [200] * 6


@pytest.mark.parametrize(
    "wrong", [{"X-CSRF-Token": "0" * 64}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}]
)
def test_who_is_remembered_still_proves_that_the_page_is_ours(
    page: httpx.Client, live: Collecting, wrong: dict[str, str]
) -> None:
    assert [answer.status_code for answer in changes(page, live, 1)] == [200] * 6
    page.headers.update(wrong)
    assert [answer.status_code for answer in changes(page, live, 2)] == [403] * 6


def test_the_secret_of_a_session_is_no_token(page: httpx.Client, live: Collecting) -> None:
    assert [answer.status_code for answer in changes(page, live, 1)] == [200] * 6
    shown = page.cookies["rater"]
    page.cookies.clear()
    for scheme in ("Bearer ", "cookie ", ""):
        page.headers["Authorization"] = f"{scheme}{shown}"
        assert [answer.status_code for answer in changes(page, live, 2)] == [401] * 6


@pytest.mark.parametrize("sent", ["judgments/1/1", "judgments/screens/1", "heartbeat", "lease"])
def test_the_use_of_a_token_is_noted_by_what_is_written(
    page: httpx.Client, live: Collecting, ask: Callable[..., None], ask_rows: Rows, sent: str
) -> None:
    assert [answer.status_code for answer in changes(page, live, 1)] == [200] * 6
    noted = "SELECT last_used_at > now() - interval '1 minute' FROM tokens WHERE last_used_at IS NOT NULL"
    for ago, expected in (("6 minutes", True), ("4 minutes", False)):
        ask(f"UPDATE tokens SET last_used_at = now() - interval '{ago}' WHERE last_used_at IS NOT NULL")
        if sent == "lease":
            answer = page.post(f"/v1/campaigns/{live.key}/lease")
        elif sent == "heartbeat":
            answer = page.post(f"/v1/tasks/{live.tasks[0]}/heartbeat", json={})
        else:
            body = {"score": 7} if sent == "judgments/1/1" else {"preference": [[1, 2]]}
            answer = page.put(f"/v1/tasks/{live.tasks[0]}/{sent}", json={"protocol": "da", **body})
        assert answer.status_code == 200, answer.text
        assert ask_rows(noted) == [(expected,)]


def test_who_is_signed_out_is_not_told_what_to_do_first(
    page: httpx.Client, live: Collecting, ask: Callable[..., None], ask_rows: Rows, secret: Callable[..., str]
) -> None:
    item = {"source": "One.", "choices": ["yes", "no"], "choice": "yes"}
    test, admin = {"items": [item], "pass_mark": 0.8}, {"Authorization": f"Bearer {secret()}"}
    answer = page.put(f"/v1/campaigns/{live.key}/qualification", json=test, headers=admin)
    assert answer.status_code == 200, answer.text
    path = f"/v1/campaigns/{live.key}/lease"
    told = page.post(path)
    assert told.json().get("why") == "qualification", told.text
    ask("UPDATE tokens SET last_used_at = '2020-01-01' WHERE role = 'rater'")
    for ends in ("UPDATE sessions SET expires_at = now()", "UPDATE tokens SET revoked_at = now() WHERE role = 'rater'"):
        ask(ends)
        assert page.post(path).status_code == 401, ends
    assert ask_rows("SELECT DISTINCT extract(year FROM last_used_at)::int FROM tokens WHERE role = 'rater'") == [
        (2020,)
    ]
