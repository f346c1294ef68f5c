"""Routes are described one at a time: FastAPI sometimes misses a field of one where several threads describe some."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.routing import APIRoute

from app.web import query_parameters

THREADS = 4


def test_threads_that_meet_routes_for_the_first_time_describe_them_one_after_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inside, most = [0], [0]
    ready = threading.Barrier(THREADS)

    def describe(**what: Any) -> dict[str, Any]:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.02)
        inside[0] -= 1
        (route,) = what["routes"]
        return {"paths": {route.path_format: {"get": {"parameters": []}}}}

    def ask(route: APIRoute) -> object:
        ready.wait()
        return query_parameters.list_declared_parameters(route, "GET")

    monkeypatch.setattr(query_parameters, "get_openapi", describe)
    routes = [APIRoute(f"/{n}", lambda: None) for n in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(ask, routes)) == [{}] * THREADS
    assert most == [1]
