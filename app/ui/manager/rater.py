"""The page of one rater: their work, its quality, their hours and reports, and how to reach them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Request, Response

from app.domain.keys import KEY_PATTERN
from app.services.access.tokens import Caller
from app.services.campaigns import campaigns
from app.services.people import raters
from app.ui.manager.actors import list_actor_names_json
from app.ui.manager.page_table import PAGES
from app.ui.manager.pages import RequiredSessionRole, render_campaign_page
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

LIST: Final = PAGES["Raters"]
PAGE: Final = replace(LIST, file="rater")
RaterKey = Annotated[str, Path(alias="rater", pattern=KEY_PATTERN)]

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get(f"{LIST.route_pattern}/{{rater}}")
def rater_page(
    request: Request,
    campaign: CampaignKey,
    rater: RaterKey,
    database: DatabaseDep,
    caller: Annotated[Caller, Depends(RequiredSessionRole(LIST.roles))],
) -> Response:
    """Of a rater whom the caller may see; the module reads the rest."""
    with database.transaction(snapshot=True) as session:
        about = campaigns.get_campaign(session, campaign)
        view = raters.get_rater(session, campaign, rater, by=caller)
        actors = list_actor_names_json(session, caller, campaign)
    values = {"rater": view, "script": "rater", "tells_next": False, "actors": actors}
    return render_campaign_page(request, PAGE, about, caller, values)
