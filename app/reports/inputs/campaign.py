"""A campaign as it is stored, and how its protocol interprets its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app import protocols
from app.protocols.base import Protocol, ScoringOptions
from app.protocols.base import parse_scoring_options as understood
from app.storage import campaigns


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignInfo:
    """A campaign as people see it."""

    key: str
    name: str
    series: str | None
    protocol: str
    protocol_version: int
    options: Mapping[str, object]
    source_language: str | None
    target_language: str | None
    basis: str
    state: str
    settings: Mapping[str, object]
    documents_known: bool
    data_version: int
    settings_version: int
    created_at: datetime


def find_campaign_protocol(campaign: CampaignInfo) -> Protocol[Any]:
    """Return the protocol by which a campaign is judged."""
    return protocols.get_protocol(campaign.protocol)


def parse_campaign_scoring_options(campaign: CampaignInfo) -> ScoringOptions:
    """Parse a campaign's options as its protocol defines them. Raises Invalid, naming the wrong option."""
    return understood(find_campaign_protocol(campaign), campaign.options)


def make_campaign_info(row: campaigns.CampaignRecord) -> CampaignInfo:
    fields = {name: value for name, value in row._mapping.items() if name != "id"}
    return CampaignInfo(**fields)
