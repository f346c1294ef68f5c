"""Guidelines and consent texts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field, RootModel, StringConstraints

from app.api.models.raters import Language
from app.api.models.times import Time
from app.services.people import guidelines
from app.web.access import AnyRole, Manager
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.request_bodies import read_json_body_as
from app.web.responses import ResponseModel, json_response

router = APIRouter(prefix="/v1/campaigns/{campaign}", tags=["raters"])

LONGEST = 200_000
Markdown = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST)]
Version = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="The latest by default.", examples=[1])]


class GuidelineTextsIn(RootModel[Annotated[dict[Language, Markdown], Field(min_length=1, max_length=100)]]):
    """Markdown by language."""

    model_config = ConfigDict(json_schema_extra={"additionalProperties": False, "propertyNames": {"maxLength": 35}})


class GuidelineTextsOut(ResponseModel):
    """A version of a text; it never changes."""

    version: int = Field(description="Number of the version, from 1.")
    texts: dict[str, str] = Field(description="Markdown by language.")
    at: Time


ENGLISH = {"en": "# How to judge\n\nRead the whole document first."}
AGREE = {"en": "I take part voluntarily.", "de": "Ich nehme freiwillig teil."}
EXAMPLE = GuidelineTextsOut.model_validate({"version": 1, "texts": ENGLISH, "at": "2026-11-20T12:00:00Z"})
CONSENT = GuidelineTextsOut.model_validate({"version": 2, "texts": AGREE, "at": "2026-11-20T12:00:00Z"})


@router.put(
    "/guidelines", summary="Write the guidelines", responses=example_response(200, EXAMPLE, "Their current state.")
)
def put_guidelines(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[GuidelineTextsIn, read_json_body_as(GuidelineTextsIn, english=ENGLISH)],
    session: SessionDep,
) -> Response:
    """Different texts become a new version. Judgments record the version under which they were made."""
    return json_response(
        _make_texts_out(guidelines.put_guidelines(session, campaign, "guidelines", body.root, actor=caller.actor))
    )


@router.get(
    "/guidelines", summary="Get the guidelines", responses=example_response(200, EXAMPLE, "Their current state.")
)
def get_guidelines(
    caller: AnyRole,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    version: Version = None,
) -> GuidelineTextsOut:
    """Everybody in the campaign may read them, including raters."""
    return _make_texts_out(guidelines.get_guidelines(session, campaign, "guidelines", version=version))


@router.put(
    "/consent", summary="Write the consent text", responses=example_response(200, CONSENT, "The current state.")
)
def put_consent_text(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[GuidelineTextsIn, read_json_body_as(GuidelineTextsIn, two=AGREE)],
    session: SessionDep,
) -> Response:
    """A different text becomes a new version. No rater gets a task before agreeing to it."""
    return json_response(
        _make_texts_out(guidelines.put_guidelines(session, campaign, "consent", body.root, actor=caller.actor))
    )


@router.get("/consent", summary="Get the consent text", responses=example_response(200, CONSENT, "The current state."))
def get_consent_text(
    caller: AnyRole,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    version: Version = None,
) -> GuidelineTextsOut:
    """Return the latest text, or the version to which somebody agreed."""
    return _make_texts_out(guidelines.get_guidelines(session, campaign, "consent", version=version))


def _make_texts_out(texts: guidelines.GuidelineTexts) -> GuidelineTextsOut:
    return GuidelineTextsOut.model_validate(texts)
