"""The forms of a campaign for pages that come before the first task: guidelines with practice, tutorial and test."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from app.protocols import RaterForm, list_judged_levels, make_rater_form
from app.protocols.base import Widget
from app.reports.inputs.campaign import CampaignInfo, find_campaign_protocol, parse_campaign_scoring_options


def rater_forms_json(campaign: CampaignInfo) -> str:
    """Return the forms as JSON, in the shape of `GET /v1/tasks/{task}/forms`."""
    protocol, options = find_campaign_protocol(campaign), parse_campaign_scoring_options(campaign)
    widgets = (
        make_rater_form(protocol, options, basis=campaign.basis, level=level)  # type: ignore[arg-type]  # checked in SQL
        for level in list_judged_levels(protocol, options)
    )
    return json.dumps([_form_as_json(form) for form in widgets])


def _form_as_json(form: RaterForm) -> dict[str, Any]:
    return {
        "level": form.level,
        "widgets": [_widget(widget) for widget in form.widgets],
        "rubric": form.rubric,
        "labels": form.labels,
        "instructions": form.instructions,
    }


def _widget(widget: Widget) -> dict[str, Any]:
    settings = TypeAdapter(type(widget)).dump_python(widget, mode="json")
    return {"kind": widget.kind, "field": settings.pop("field"), "settings": settings}
