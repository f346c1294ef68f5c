"""Reports with their own routes name a role there, too; it is the role that the report declares."""

from __future__ import annotations

import pytest
from fastapi.routing import APIRoute

from app.main import create_app
from app.reports import registry
from app.storage.db import Database
from app.web.access import RequiredRole
from app.web.deps import ServiceOptions
from app.web.openapi.document import list_dependencies

COORDINATORS = {"/v1/campaigns/{campaign}/reports/quality": "coordinators see the raters of their own team"}


@pytest.mark.parametrize("name", registry.WITH_OWN_ROUTES)
def test_a_report_with_its_own_routes_asks_there_for_the_role_that_it_declares(name: str) -> None:
    report = registry.WITH_OWN_ROUTES[name]
    app = create_app(Database("postgresql://", size=2), ServiceOptions())
    names = {f"/{report.name}", f"/{report.name}.{{kind}}"}
    routes = [
        route
        for route in app.routes
        if isinstance(route, APIRoute)
        and any(route.path.endswith(f"{{campaign}}{part}{end}") for end in names for part in ("", "/reports"))
    ]
    assert routes
    for route in routes:
        wanted = "coordinator" if route.path in COORDINATORS else report.role
        roles = [call.role for call in list_dependencies(route.dependant) if isinstance(call, RequiredRole)]
        assert roles == [wanted], route.path
