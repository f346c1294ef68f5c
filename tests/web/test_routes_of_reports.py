"""Routes of reports take no address from each other, nor from other routes."""

from __future__ import annotations

import re

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Match

from app.main import create_app
from app.storage.db import Database
from app.web.deps import ServiceOptions


def matching(app: FastAPI, route: APIRoute) -> list[APIRoute]:
    """The routes that take an address of a route, its parameters filled in."""
    path = re.sub(r"\{[^}]*\}", "svg", route.path)
    scope = {"type": "http", "path": path, "root_path": "", "method": "GET", "headers": [], "app": app}
    routes = (one for one in app.routes if isinstance(one, APIRoute))
    return [one for one in routes if one.matches(scope)[0] is not Match.NONE]


def test_an_address_of_a_report_is_of_no_other_route() -> None:
    app = create_app(Database("postgresql://nobody@127.0.0.1:1/nothing"), ServiceOptions())
    reports = [
        route
        for route in app.routes
        if isinstance(route, APIRoute) and "reports" in route.tags and "GET" in route.methods
    ]
    assert any("/reports/" in route.path for route in reports)
    for route in reports:
        others = {other.path for other in matching(app, route) if "GET" in other.methods} - {route.path}
        assert not others, route.path
