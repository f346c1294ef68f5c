"""Erasing a rater."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from app.api.models.raters import RaterKey
from app.domain.keys import KEY_PATTERN
from app.services.people import erasure
from app.web.access import Manager
from app.web.deps import SessionDep
from app.web.examples import example_response
from app.web.responses import ResponseModel, json_response

router = APIRouter(prefix="/v1/raters", tags=["raters"])

Which = Annotated[
    str | None,
    Query(
        pattern=KEY_PATTERN,
        description="Required if several campaigns have a rater with this key.",
        examples=["ted-ende"],
    ),
]
SEVERAL: dict[int | str, dict[str, Any]] = {409: {"description": "Several raters have this key: name the campaign."}}


class ErasedAccountOut(ResponseModel):
    """An account that was erased."""

    campaign: str
    rater: str


class RaterErasureOut(BaseModel):
    """What was erased."""

    erased: list[ErasedAccountOut]


EXAMPLE = RaterErasureOut(erased=[ErasedAccountOut(campaign="ted-ende", rater="r1")])


@router.delete("/{rater}", summary="Erase a rater", responses={**example_response(200, EXAMPLE, "Erased."), **SEVERAL})
def erase_rater(caller: Manager, rater: RaterKey, session: SessionDep, campaign: Which = None) -> Response:
    """Remove contact, external id, name, attributes and credentials, for every account of the same person.

    The rater's judgments stay under the pseudonym. You need rights in every campaign concerned. This cannot be undone.
    """
    erased = erasure.erase_rater(session, rater, campaign=campaign, by=caller)
    return json_response(RaterErasureOut(erased=[ErasedAccountOut.model_validate(one) for one in erased]))
