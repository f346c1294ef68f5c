"""The list of campaigns."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.services import campaigns
from app.ui.manager_pages import Onlooker
from app.ui.pages import PageRoute, page
from app.web import lists
from app.web.deps import DatabaseDep

ON_A_PAGE = 50

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/campaigns")
def campaign_list(request: Request, reader: Onlooker, database: DatabaseDep, cursor: lists.Cursor = None) -> Response:
    """The campaigns that this reader may see, those that are closed at the end."""
    after = lists.after(cursor)
    with database.transaction(snapshot=True) as session:
        found = campaigns.page(session, after=after, limit=ON_A_PAGE + 1, only=reader.campaign, closed_last=True)
    shown = lists.page_of(found, ON_A_PAGE, lambda campaign: campaign.key)
    values = {
        "campaigns": shown.items,
        "next": shown.next,
        "first": cursor is None,
        "end": "" if reader.may("viewer") else "/overview",
        "makes": reader.may("manager") and reader.campaign is None,
        "manages": reader.may("manager"),
    }
    return page(request, "manager/campaigns.html", values)
