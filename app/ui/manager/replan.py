"""A new plan in the middle of a campaign: what changed, what it would move, and then doing it."""

from __future__ import annotations

import json

from fastapi import APIRouter, Request, Response

from app.services.plans.plan_scope import plan_keys
from app.ui.manager.pages import Manager
from app.ui.manager.shell import shell
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/campaigns/{campaign}/replan")
def replan(request: Request, caller: Manager, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """Raters, systems and documents as they are now, beside the plan in force."""
    with database.transaction(snapshot=True) as session:
        scope = plan_keys(session, campaign)
    values = {"documents": json.dumps(scope.documents), "systems": json.dumps(scope.systems)}
    return shell(request, caller, campaign, database, "replan", values)
