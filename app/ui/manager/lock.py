"""The lock of a campaign: what was registered before the first judgment, and every amendment with its reason."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.ui.access import Reader
from app.ui.manager.shell import recipe_names, shell
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/campaigns/{campaign}/lock")
def lock(request: Request, caller: Reader, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """Viewers see what is locked; managers lock and amend."""
    with database.transaction(snapshot=True) as session:
        offered = recipe_names(session, campaign) if caller.may("manager") else []
    return shell(request, caller, campaign, database, "lock", {"recipes": offered})
