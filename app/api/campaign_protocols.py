"""The protocol of a campaign as data that its manager can write, and a preview of how raters would see one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field, JsonValue, StringConstraints

from app.api.models.tasks import EXAMPLE as TASK
from app.api.models.tasks import TaskOut
from app.api.previews import TaskPreviewOut
from app.api.protocols import JudgmentMeasureOut, Name, make_judgment_measure_out
from app.api.tasks import FORMS, JudgmentFormOut
from app.services.campaigns import protocols
from app.services.campaigns.protocols import CampaignProtocol, ProtocolNameAndOptions
from app.services.tasks.preview import make_task_preview
from app.web.access import Manager, Public
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.ifmatch import IfMatchDep, quote_etag
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import json_response

router = APIRouter(prefix="/v1", tags=["protocols"])
OWN: dict[str, Any] = {
    "parts": [
        {
            "kind": "spans",
            "severities": [{"name": "minor", "weight": 1.0}, {"name": "major", "weight": 5.0}],
            "categories": [{"name": "Meaning", "subcategories": ["Wrong", "Missing"]}, {"name": "Language"}],
            "tokens": ["Instructions not followed"],
        },
        {"kind": "slider", "name": "quality", "title": "How good is it?", "labels": {"0": "useless", "100": "perfect"}},
        {"kind": "yes_no", "name": "publish", "title": "Could it be published as it is?"},
    ],
    "ranks_by": "quality",
    "preference": "best",
}


class ProtocolIn(BodyModel):
    """A protocol."""

    protocol: Annotated[str, StringConstraints(pattern="^[a-z0-9_]{1,64}$")] = Field(
        description="`custom` for one that you write; `GET /v1/protocols` lists the others."
    )
    options: dict[str, JsonValue] = Field(
        {}, max_length=20, description="As the protocol declares them; those of `custom` define all questions."
    )


class CustomProtocolOut(BaseModel):
    """A protocol to start from: a body for `PUT …/protocol`."""

    protocol: str
    options: dict[str, JsonValue]


class CampaignProtocolOut(BaseModel):
    """What a campaign asks, and the numbers that an answer yields."""

    protocol: str
    options: dict[str, JsonValue]
    forms: list[JudgmentFormOut]
    measures: list[JudgmentMeasureOut] = Field(description="Numbers that an answer yields; the first ranks.")


SHOWN = CampaignProtocolOut(
    protocol="custom",
    options=OWN,
    forms=FORMS.forms,
    measures=[
        JudgmentMeasureOut(
            name="quality", higher_is_better=True, scale=[0, 100, 1], uses_profile=False, needs_text=False
        )
    ],
)
STARTED = CustomProtocolOut(protocol="custom", options=OWN)


@router.get(
    "/campaigns/{campaign}/protocol",
    summary="Get the protocol of a campaign",
    responses=example_response(200, SHOWN, "The current state."),
)
def get_campaign_protocol(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    response: Response,
) -> CampaignProtocolOut:
    """Return what the campaign asks, with its forms as raters get them. The ETag is that of the campaign."""
    shown = protocols.get_campaign_protocol(session, campaign)
    response.headers["ETag"] = quote_etag(str(shown.campaign.settings_version))
    return _make_protocol_out(shown)


@router.put(
    "/campaigns/{campaign}/protocol",
    summary="Set the protocol of a campaign",
    responses={
        **example_response(200, SHOWN, "The current state."),
        409: {"description": "The campaign is no draft any more, or something was answered by its protocol."},
    },
)
def put_campaign_protocol(
    caller: Manager,
    campaign: CampaignKey,
    if_match: IfMatchDep,
    body: Annotated[ProtocolIn, read_json_body_as(ProtocolIn, own={"protocol": "custom", "options": OWN})],
    session: SessionDep,
) -> Response:
    """The campaign must be a draft in which nothing was answered by its protocol. Texts stay as they are."""
    written = ProtocolNameAndOptions(body.protocol, body.options)
    shown = protocols.put_campaign_protocol(
        session, campaign, written, has_seen_version=lambda version: if_match.has(str(version)), actor=caller.actor
    )
    return json_response(_make_protocol_out(shown), etag=str(shown.campaign.settings_version))


@router.post(
    "/campaigns/{campaign}/protocol/preview",
    summary="Preview a task under another protocol",
    responses={
        **example_response(200, TaskPreviewOut(task=TASK, forms=FORMS.forms)),
        409: {"description": "The campaign has no outputs yet."},
    },
)
def preview_protocol(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    body: Annotated[ProtocolIn, read_json_body_as(ProtocolIn, own={"protocol": "custom", "options": OWN})],
    session: SessionDep,
    presentation: Annotated[
        Literal["document", "segment", "side_by_side"] | None, Query(description="Default: the campaign's own.")
    ] = None,
) -> TaskPreviewOut:
    """Show it as `GET …/preview` does for the campaign's own protocol. Nothing is stored."""
    written = ProtocolNameAndOptions(body.protocol, body.options)
    view, forms = make_task_preview(session, campaign, presentation=presentation, other_protocol=written)
    return TaskPreviewOut(task=TaskOut.from_view(view), forms=[JudgmentFormOut.from_form(form) for form in forms])


@router.get(
    "/protocols/{protocol}/as-custom",
    summary="Get a protocol as a template for your own",
    responses={404: {}, **example_response(200, STARTED)},
)
async def get_custom_copy_of_protocol(_: Public, protocol: Name) -> CustomProtocolOut:
    """Return its questions, scales and weights as options of `custom`; 422 for a protocol that scores nothing."""
    written = protocols.describe_protocol_as_custom(protocol, {})
    return CustomProtocolOut.model_validate({"protocol": written.protocol, "options": dict(written.options)})


def _make_protocol_out(shown: CampaignProtocol) -> CampaignProtocolOut:
    return CampaignProtocolOut.model_validate(
        {
            "protocol": shown.campaign.protocol,
            "options": dict(shown.campaign.options),
            "forms": [JudgmentFormOut.from_form(form) for form in shown.forms],
            "measures": [make_judgment_measure_out(one) for one in shown.measures],
        }
    )
