"""The results of raters in attention checks."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from app.api.kit.rater_search import RaterWords
from app.api.models.times import Time
from app.services.tasks import attention_checks
from app.services.tasks.attention_checks import AttentionSort, AttentionState
from app.web.access import Manager
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.pagination import Limit, Page, SortedCursor, format_sort_cursor, make_page, parse_sort_cursor
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/campaigns/{campaign}/attention-checks", tags=["raters"])

State = Annotated[
    AttentionState | None,
    Query(description="Only those who handed in no check, passed all at the first try, or failed some."),
]
Sort = Annotated[AttentionSort, Query(description="Sort key; `-` reverses the order.")]


class RaterAttentionCheckResultsOut(ResponseModel):
    """How a rater did."""

    rater: str
    team: str | None
    checks: int = Field(description="Checks that were handed in, not counting repetitions.")
    passed: int = Field(description="Number of these passed at the first try.")
    failed: int = Field(description="Number of these failed at the first try.")
    tries: int = Field(description="Hand-ins, including repetitions.")
    at: Time | None = Field(description="Time of the last hand-in.")
    verdict: Literal["pass", "fail"] | None = Field(
        description="By the setting `quality.code_attention`; null without it, or if nothing was handed in."
    )


RESULT = RaterAttentionCheckResultsOut.model_validate(
    {
        "rater": "r1",
        "team": None,
        "checks": 3,
        "passed": 2,
        "failed": 1,
        "tries": 4,
        "at": "2026-11-20T12:00:00Z",
        "verdict": "pass",
    }
)


@router.get(
    "/results",
    summary="List results of the attention checks",
    responses=example_response(200, Page[RaterAttentionCheckResultsOut](items=[RESULT], next=None)),
)
def list_attention_check_results(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    state: State = None,
    q: RaterWords = "",
    sort: Sort = "rater",
    limit: Limit = 50,
    cursor: SortedCursor = None,
) -> Page[RaterAttentionCheckResultsOut]:
    """List every enrolled rater who matches all filters, including those who met no check."""
    after = parse_sort_cursor(cursor, by_value=not sort.endswith("rater"))
    results = attention_checks.list_attention_check_results(
        session, campaign, after=after, limit=limit + 1, state=state, sort=sort, q=q
    )
    page = make_page(
        results, limit, lambda one: format_sort_cursor(*attention_checks.make_attention_check_result_cursor(one, sort))
    )
    return Page(items=[RaterAttentionCheckResultsOut.model_validate(one) for one in page.items], next=page.next)
