"""Every list that can be searched finds words in any case, in any alphabet, whatever the locale of the database is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from app.main import create_app
from app.services.campaigns import audit
from app.storage import campaigns
from app.storage.db import Database
from tests.api.conftest import OPTIONS
from tests.grown import grow

HERE = "/v1/campaigns/c"
WORDS = "Étude-ЖУК-Straße"
FORMS = ("ÉTUDE-жук-STRASSE", "étude-Жук-straße", "éTUDE-ЖУК-STRASSE")
OF_A_RATER = "SELECT campaign_id, id{} FROM raters WHERE key = 'r8'"
# What puts the words where a list looks for them; "" where it has them already. Keys are of A to Z: `KEYS`.
PLANTED = {
    "/v1/audit": "",
    "/v1/tokens": "UPDATE tokens SET name = '{words}'",
    "/v1/campaigns": "UPDATE campaigns SET name = '{words}'",
    f"{HERE}/raters": "INSERT INTO contacts (campaign_id, rater_id, name) " + OF_A_RATER.format(", '{words}'"),
    f"{HERE}/judgments": (
        "ALTER TABLE segments DISABLE TRIGGER USER; UPDATE segments SET source = 'Une {words}!' WHERE position = 1; "
        "ALTER TABLE segments ENABLE TRIGGER USER"
    ),
    f"{HERE}/flags": "UPDATE flags SET note = 'about {words}'",
    f"{HERE}/exclusions": "",
    f"{HERE}/hours/adjustments": "",
    f"{HERE}/completions": (
        "UPDATE enrolments SET external_id = '{words}' WHERE rater_id = (SELECT min(rater_id) FROM tasks); "
        "UPDATE tasks SET completion_code = 'C'"
    ),
    f"{HERE}/questionnaires/answers": (
        "INSERT INTO questionnaire_answers (campaign_id, rater_id, moment, n, answers) "
        + OF_A_RATER.format(""", 'before', 1, '{{"language": "{words}"}}'""")
    ),
}
KEYS = {
    f"{HERE}/attention-checks/results": "R8",
    f"{HERE}/qualification/results": "R8",
    f"{HERE}/tutorial/results": "R8",
    f"{HERE}/invitations": "PROLIFIC",
}


def searched(app: FastAPI) -> Iterator[str]:
    """The paths of all lists that take words."""
    for route in app.routes:
        if isinstance(route, APIRoute):
            fields = [field.alias for field in route.dependant.query_params]
            models = [
                getattr(field.field_info.annotation, "model_fields", {}) for field in route.dependant.query_params
            ]
            if "q" in fields or any("q" in model for model in models):
                yield route.path.replace("{campaign}", "c")


LISTS = sorted(set(searched(create_app(Database("postgresql://", size=2), OPTIONS))))


@pytest.fixture
def planted(admin: httpx.Client, database: Database, database_url: str) -> httpx.Client:
    """A client of a campaign in which each list has the words somewhere."""
    grow(database_url, "c", 300)
    with psycopg.connect(database_url) as db:
        for statement in filter(None, PLANTED.values()):
            db.execute(statement.format(words=WORDS).encode())
    reason = {"reason": f"heard of {WORDS}"}
    with database.transaction() as session:
        audit.record_action(
            session, campaigns.load_campaign(session, "c").id, actor="test", action="tried", what=reason
        )
    for path, body in (
        ("exclusions", {"rater": "r8"}),
        ("hours/adjustments", {"rater": "r8", "seconds": 60}),
        ("invitations", {"count": 1, "platform": "prolific"}),
    ):
        made = admin.post(f"{HERE}/{path}", json=body if path == "invitations" else {**body, **reason})
        assert made.status_code in {200, 201}, made.text
    return admin


def test_every_list_that_can_be_searched_finds_words_in_any_case(planted: httpx.Client) -> None:
    assert set(LISTS) == PLANTED.keys() | KEYS.keys(), "each list has a row here"
    for path in LISTS:
        forms = [KEYS[path], KEYS[path].lower()] if path in KEYS else FORMS
        seen = [items(planted, path, form) for form in forms]
        assert seen[0], path
        assert all(rows == seen[0] for rows in seen), path
        assert not items(planted, path, f"{forms[0]}x"), path
        for odd in ("[", "(a", "\\", "*", "a{2}", ".", "^r", "***=r"):
            items(planted, path, odd)


def items(client: httpx.Client, path: str, q: str) -> list[Any]:
    answer = client.get(path, params={"q": q})
    assert answer.status_code == 200, (path, q, answer.text)
    return list(answer.json()["items"])
