"""The list of campaigns."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from app.reports.source.campaign import CampaignInfo
from app.services.campaigns import campaigns
from app.ui.manager.pages import Onlooker
from app.ui.manager.table import CAMPAIGNS
from app.ui.pages import PageRoute, render_page
from app.web import pagination
from app.web.deps import DatabaseDep

ON_A_PAGE = 50
CLOSED, OTHER = "closed", "other"

Cursor = Annotated[
    str | None,
    Query(pattern=rf"^({CLOSED}|{OTHER}):[A-Za-z0-9._~:@+\-]{{1,{128 + pagination.CHECK_DIGITS}}}$"),
    pagination.Key,
]
"""The last one seen: the part of the list that it was in, and its key."""

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get(CAMPAIGNS.route)
def campaign_list_page(request: Request, reader: Onlooker, database: DatabaseDep, cursor: Cursor = None) -> Response:
    """The campaigns that this reader may see, those that are closed at the end."""
    part, _, key = (cursor or "").partition(":")
    after = (part == CLOSED, key) if cursor else None
    with database.transaction(snapshot=True) as session:
        views = campaigns.list_campaigns_closed_last(session, after=after, limit=ON_A_PAGE + 1, only=reader.campaign)
    shown = pagination.page_of(views, ON_A_PAGE, _place)
    values = {
        "heading": CAMPAIGNS.name,
        "campaigns": shown.items,
        "next": shown.next,
        "first": cursor is None,
        "end": "" if reader.may("viewer") else "/overview",
        "makes": reader.may("manager") and reader.campaign is None,
        "manages": reader.may("manager"),
    }
    return render_page(request, CAMPAIGNS.template, values)


def _place(campaign: CampaignInfo) -> str:
    return f"{CLOSED if campaign.state == 'closed' else OTHER}:{campaign.key}"
