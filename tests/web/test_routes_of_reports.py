"""Routes of stored reports are tried before most others, and take no address from them."""

from __future__ import annotations

import re

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Match

from app.main import create_app
from app.storage.db import Database
from app.web.deps import Options
from app.web.remembering import Remembering


def matching(app: FastAPI, route: APIRoute) -> list[APIRoute]:
    """The routes that take an address of a route, its parameters filled in."""
    path = re.sub(r"\{[^}]*\}", "svg", route.path)
    scope = {"type": "http", "path": path, "root_path": "", "method": "GET", "headers": [], "app": app}
    routes = (one for one in app.routes if isinstance(one, APIRoute))
    return [one for one in routes if one.matches(scope)[0] is not Match.NONE]


def test_an_address_of_a_report_is_of_no_other_kind_of_route_and_found_among_the_first() -> None:
    app = create_app(Database("postgresql://nobody@127.0.0.1:1/nothing"), Options())
    of_reports = [route for route in app.routes if isinstance(route, Remembering)]
    others = [route for route in app.routes if isinstance(route, APIRoute) and not isinstance(route, Remembering)]
    for route in of_reports:
        found = matching(app, route)
        assert route in found, route.path
        assert all(isinstance(one, Remembering) and one.path == route.path for one in found), route.path
    assert any("/reports/" in route.path for route in of_reports)
    assert all(not isinstance(one, Remembering) for other in others for one in matching(app, other))
