"""Postgres 15, the oldest that is served from: it passes the checks, sorts as the newest does, and has a queue."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from app.reports.kit.report import StoredReport
from app.reports.kit.request import ReportRequest
from app.reports.stability.options import StabilityIn, StudyDesignIn
from app.reports.stability.report import REPORT
from app.services.jobs import jobs, report_requests
from app.services.jobs.jobs import JobView
from app.storage import embedded, migrate
from app.storage.server_checks import check_server_at_url
from tests.spine import opened
from tests.stats.stability.worlds import as_mqm, made_up
from tests.storage.test_queue_schema import queue_of
from tests.working import drained

SORTED = "SELECT string_agg(w, '' ORDER BY w) FROM unnest(ARRAY['é', 'a', 'Z', 'z', 'ß', '_', '字', '😀']) AS w"
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def old(scratch: Path, bin_dir15: Path) -> Iterator[embedded.EmbeddedServer]:
    with embedded.start_server(scratch / "postgres-15", bin_dir=bin_dir15) as server:
        yield server


@pytest.fixture
def url(old: embedded.EmbeddedServer) -> str:
    """The owner's address of an empty database."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(old.url("admin", "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER plumbline".encode())
    return old.url("owner", name)


def ask(url: str, query: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def test_it_passes_the_checks(url: str) -> None:
    check_server_at_url(url, serving_role="plumbline_app")


def test_text_sorts_by_code_point_as_on_the_newest(url: str, postgres: embedded.EmbeddedServer) -> None:
    assert str(ask(url, "SHOW server_version")).startswith("15.")
    assert ask(url, SORTED) == ask(postgres.url(), SORTED) == "".join(sorted("éaZzß_字😀"))


def test_it_has_the_same_queue_and_the_queue_works(url: str, database_url: str) -> None:
    migrate.upgrade_schema(url)
    assert queue_of(url) == queue_of(database_url)
    with opened(url) as spine:
        spine.take("thrice", "mqm-tsv", as_mqm(made_up(1, documents=8)))
        options = StabilityIn(
            designs=[StudyDesignIn()], documents=[5], studies=20, studies_per_document_set=10, permutations=100
        )
        request = ReportRequest(REPORT, ("thrice",), options)
        job = report_requests.find_or_queue_report(spine.database, request)
        assert isinstance(job, JobView)
        assert drained(spine.database) == 3
        assert isinstance(report_requests.find_or_queue_report(spine.database, request), StoredReport)
        assert jobs.recover_stalled_jobs(spine.database) == 0
