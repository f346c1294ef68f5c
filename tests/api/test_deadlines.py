"""The deadline of the settings: refused where it is no time, and held against the pace in the progress."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from app.storage.db import Database
from tests.collecting import collect

URL = "/v1/campaigns/live"


@pytest.fixture
def manager(admin: httpx.Client, database: Database) -> httpx.Client:
    collect(database, documents=4, systems=("sysA",))
    return admin


def say(client: httpx.Client, deadline: object) -> httpx.Response:
    tag = client.get(URL).headers["ETag"]
    return client.patch(URL, json={"settings": {"deadline": deadline}}, headers={"If-Match": tag})


def test_there_is_no_deadline_where_the_settings_have_none(manager):
    assert manager.get(f"{URL}/progress").json()["deadline"] is None


def test_what_is_left_is_spread_over_the_days_that_are_left(manager):
    assert say(manager, (datetime.now(UTC) + timedelta(days=2)).isoformat()).status_code == 200
    told = manager.get(f"{URL}/progress").json()["deadline"]
    assert told["tasks_left"] == 4
    assert told["tasks_a_day"] == pytest.approx(2.0, rel=0.01)
    assert told["days_left"] == pytest.approx(2.0, abs=0.01)
    assert told["on_time"] is None  # nobody has handed anything in yet


def test_a_deadline_that_is_over_is_missed_and_no_pace_is_enough(manager):
    say(manager, "2020-01-01T00:00:00+02:00")
    told = manager.get(f"{URL}/progress").json()["deadline"]
    assert told["at"] == "2019-12-31T22:00:00Z"
    assert (told["days_left"], told["tasks_a_day"], told["on_time"]) == (0.0, None, False)


def test_another_deadline_is_another_progress(manager):
    first = manager.get(f"{URL}/progress").headers["ETag"]
    say(manager, "2031-01-01T00:00:00Z")
    assert manager.get(f"{URL}/progress", headers={"If-None-Match": first}).status_code == 200


@pytest.mark.parametrize("wrong", ["tomorrow", "2031-01-01", "2031-01-01T00:00:00", 7, "9999-12-31T23:59:59-12:00"])
def test_what_is_no_time_is_refused_by_its_place(manager, wrong):
    refused = say(manager, wrong)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["loc"][-2:] == ["settings", "deadline"]
