"""The overview of a campaign: its state, how far it is as it happens, and the ways to everything else."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.services.campaigns import campaigns
from app.ui.manager.pages import Onlooker, desk
from app.ui.messages import message
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

# What can be done with a campaign in a state: the step as the interface names it, and what it is called.
STEPS: dict[str, tuple[tuple[str, str], ...]] = {
    "planned": (("open", message("Open")),),
    "open": (("pause", message("Pause")), ("close", message("Close"))),
    "paused": (("open", message("Open again")), ("close", message("Close"))),
    "closed": (("open", message("Open again")),),
}


@router.get("/campaigns/{campaign}/overview")
def overview(request: Request, caller: Onlooker, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """What there is of a campaign. Coordinators learn nothing of systems and scores, viewers nothing of raters."""
    with database.transaction(snapshot=True) as session:
        about = campaigns.get(session, campaign)
    steps = STEPS.get(about.state, ()) if caller.may("manager") else ()
    return desk(request, "manager/overview.html", about, caller, {"script": "overview", "steps": steps})
