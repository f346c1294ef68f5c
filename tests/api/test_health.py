from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack

import httpx
import pytest
from fastapi import FastAPI

from app.main import create_app
from app.services.access import tokens
from app.services.access.service_gauges import EXPLAINED
from app.storage.db import Database
from app.web.deps import ServiceOptions
from app.web.logs import JsonLineFormatter
from tests.api.live_campaign import SYSTEMS, finish, judge_task, ok, open_live, tokens_of
from tests.patience import as_served, soon

MAY_BE_NONE = {"jobs", "queue_depth", "replication_lag_seconds"}  # numbers by a label of which there may be none


def test_health_needs_no_credential(anonymous: httpx.Client) -> None:
    assert anonymous.get("/livez").json() == {"status": "ok"}
    assert anonymous.get("/readyz").json() == {"status": "ok", "parts": {}}
    assert set(anonymous.get("/version").json()) == {"version", "method_version"}


def test_a_service_without_its_database_lives_but_is_not_ready(
    serving: Callable[..., AbstractContextManager[httpx.Client]],
) -> None:
    gone = Database("postgresql://nobody@127.0.0.1:1/nothing", size=2)
    with serving(create_app(gone, ServiceOptions())) as client:
        assert client.get("/livez").status_code == 200
        answer = client.get("/readyz")
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) >= 1
    assert answer.json()["type"] == "urn:plumbline:problem:database-down"


def test_a_service_over_the_schema_of_an_earlier_version_is_not_ready(
    anonymous: httpx.Client, ask: Callable[..., None]
) -> None:
    """Over that of a later one it is: migrations only add, and it goes on while the later version comes beside it."""
    ask("UPDATE alembic_version SET version_num = 'later'")
    assert anonymous.get("/readyz").status_code == 200
    ask("UPDATE alembic_version SET version_num = '2026_11_20_spine'")
    answer = anonymous.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["type"] == "urn:plumbline:problem:other-schema"
    assert anonymous.get("/livez").status_code == 200


@pytest.fixture
def hasty() -> Iterator[None]:
    """What is made from here on gives up as early as a service does."""
    with as_served():
        yield


@pytest.mark.usefixtures("hasty")
def test_readiness_is_told_while_every_connection_is_in_use(anonymous: httpx.Client, database: Database) -> None:
    def ready() -> float:
        started = time.monotonic()
        assert anonymous.get("/readyz").status_code == 200
        return time.monotonic() - started

    def refused() -> float:
        started = time.monotonic()
        busy = anonymous.get("/v1/me", headers={"Authorization": "Bearer plb_000000000000_" + "A" * 43})
        assert (busy.status_code, busy.json()["type"]) == (503, "urn:plumbline:problem:database-busy")
        return time.monotonic() - started

    with ExitStack() as stack:
        for _ in range(database.size):
            session = stack.enter_context(database.transaction())
            session.connection()
        assert database.connections_in_use == database.size
        assert soon(ready, within=1)
        assert f"plumbline_database_connections_in_use {database.size:.1f}\n" in anonymous.get("/metrics").text
        assert soon(refused, within=3)


def test_metrics_count_by_template_and_hold_no_names(admin: httpx.Client, populated: dict[str, str]) -> None:
    admin.get("/v1/campaigns/demo")
    admin.get("/v1/campaigns/demo?secret=s3cret")
    admin.request("PROPFIND", "/s3cret/path")
    answer = admin.get("/metrics")
    text = answer.text
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert 'plumbline_requests_total{method="GET",route="/v1/campaigns/{campaign}",status="200"} 1.0\n' in text
    assert 'plumbline_requests_total{method="GET",route="/v1/campaigns/{campaign}",status="422"} 1.0\n' in text
    assert 'plumbline_requests_total{method="-",route="-",status="404"} 1.0\n' in text
    assert "plumbline_requests_in_flight 1.0\n" in text
    for name in ("demo", "s3cret", "PROPFIND", populated["prefix"]):
        assert name not in text
    shapes = re.compile(r'# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"\n]*"(,[a-z]+="[^"\n]*")*\})? [0-9.e+-]+')
    assert all(shapes.fullmatch(line) for line in text.splitlines())


def test_metrics_tell_how_leases_jobs_and_workers_are(admin: httpx.Client, populated: dict[str, str]) -> None:
    text = admin.get("/metrics").text
    assert "plumbline_database_up 1.0\n" in text
    assert "plumbline_open_leases 1.0\n" in text
    assert 'plumbline_campaigns{state="draft"} 1.0\n' in text
    assert 'plumbline_webhooks{state="working"} 1.0\n' in text
    assert "plumbline_workers 0.0\n" in text
    assert "plumbline_oldest_job_seconds 0.0\n" in text
    assert "plumbline_database_connection_wait_seconds_count" in text
    assert not {name for name in EXPLAINED if f"# HELP plumbline_{name} " not in text} - MAY_BE_NONE
    assert admin.get("/v1/metrics").text == ""
    assert populated["campaign"] not in text


def test_metrics_without_the_database_say_so(
    serving: Callable[..., AbstractContextManager[httpx.Client]],
) -> None:
    gone = Database("postgresql://nobody@127.0.0.1:1/nothing", size=2)
    with serving(create_app(gone, ServiceOptions())) as client:
        text = client.get("/metrics").text
    assert "plumbline_database_up 0.0\n" in text
    assert "plumbline_open_leases" not in text


def test_what_raters_send_and_who_gets_no_task_is_counted(admin: httpx.Client, database: Database) -> None:
    open_live(admin, raters=("r1",))
    auth = tokens_of(database)
    judge_task(admin, auth("r1"), submit=False)
    before = admin.get("/v1/metrics").text
    assert 'plumbline_campaign_tasks{campaign="live",state="leased"} 1.0\n' in before
    finish(admin, auth, "r1")
    text = admin.get("/metrics").text
    counted = dict(re.findall(r'^plumbline_(\w+)\{kind="judgments"\} ([\d.]+)$', text, re.MULTILINE))
    assert float(counted["answers_written_total"]) == 2 * 6 * len(SYSTEMS) + 2  # the first task twice
    assert float(counted["flush_size_sum"]) == float(counted["answers_written_total"])
    assert float(counted["flush_seconds_count"]) == float(counted["flush_size_count"])
    assert 'plumbline_lease_refusals_total{why="finished"} 1.0\n' in text
    assert 'state="handed_in"' in admin.get("/v1/metrics").text


def test_a_credential_of_a_campaign_sees_the_metrics_of_it_alone(admin: httpx.Client, database: Database) -> None:
    open_live(admin, raters=("r1",))
    ok(admin.post("/v1/campaigns", json={"key": "other", "protocol": "da"}))
    with database.transaction() as session:
        secret = tokens.issue_token(session, role="viewer", campaign="other").secret
    assert "live" in admin.get("/v1/metrics").text
    assert admin.get("/v1/metrics", headers={"Authorization": f"Bearer {secret}"}).text == ""


def test_the_log_is_json_without_names_or_secrets(
    admin: httpx.Client, populated: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "plumbline.requests"):
        answer = admin.get("/v1/campaigns/demo", params={"x": "s3cret"})
    lines = [JsonLineFormatter().format(record) for record in caplog.records if record.name == "plumbline.requests"]
    said = json.loads(lines[-1])
    assert said["request"] == answer.headers["X-Request-Id"]
    assert (said["method"], said["route"], said["status"]) == ("GET", "/v1/campaigns/{campaign}", 422)
    assert said["ms"] >= 0
    for name in ("demo", "s3cret", admin.headers["Authorization"].split("_", 2)[2]):
        assert all(name not in line for line in lines)


def test_every_answer_carries_the_protective_headers(anonymous: httpx.Client) -> None:
    for path in ("/livez", "/nowhere", "/docs", "/v1/me"):
        headers = anonymous.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Request-Id"].startswith("r_")


def test_making_the_application_opens_no_connection(app: FastAPI) -> None:
    assert app.state.database._engine.pool.checkedin() == 0
