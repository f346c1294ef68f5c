"""Exclusions of raters, tasks, documents and systems: what each would do is seen before it is done."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.ui.manager.pages import Manager
from app.ui.manager.shell import recipe_names, shell
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/campaigns/{campaign}/exclusions")
def exclusions(request: Request, caller: Manager, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """What is left out and why, and a form to leave out more."""
    with database.transaction(snapshot=True) as session:
        offered = recipe_names(session, campaign)
    return shell(request, caller, campaign, database, "exclusions", {"recipes": offered})
