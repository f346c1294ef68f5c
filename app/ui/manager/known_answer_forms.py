"""What forms for known answers contain: the raters' questions, and the tolerance of each measure."""

from __future__ import annotations

import json

from app.reports.inputs.campaign import CampaignInfo, find_campaign_protocol, parse_campaign_scoring_options
from app.services.people.answer_rules import find_error_span_field
from app.stats.quality.repeats import choose_default_repeat_tolerance
from app.ui.annotation_forms import rater_forms_json


def rater_forms_and_measures_json(campaign: CampaignInfo) -> dict[str, str]:
    """Return the raters' forms and the comparable measures as JSON; the first measure has its usual tolerance."""
    measures = find_campaign_protocol(campaign).list_judgment_measures(parse_campaign_scoring_options(campaign))
    within = [choose_default_repeat_tolerance(one.scale) if n == 0 else None for n, one in enumerate(measures)]
    told = [{"name": one.name, "within": by} for one, by in zip(measures, within, strict=True)]
    return {"forms": rater_forms_json(campaign), "measures": json.dumps(told)}


def allows_prefilled_errors(campaign: CampaignInfo) -> bool:
    """Return whether errors can be marked in advance in the texts that raters see."""
    return find_campaign_protocol(campaign).accepts_prefill and find_error_span_field(campaign) is not None
