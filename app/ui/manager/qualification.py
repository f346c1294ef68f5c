"""The test before the first task: its items with their answers, and who passed it."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.services.campaigns import campaigns
from app.ui.manager.answers import rater_forms
from app.ui.manager.pages import Manager
from app.ui.manager.shell import shell
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/campaigns/{campaign}/qualification")
def qualification(request: Request, caller: Manager, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """A form for the test, and how raters did."""
    with database.transaction(snapshot=True) as session:
        about = campaigns.get(session, campaign)
    return shell(request, caller, campaign, database, "qualification", rater_forms(about))
