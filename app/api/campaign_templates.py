"""Templates of campaigns: the settings of common studies."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import Field, JsonValue

from app.services.templates.templates import TEMPLATES, CampaignTemplate, get_template_by_name
from app.web.access import Public
from app.web.examples import example_response
from app.web.pagination import Page
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/campaign-templates", tags=["campaigns"])


class CampaignTemplateOut(ResponseModel):
    """What a template sets; name it as `template` of a new campaign."""

    name: str
    title: str
    purpose: str = Field(description="When to use it.")
    protocol: str
    basis: str = Field(description="What raters compare an output with.")
    options: dict[str, JsonValue] = Field(description="Options of the protocol.")
    settings: dict[str, JsonValue] = Field(description="Settings of the campaign.")
    design: dict[str, JsonValue] = Field(description="Design to start a plan with, for `POST …/plan`.")
    guidelines: str | None = Field(description="In English, as Markdown; they become the campaign's first version.")


def _make_template_out(template: CampaignTemplate) -> CampaignTemplateOut:
    return CampaignTemplateOut.model_validate(template)


FIRST = next(iter(TEMPLATES.values()))
Name = Annotated[str, Path(pattern="^[a-z0-9-]{1,64}$", examples=[FIRST.name])]


@router.get(
    "",
    summary="List campaign templates",
    responses=example_response(200, Page[CampaignTemplateOut](items=[_make_template_out(FIRST)], next=None)),
)
async def list_campaign_templates(_: Public) -> Page[CampaignTemplateOut]:
    """List all templates in the order in which the pages offer them."""
    return Page[CampaignTemplateOut](items=[_make_template_out(one) for one in TEMPLATES.values()], next=None)


@router.get(
    "/{template}",
    summary="Get a campaign template",
    responses={404: {}, **example_response(200, _make_template_out(FIRST))},
)
async def get_campaign_template(_: Public, template: Name) -> CampaignTemplateOut:
    """Return what the template sets."""
    return _make_template_out(get_template_by_name(template))
