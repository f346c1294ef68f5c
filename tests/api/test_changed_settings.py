"""What is kept of a campaign's settings to take answers fast never outlives them, and is read once for all who ask."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy.orm import Session

from app.services.tasks import judging
from app.services.tasks.judging_rules import JudgingRules
from app.storage.db import Database
from tests.collecting import Collecting, collect
from tests.spine import row_counts

Ask = Callable[..., None]
LEFT = "SELECT extract(epoch FROM leased_until - now()) FROM tasks WHERE state = 'leased'"
EXPIRED = "UPDATE tasks SET leased_until = now() - interval '1 second' WHERE state = 'leased'"
OPTIONS = {"preference": "best"}


@pytest.fixture
def live(database: Database) -> Collecting:
    return collect(database, documents=3, columns=2, presentation="side_by_side", options=OPTIONS)


@pytest.fixture
def held(anonymous: httpx.Client, live: Collecting) -> str:
    """The address of the task that r1 holds."""
    answer = anonymous.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth("r1"))
    return f"/v1/tasks/{answer.json()['task']['task']}"


def put(client: httpx.Client, live: Collecting, held: str, score: float = 50) -> httpx.Response:
    return client.put(f"{held}/judgments/1/1", json={"protocol": "da", "score": score}, headers=live.auth("r1"))


def compare(client: httpx.Client, live: Collecting, held: str) -> httpx.Response:
    answer = {"protocol": "da", "preference": [[1], [2]]}
    return client.put(f"{held}/judgments/screens/1", json=answer, headers=live.auth("r1"))


def post(client: httpx.Client, live: Collecting, held: str) -> httpx.Response:
    two = [{"item": n, "segment": 2, "payload": {"protocol": "da", "score": 50}} for n in (1, 2)]
    return client.post(f"{held}/judgments", json=two, headers=live.auth("r1"))


def beat(client: httpx.Client, live: Collecting, held: str) -> httpx.Response:
    return client.post(f"{held}/heartbeat", json={}, headers=live.auth("r1"))


WRITES = {"one": put, "many": post, "screen": compare, "sign of life": beat}


def change_lease(client: httpx.Client, secret: Callable[..., str], seconds: int) -> None:
    by = {"Authorization": f"Bearer {secret()}"}
    seen = client.get("/v1/campaigns/live", headers=by).headers["ETag"]
    changes = {"settings": {"lease_seconds": seconds}}
    changed = client.patch("/v1/campaigns/live", json=changes, headers={**by, "If-Match": seen})
    assert changed.status_code == 200, changed.text


@pytest.mark.parametrize("write", WRITES)
def test_whatever_is_written_goes_by_the_settings_of_that_moment(
    write: str,
    anonymous: httpx.Client,
    live: Collecting,
    held: str,
    secret: Callable[..., str],
    ask: Ask,
    database: Database,
) -> None:
    assert put(anonymous, live, held, 10).status_code == 200  # what is asked is known from now on
    change_lease(anonymous, secret, 600)
    ask(EXPIRED)
    answer = WRITES[write](anonymous, live, held)
    assert answer.status_code == 200, answer.text
    with psycopg.connect(database.url) as db:
        ((left,),) = db.execute(LEFT).fetchall()
    assert 60 < left <= 600


@pytest.mark.parametrize("write", WRITES)
def test_settings_that_change_again_and_again_end_in_try_again_and_nothing_is_written(
    write: str,
    anonymous: httpx.Client,
    live: Collecting,
    held: str,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loads: list[int] = []

    def one_behind(session: Session, key: str) -> JudgingRules:
        rules = load_rules(session, key)
        loads.append(rules.settings_version)
        return replace(rules, write_target=replace(rules.write_target, settings_version=rules.settings_version - 1))

    load_rules = judging.load_judging_rules
    monkeypatch.setattr(judging, "load_judging_rules", one_behind)
    before = row_counts(database.url)
    answer = WRITES[write](anonymous, live, held)
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:plumbline:problem:settings-changing")
    assert (row_counts(database.url), len(loads)) == (before, judging.ATTEMPTS)
    monkeypatch.setattr(judging, "load_judging_rules", load_rules)
    assert WRITES[write](anonymous, live, held).status_code == 200


def test_the_guidelines_of_that_moment_stand_with_each_answer(
    anonymous: httpx.Client, live: Collecting, held: str, secret: Callable[..., str], database: Database
) -> None:
    by = {"Authorization": f"Bearer {secret()}"}
    for n in (1, 2):
        put(anonymous, live, held, n)
        written = anonymous.put("/v1/campaigns/live/guidelines", json={"en": f"Number {n}."}, headers=by)
        assert written.status_code == 200, written.text
    put(anonymous, live, held, 3)
    with psycopg.connect(database.url) as db:
        found = db.execute("SELECT guidelines FROM judgments ORDER BY revision").fetchall()
    assert found == [(None,), (1,), (2,)]


def test_what_posts_need_is_read_once_however_many_ask_and_of_settings_alone_when_they_change(
    anonymous: httpx.Client, live: Collecting, held: str, secret: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counted(name: str) -> Callable[..., Any]:
        load = getattr(judging, name)
        return lambda session, **given: read.append(name) or load(session, **given)

    for name in ("load_judging_rules", "load_task_answer_context"):
        monkeypatch.setattr(judging, name, counted(name))
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda n: put(anonymous, live, held, n), range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert read == ["load_judging_rules", "load_task_answer_context"]
    change_lease(anonymous, secret, 900)
    assert put(anonymous, live, held, 99).status_code == 200
    assert read == ["load_judging_rules", "load_task_answer_context", "load_judging_rules"]
