"""Prefilled errors taken from the raters of another campaign."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

from app.domain.keys import KEY_PATTERN, reject_dot_segment
from app.services.data import reannotation
from app.web.access import UnboundManager
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/campaigns/{campaign}/prefills", tags=["test sets"])

Key = Annotated[str, StringConstraints(pattern=KEY_PATTERN), AfterValidator(reject_dot_segment)]
REFUSED: dict[int | str, dict[str, Any]] = {
    409: {"description": "The protocol does not support prefilled errors, or the campaign is open."}
}


class ErrorPrefillSourceIn(BodyModel):
    """Source of the errors to show."""

    model_config = ConfigDict(validate_by_name=True)

    source: Key = Field(alias="from", description="Key of the campaign whose raters marked them.")
    rater: Key | None = Field(None, description="One of these raters; null: for each output, the first who judged it.")


class ErrorPrefillOut(ResponseModel):
    """Result of copying errors."""

    outputs: int
    errors: int
    raters: int
    left: dict[str, int] = Field(description="Judgments that were not used, by reason.")
    data_version: int


EXAMPLE = ErrorPrefillOut(outputs=529, errors=611, raters=4, left={"output changed or not there": 3}, data_version=5)


@router.post(
    "", summary="Prefill errors from another campaign", responses={**example_response(200, EXAMPLE), **REFUSED}
)
def prefill_errors_from_campaign(
    caller: UnboundManager,
    campaign: CampaignKey,
    body: Annotated[ErrorPrefillSourceIn, read_json_body_as(ErrorPrefillSourceIn, first_round={"from": "ted-ende"})],
    session: SessionDep,
) -> ErrorPrefillOut:
    """Copy errors for outputs that are identical in both campaigns. Raters see neither who marked them nor any notes.

    A plan shows them by default, unless the campaign's setting `prefill` is null or the design has arms, which then
    decide.
    """
    outcome = reannotation.prefill_errors_from_campaign(
        session, campaign, body.source, rater=body.rater, actor=caller.actor
    )
    return ErrorPrefillOut.model_validate(outcome)
