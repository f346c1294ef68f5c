"""Judgments that were made elsewhere and are sent with names."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field, JsonValue, RootModel, StringConstraints

from app.api.models.recipe import Key
from app.api.models.times import TimeIn
from app.services.access.idempotency import IdempotentResponse
from app.services.data import external_judgments
from app.services.data.external_judgments import ExternalJudgment
from app.services.people import raters
from app.web.access import Frontend
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.idempotency import IdempotentCreationDep
from app.web.request_bodies import BodyModel, read_json_body_as

router = APIRouter(prefix="/v1/campaigns/{campaign}/judgments", tags=["imports"])

MOST = 5000
Declare = Annotated[bool, Query(description="Create what is named but does not exist, as imports do.")]


class JudgmentIn(BodyModel):
    """One judgment."""

    rater: Key
    document: Key
    segment: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = Field(
        description="Position in the document, from 1; null for the whole document."
    )
    system: Key
    payload: dict[str, JsonValue] = Field(
        description="Answer in the form of the campaign's protocol: `GET /v1/protocols`."
    )
    external_id: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = Field(
        None, description="Your name for this judgment; sent again, it is recognized and counts once."
    )
    submitted_at: TimeIn | None = Field(
        None,
        description="When it was given. If every answer to an output has a time, the last one counts; none "
        "may lie more than five minutes in the future.",
    )


class JudgmentsIn(RootModel[Annotated[list[JudgmentIn], Field(min_length=1, max_length=MOST)]]):
    """Judgments, all or none."""


class RecordedJudgmentsOut(BaseModel):
    """Result of sending judgments."""

    judgments: int = Field(description="Judgments added, including revisions.")
    revisions: int = Field(description="Number of these that revise an earlier answer.")
    unchanged: int = Field(description="Known already; nothing was added for them.")
    planned: int = Field(0, description="Number of added ones that answer what a plan assigned to the rater.")
    handed_in: int = Field(0, description="Tasks that are complete and were therefore handed in.")
    created: dict[str, int] = Field(description="What `declare` created, by noun.")
    data_version: int


EXAMPLE = RecordedJudgmentsOut(
    judgments=1,
    revisions=0,
    unchanged=0,
    planned=0,
    handed_in=0,
    created={"systems": 0, "documents": 0, "raters": 0, "segments": 0},
    data_version=8,
)
ONE = {
    "rater": "rater1",
    "document": "news.1",
    "segment": 1,
    "system": "A",
    "payload": {"protocol": "mqm", "errors": []},
    "external_id": "prolific-17",
    "submitted_at": "2025-11-20T12:00:00Z",
}


@router.post("", summary="Send judgments made elsewhere", responses=example_response(200, EXAMPLE, "Stored."))
def record_judgments(
    caller: Frontend,
    campaign: CampaignKey,
    body: Annotated[JudgmentsIn, read_json_body_as(JudgmentsIn, mqm=[ONE])],
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
    declare: Declare = False,
) -> Response:
    """Store all of them or none, under one data version. An error names `["body", i, field]`, counted from 0.

    A judgment that the plan assigned to the rater goes into their task, and a complete task is handed in; 409 if a task
    that was handed in has another answer. All other judgments count, too, as work outside the plan.

    The same answer again changes nothing; another answer of the same rater for the same output is a revision. A
    front-end acts only for enrolled raters of its campaign and cannot use `declare`.
    """
    sent = [ExternalJudgment(**one.model_dump()) for one in body.root]

    def make() -> IdempotentResponse:
        if not caller.has_rights_of("manager"):
            raters.require_enrolled_raters(session, campaign, [one.rater for one in sent], declare=declare)
        recorded = external_judgments.record_external_judgments(
            session, campaign, sent, declare=declare, actor=caller.actor
        )
        out = RecordedJudgmentsOut.model_validate(recorded, from_attributes=True)
        return IdempotentResponse(200, out.model_dump_json().encode())

    return idempotent_creation(session, caller, make)
