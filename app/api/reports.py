"""Reports of every kind, and comparisons of campaigns: JSON, CSV, LaTeX, Markdown and pictures."""

from __future__ import annotations

from fastapi import APIRouter

from app.api.kit.report_routes import add_report_routes
from app.reports import registry

router = APIRouter(prefix="/v1", tags=["reports"])
add_report_routes(router, registry.ALL.values())
