"""Server-rendered pages: landing page, raters' pages, campaign list, campaign pages; `router` serves them all."""

from __future__ import annotations

from fastapi import APIRouter

from app.ui import archive, assets, landing, manager, rater, service_worker, sign_in
from app.ui.pages import render_problem_page

__all__ = ["render_problem_page", "router"]

router = APIRouter(include_in_schema=False)
for part in (archive, assets, landing, sign_in, rater, manager, service_worker):
    router.routes.extend(part.router.routes)
