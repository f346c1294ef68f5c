"""Server-rendered pages: landing, the rater's, the campaigns and all about one. `router` is all of them."""

from __future__ import annotations

from fastapi import APIRouter

from app.ui import (
    assets,
    campaigns,
    landing,
    manager_clone,
    manager_comparisons,
    manager_exclusions,
    manager_exports,
    manager_guidelines,
    manager_invitations,
    manager_jobs,
    manager_lock,
    manager_overview,
    manager_print,
    manager_qualification,
    manager_recipes,
    manager_replan,
    manager_reports,
    manager_series,
    manager_settings,
    manager_stability,
    manager_tutorial,
    manager_work,
    ranking,
    rater,
    worker,
)
from app.ui.pages import problem_page

__all__ = ["problem_page", "router"]

router = APIRouter(include_in_schema=False)
for part in (
    assets,
    landing,
    rater,
    campaigns,
    ranking,
    manager_clone,
    manager_comparisons,
    manager_exclusions,
    manager_exports,
    manager_guidelines,
    manager_invitations,
    manager_jobs,
    manager_lock,
    manager_overview,
    manager_print,
    manager_qualification,
    manager_recipes,
    manager_replan,
    manager_reports,
    manager_series,
    manager_settings,
    manager_stability,
    manager_tutorial,
    manager_work,
    worker,
):
    router.routes.extend(part.router.routes)
