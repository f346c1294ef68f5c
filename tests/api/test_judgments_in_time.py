"""Times of judgments made elsewhere: the last counts, so none may lie in the future by the clock of the database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from tests.api.test_external_judgments import one, score_of, sent
from tests.spine import row_counts


@pytest.fixture
def now(database_url: str) -> datetime:
    with psycopg.connect(database_url) as connection:
        ((found,),) = connection.execute("SELECT clock_timestamp()").fetchall()
    assert isinstance(found, datetime)
    return found.astimezone(UTC)


def at(time: datetime, *, errors: int) -> dict[str, Any]:
    return one(errors=errors, submitted_at=time.isoformat())


def test_an_answer_of_the_future_is_refused_with_its_place_and_none_is_stored(
    admin: httpx.Client, populated: dict[str, str], database_url: str, now: datetime
) -> None:
    before = row_counts(database_url)
    for ahead in (timedelta(minutes=10), timedelta(days=27_000)):
        told = sent(admin, one(segment=2), at(now + ahead, errors=3))
        assert told.status_code == 422, told.text
        (fault,) = told.json()["errors"]
        assert (fault["loc"], "future" in fault["msg"]) == (["body", 1, "submitted_at"], True)
    assert row_counts(database_url) == before


def test_a_clock_that_is_a_little_ahead_is_taken_and_the_last_answer_counts(
    admin: httpx.Client, populated: dict[str, str], now: datetime
) -> None:
    first = sent(admin, at(now + timedelta(minutes=2), errors=3))
    assert first.status_code == 200, first.text
    many = score_of(admin, "A")
    assert sent(admin, at(now + timedelta(minutes=3), errors=0)).json()["revisions"] == 1
    assert score_of(admin, "A") < many
