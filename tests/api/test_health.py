from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import httpx
from fastapi import FastAPI

from app.main import create_app
from app.storage.db import Database
from app.web.deps import Options


def test_health_needs_no_credential(anonymous: httpx.Client) -> None:
    assert anonymous.get("/livez").json() == {"status": "ok"}
    assert anonymous.get("/readyz").json() == {"status": "ok"}
    assert set(anonymous.get("/version").json()) == {"version", "method_version"}


def test_a_service_without_its_database_lives_but_is_not_ready(
    serving: Callable[..., AbstractContextManager[httpx.Client]],
) -> None:
    gone = Database("postgresql://nobody@127.0.0.1:1/nothing", size=2)
    with serving(create_app(gone, Options())) as client:
        assert client.get("/livez").status_code == 200
        answer = client.get("/readyz")
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) >= 1
    assert answer.json()["type"] == "urn:plumbline:problem:database-down"


def test_every_answer_carries_the_protective_headers(anonymous: httpx.Client) -> None:
    for path in ("/livez", "/nowhere", "/docs", "/v1/me"):
        headers = anonymous.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Request-Id"].startswith("r_")


def test_making_the_application_opens_no_connection(app: FastAPI) -> None:
    assert app.state.database._engine.pool.checkedin() == 0
