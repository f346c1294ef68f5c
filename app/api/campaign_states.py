"""Actions on a whole campaign: open, pause and close it, clone it, copy judgments."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

from app.api.campaigns import EXAMPLE, CampaignOut, Key
from app.domain.keys import KEY_PATTERN, reject_dot_segment
from app.services.access.idempotency import IdempotentResponse
from app.services.access.tokens import Caller
from app.services.data import cloning
from app.services.plans import campaign_states
from app.services.plans.campaign_states import StateChange
from app.storage.db import Session
from app.web.access import Manager, UnboundManager
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.idempotency import IdempotentCreationDep, created_response
from app.web.ifmatch import quote_etag
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/campaigns/{campaign}", tags=["campaigns"])

Other = Annotated[str, StringConstraints(pattern=KEY_PATTERN), AfterValidator(reject_dot_segment)]
REFUSED: dict[int | str, dict[str, Any]] = {409: {"description": "The state of the campaign does not lead there."}}
STEPPED: dict[int | str, dict[str, Any]] = {**example_response(200, EXAMPLE, "The current state."), **REFUSED}


class CampaignCloneIn(BodyModel):
    """The campaign to create."""

    key: Key
    name: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = None
    series: Key | None = None
    systems: bool = Field(default=True, description="Include the systems and their outputs.")


class JudgmentCarryOverIn(BodyModel):
    """Source of the judgments."""

    model_config = ConfigDict(validate_by_name=True)

    source: Other = Field(alias="from", description="Key of the campaign that has them.")


class JudgmentCarryOverOut(ResponseModel):
    """What was carried over."""

    judgments: int
    raters: int = Field(description="Raters that the campaign did not have before.")
    left: dict[str, int] = Field(description="Judgments that were not carried over, by reason.")
    data_version: int


CARRIED = JudgmentCarryOverOut(judgments=418, raters=4, left={"output changed or not there": 111}, data_version=4)


@router.post("/open", summary="Open a campaign", responses=STEPPED)
def open_campaign(caller: Manager, campaign: CampaignKey, session: SessionDep, response: Response) -> CampaignOut:
    """Let raters lease tasks. The campaign must be planned or paused, or closed with documents added to the plan."""
    return _answer_after_step(session, campaign, "open", caller, response)


@router.post("/pause", summary="Pause a campaign", responses=STEPPED)
def pause_campaign(caller: Manager, campaign: CampaignKey, session: SessionDep, response: Response) -> CampaignOut:
    """Nobody can lease a task. Leased tasks can still be judged and handed in."""
    return _answer_after_step(session, campaign, "pause", caller, response)


@router.post("/close", summary="Close a campaign", responses=STEPPED)
def close_campaign(caller: Manager, campaign: CampaignKey, session: SessionDep, response: Response) -> CampaignOut:
    """Close all tasks for judging."""
    return _answer_after_step(session, campaign, "close", caller, response)


@router.post(
    "/clone",
    status_code=201,
    summary="Clone a campaign",
    responses=example_response(201, EXAMPLE, "Created, in the state draft."),
)
def clone_campaign(
    caller: UnboundManager,
    campaign: CampaignKey,
    body: Annotated[
        CampaignCloneIn, read_json_body_as(CampaignCloneIn, next_year={"key": "ted-ende-2027", "systems": False})
    ],
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
) -> Response:
    """Copy settings, test set, guidelines, qualification and recipes to a draft, not raters, plans or judgments."""

    def make() -> IdempotentResponse:
        view = cloning.clone_campaign(session, campaign, **body.model_dump(), actor=caller.actor)
        return created_response(CampaignOut.model_validate(view), location=f"/v1/campaigns/{view.key}")

    return idempotent_creation(session, caller, make)


@router.post(
    "/carry-over",
    summary="Carry over judgments from another campaign",
    responses={**example_response(200, CARRIED), **REFUSED},
)
def carry_over_judgments(
    caller: UnboundManager,
    campaign: CampaignKey,
    body: Annotated[JudgmentCarryOverIn, read_json_body_as(JudgmentCarryOverIn, last_year={"from": "ted-ende-2025"})],
    session: SessionDep,
) -> JudgmentCarryOverOut:
    """Copy the judgments of outputs that did not change, on sources that did not change.

    They count like imported judgments. A repeated request carries over only what is new.
    """
    return JudgmentCarryOverOut.model_validate(
        cloning.carry_over_judgments(session, campaign, body.source, actor=caller.actor)
    )


def _answer_after_step(
    session: Session, campaign: str, step: StateChange, caller: Caller, response: Response
) -> CampaignOut:
    view = campaign_states.change_campaign_state(session, campaign, step, actor=caller.actor)
    response.headers["ETag"] = quote_etag(str(view.settings_version))
    return CampaignOut.model_validate(view)
