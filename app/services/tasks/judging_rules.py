"""What a campaign asks of its raters, as one value that is valid for one version of its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from app.domain.recipe import ScoringChoice
from app.protocols import RaterForm, list_judged_levels, make_rater_form
from app.protocols.base import Basis, Level, Protocol, ScoringOptions
from app.reports.inputs import campaign
from app.reports.inputs.scores import find_or_create_score_profile_id, resolve_score_definition
from app.services.campaigns.display_settings import DisplaySettings, get_display_settings
from app.services.campaigns.numeric_settings import get_lease_duration
from app.storage import campaigns
from app.storage.db import Session
from app.storage.recorder.judgments import CampaignWriteTarget


@dataclass(frozen=True, slots=True)
class JudgingRules:
    """What a campaign asks of its raters. forms: by the level that is judged. display: how raters see the texts."""

    campaign_id: int
    settings_version: int
    protocol: Protocol[Any]
    options: ScoringOptions
    basis: Basis
    lease_duration: timedelta
    write_target: CampaignWriteTarget
    forms: Mapping[Level, RaterForm]
    display: DisplaySettings

    @property
    def scoring_needs_texts(self) -> bool:
        """Whether a score cannot be computed without the text of the output."""
        return any(measure.needs_text for measure in self.protocol.list_judgment_measures(self.options))


def load_judging_rules(session: Session, key: str) -> JudgingRules:
    """Load what a campaign asks of its raters. Raises NotFound."""
    row = campaigns.load_campaign(session, key)
    view = campaign.make_campaign_info(row)
    protocol, options = campaign.find_campaign_protocol(view), campaign.parse_campaign_scoring_options(view)
    lasts = get_lease_duration(view.settings)
    profile = find_or_create_score_profile_id(session, row.id, resolve_score_definition(view, ScoringChoice()))
    basis: Basis = view.basis  # type: ignore[assignment]  # checked in SQL
    return JudgingRules(
        campaign_id=row.id,
        settings_version=view.settings_version,
        protocol=protocol,
        options=options,
        basis=basis,
        lease_duration=lasts,
        write_target=CampaignWriteTarget(row.id, profile, lasts, view.settings_version),
        forms={
            level: make_rater_form(protocol, options, basis=basis, level=level)
            for level in list_judged_levels(protocol, options)
        },
        display=get_display_settings(view.settings),
    )
