"""How raters did in attention checks."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from app.api.models.times import Time
from app.services.tasks import attention
from app.web.access import Manager
from app.web.answers import AnswerModel
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.pagination import Cursor, Limit, Page, make_page

router = APIRouter(prefix="/v1/campaigns/{campaign}/attention-checks", tags=["raters"])


class AttentionResultOut(AnswerModel):
    """How a rater did."""

    rater: str
    team: str | None
    checks: int = Field(description="Checks that were handed in; repetitions apart.")
    passed: int = Field(description="Of these, at the first try.")
    failed: int = Field(description="Of these, at the first try.")
    tries: int = Field(description="Hand-ins, repetitions included.")
    at: Time | None = Field(description="Of the last hand-in.")


RESULT = AttentionResultOut.model_validate(
    {
        "rater": "r1",
        "team": None,
        "checks": 3,
        "passed": 2,
        "failed": 1,
        "tries": 4,
        "at": "2026-11-20T12:00:00Z",
    }
)


@router.get(
    "/results",
    summary="List how raters did in attention checks",
    responses=example_response(200, Page[AttentionResultOut](items=[RESULT], next=None)),
)
def list_attention_results(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[AttentionResultOut]:
    """Every enrolled rater by key, those who met none included."""
    results = attention.list_attention_results(session, campaign, after=cursor, limit=limit + 1)
    return make_page([AttentionResultOut.model_validate(one) for one in results], limit, lambda one: one.rater)
