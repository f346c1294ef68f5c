"""Answers of stored reports outlive the process that gave them, serve all of them, and are made anew after a crash."""

from __future__ import annotations

import signal
from pathlib import Path

import httpx
import psycopg
import pytest

from app.services.access import tokens
from tests.api.conftest import MQM
from tests.faults.serving import Service, service
from tests.spine import opened
from tests.working import until

CARD = "/v1/campaigns/ted/reports/card"


def count(run: Service, table: str) -> int:
    with psycopg.connect(run.url) as owner:
        row = owner.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
    assert row is not None
    return int(row[0])


def forget_reports(run: Service) -> None:
    """The store is emptied, which no mark tells: whoever looks there computes the report, and stores it again."""
    with psycopg.connect(run.url) as owner:
        owner.execute("DELETE FROM reports")


def asked(run: Service, secret: str, *, times: int = 1) -> set[bytes]:
    """What is answered over so many connections of their own."""
    headers = {"Authorization": f"Bearer {secret}"}
    answers = [httpx.get(run.origin + CARD, headers=headers, trust_env=False, timeout=60) for _ in range(times)]
    assert {one.status_code for one in answers} == {200}
    return {one.content for one in answers}


@pytest.mark.soak
def test_after_kill_9_and_in_each_of_two_processes_they_are_told_and_after_a_crash_of_the_database_made_anew(
    data_dir: Path, tmp_path: Path
) -> None:
    with service(data_dir, tmp_path / "home", PLUMBLINE_WORKERS="1") as run:
        with opened(run.url) as spine:
            spine.take("ted", "mqm-tsv", MQM.encode())
            with spine.database.transaction() as session:
                secret = tokens.issue_token(session, role="viewer").secret
        first = asked(run, secret)
        until(lambda: count(run, "answers") == 1, "the answer is kept")
        forget_reports(run)

        run.stop(signal.SIGKILL)
        run.start()
        assert asked(run, secret) == first
        assert count(run, "reports") == 0, "it was told without the store"

        run.stop(signal.SIGTERM)
        run.environment["PLUMBLINE_WORKERS"] = "2"
        run.start()
        assert asked(run, secret, times=30) == first
        assert count(run, "reports") == 0, "neither process looked there"

        run.stop(signal.SIGTERM)
        run.kill_postgres()
        run.start()
        assert count(run, "answers") == 0
        assert asked(run, secret) == first
        assert count(run, "reports") == 1, "the control: who looks in the store fills it"
        until(lambda: count(run, "answers") == 1, "it is kept again")
