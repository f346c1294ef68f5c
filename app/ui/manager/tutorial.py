"""Tutorial documents: texts with known answers, which raters judge before their first task and which count nowhere."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.services.campaigns import campaigns
from app.ui.manager.answers import rater_forms
from app.ui.manager.pages import Manager
from app.ui.manager.shell import shell
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/campaigns/{campaign}/tutorial")
def tutorial(request: Request, caller: Manager, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """A form for each tutorial document, and how raters did."""
    with database.transaction(snapshot=True) as session:
        about = campaigns.get(session, campaign)
    return shell(request, caller, campaign, database, "tutorial", rater_forms(about))
