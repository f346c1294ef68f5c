"""Requests of raters about themselves: consent, completion codes, their own data."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from app.api.guidelines import CONSENT, GuidelineTextsOut
from app.api.models.raters import Language
from app.api.models.times import Time
from app.services.people import guidelines, invitations, rater_data
from app.web.access import RaterCaller
from app.web.deps import DatabaseDep, SessionDep
from app.web.examples import example_response, non_json_example_response
from app.web.file_streams import stream_response
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel, json_response

router = APIRouter(prefix="/v1/me", tags=["raters"])

STALE: dict[int | str, dict[str, Any]] = {
    404: {"description": "No consent is asked."},
    409: {"description": "The text is another version now."},
}


class ConsentIn(BodyModel):
    """What a rater agrees to."""

    version: Annotated[int, Field(ge=1, le=2**31 - 1)]
    language: Language = Field(description="Language in which the text was read.")


class ConsentAgreementOut(ResponseModel):
    """What a rater agreed to."""

    version: int
    language: str | None
    at: Time


class ConsentOut(BaseModel):
    """The text that is asked, and the agreement given."""

    asked: GuidelineTextsOut | None = Field(description="The latest text; null if the campaign asks for no consent.")
    given: ConsentAgreementOut | None
    outstanding: bool = Field(description="Whether the rater must agree before getting a task.")


class CompletionCodeOwn(BaseModel):
    """A task that you handed in."""

    task: str
    code: str
    redirect: str | None = Field(description="Address to which the platform wants its rater to return.")


class CompletionCodesOwn(BaseModel):
    """Completion codes, in the order of the tasks."""

    items: list[CompletionCodeOwn]


GIVEN = ConsentAgreementOut.model_validate({"version": 2, "language": "en", "at": "2026-11-20T12:00:00Z"})
EXAMPLE = ConsentOut(asked=CONSENT, given=GIVEN, outstanding=False)
CODES = CompletionCodesOwn(
    items=[
        CompletionCodeOwn(
            task="t_" + "0f" * 16, code="C7Q2M9XK", redirect="https://app.prolific.com/submissions/complete?cc=C7Q2M9XK"
        )
    ]
)


@router.get("/consent", summary="Get the consent text for you", responses=example_response(200, EXAMPLE))
def get_own_consent(rater: RaterCaller, session: SessionDep) -> ConsentOut:
    """Return the text to agree to now, and the text agreed to last."""
    asked, given = guidelines.find_requested_and_given_consent(session, rater)
    return ConsentOut(
        asked=None if asked is None else GuidelineTextsOut.model_validate(asked),
        given=None if given is None else ConsentAgreementOut.model_validate(given),
        outstanding=asked is not None and (given is None or given.version != asked.version),
    )


@router.post(
    "/consent", summary="Agree to the consent text", responses={**example_response(200, GIVEN, "Agreed."), **STALE}
)
def give_consent(
    rater: RaterCaller,
    body: Annotated[ConsentIn, read_json_body_as(ConsentIn, english={"version": 2, "language": "en"})],
    session: SessionDep,
) -> Response:
    """Record agreement to the latest text. A repeated request changes nothing."""
    given = guidelines.record_consent(session, rater, version=body.version, language=body.language)
    return json_response(ConsentAgreementOut.model_validate(given))


@router.get("/completions", summary="List your completion codes", responses=example_response(200, CODES))
def list_own_completion_codes(rater: RaterCaller, session: SessionDep) -> CompletionCodesOwn:
    """List the codes of tasks that you handed in, with the link back to the platform."""
    completions = invitations.list_own_completion_codes(session, rater.campaign_id, rater.rater_id)
    return CompletionCodesOwn(
        items=[CompletionCodeOwn(task=task, code=code, redirect=url) for task, code, url in completions]
    )


@router.get(
    "/export",
    summary="Export everything stored about you",
    response_class=StreamingResponse,
    responses=non_json_example_response(
        200, "One JSON object, as it is made.", json=("application/json", '{"rater": {"key": "r1"}}')
    ),
)
def export_own_data(rater: RaterCaller, database: DatabaseDep) -> StreamingResponse:
    """Return enrolment, contact, consents, test attempts, answers, hours and flags, but no judged texts or systems.

    A front-end gets it without contact, external id, person and credentials.
    """
    pieces = rater_data.export_rater_data(database, rater)
    return stream_response(pieces, "application/json", filename="my-data.json")
