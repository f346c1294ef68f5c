"""The list of campaigns, which can be searched, filtered and sorted, one page at a time."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from app.services.campaigns import campaigns
from app.services.campaigns.campaigns import CampaignSort
from app.services.campaigns.setup import filter_judged_campaign_keys
from app.ui.manager.page_table import CAMPAIGNS
from app.ui.manager.pages import Onlooker
from app.ui.messages import mark_translatable
from app.ui.pages import PageRoute, render_page
from app.web import pagination
from app.web.deps import DatabaseDep

ON_A_PAGE = 50
SORTS: dict[CampaignSort, str] = {
    "closed": mark_translatable("Closed ones last"),
    "name": mark_translatable("By name"),
    "-created": mark_translatable("Newest first"),
    "created": mark_translatable("Oldest first"),
}
STATES = ("draft", "planned", "open", "paused", "closed")

Words = Annotated[str, Query(max_length=200)]
State = Annotated[Literal["", "draft", "planned", "open", "paused", "closed"], Query()]
Languages = Annotated[str, Query(max_length=80)]
Sort = Annotated[Literal["closed", "name", "created", "-created"], Query()]

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get(CAMPAIGNS.route_pattern)
def campaign_list_page(
    request: Request,
    reader: Onlooker,
    database: DatabaseDep,
    q: Words = "",
    state: State = "",
    languages: Languages = "",
    sort: Sort = "closed",
    cursor: pagination.SortedCursor = None,
) -> Response:
    """The campaigns that this reader may see and that the form asks for."""
    after = pagination.parse_sort_cursor(cursor, by_value=True)
    with database.transaction(snapshot=True) as session:
        pairs = campaigns.list_language_pairs(session, only=reader.campaign)
        views = campaigns.list_campaigns(
            session,
            after=after,
            limit=ON_A_PAGE + 1,
            only=reader.campaign,
            sort=sort,
            where=_where(state, languages),
            q=q.replace("\0", " "),
        )
        judged = filter_judged_campaign_keys(session, [view.key for view in views])
    shown = pagination.make_page(
        views, ON_A_PAGE, lambda one: pagination.format_sort_cursor(*campaigns.make_campaign_cursor(one, sort))
    )
    asked = {"q": q, "state": state, "languages": languages}
    filtered = any(asked.values())
    values = {
        "heading": CAMPAIGNS.name,
        "campaigns": shown.items,
        "next": None if shown.next is None else _address(asked, sort, cursor=shown.next),
        "first": cursor is None,
        "asked": {**asked, "sort": sort},
        "filtered": filtered,
        "offers_filters": filtered or len(views) > 1 or cursor is not None,
        "pairs": [pair for pair in map(_pair, pairs) if pair],
        "states": STATES,
        "sorts": SORTS,
        "pair_of": lambda one: _pair((one.source_language, one.target_language)),
        "ranked": judged if reader.has_rights_of("viewer") else set(),
        "makes": reader.has_rights_of("manager") and reader.campaign is None,
        "manages": reader.has_rights_of("manager"),
    }
    return render_page(request, CAMPAIGNS.template, values)


def _pair(languages: tuple[str | None, str | None]) -> str:
    """Return a language pair as the page shows and filters it; empty if neither language is known.

    >>> _pair(("en", "de"))
    'en → de'
    """
    return " → ".join(code or "?" for code in languages) if any(languages) else ""


def _where(state: str, languages: str) -> dict[str, str]:
    source, _, target = languages.partition(" → ")
    named = {"state": state, "source_language": source, "target_language": target}
    return {column: value for column, value in named.items() if value and value != "?"}


def _address(asked: dict[str, str], sort: str, *, cursor: str) -> str:
    query = {**asked, "sort": "" if sort == "closed" else sort, "cursor": cursor}
    return f"{CAMPAIGNS.route_pattern}?{urlencode({name: value for name, value in query.items() if value})}"
