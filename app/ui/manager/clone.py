"""Another campaign like this one, and judgments of outputs that did not change, taken over from another."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.ui.manager.pages import Manager
from app.ui.manager.shell import shell
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/campaigns/{campaign}/clone")
def clone(request: Request, caller: Manager, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """Whose credential is good for this campaign only is told so."""
    return shell(request, caller, campaign, database, "clone")
