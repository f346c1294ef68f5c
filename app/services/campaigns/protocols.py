"""The protocol of a campaign as data: what it asks, and how each part is scored.

It can change until the first answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from app import protocols
from app.protocols import RaterForm, convert_to_custom_options, list_judged_levels, make_rater_form
from app.protocols.base import Basis, JudgmentMeasure, parse_scoring_options
from app.reports.inputs.campaign import CampaignInfo, find_campaign_protocol, parse_campaign_scoring_options
from app.services.campaigns.campaigns import get_campaign
from app.services.campaigns.settings import change_campaign_settings
from app.storage.db import Session


@dataclass(frozen=True, slots=True)
class ProtocolNameAndOptions:
    """A protocol by name, and its options; the options of `custom` define the whole protocol."""

    protocol: str
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CampaignProtocol:
    """What a campaign asks. forms: one for each judged level. measures: scores of a judgment; the first one ranks."""

    campaign: CampaignInfo
    forms: tuple[RaterForm, ...]
    measures: tuple[JudgmentMeasure, ...]


def get_campaign_protocol(session: Session, campaign: str) -> CampaignProtocol:
    """Return the protocol of a campaign. Raises NotFound."""
    about = get_campaign(session, campaign)
    protocol, options = find_campaign_protocol(about), parse_campaign_scoring_options(about)
    basis: Basis = about.basis  # type: ignore[assignment]  # checked in SQL
    levels = list_judged_levels(protocol, options)
    forms = tuple(make_rater_form(protocol, options, basis=basis, level=level) for level in levels)
    return CampaignProtocol(about, forms, protocol.list_judgment_measures(options))


def put_campaign_protocol(
    session: Session,
    campaign: str,
    written: ProtocolNameAndOptions,
    *,
    has_seen_version: Callable[[int], bool],
    actor: str,
) -> CampaignProtocol:
    """Change the protocol, while the campaign is a draft without answers.

    has_seen_version: whether the caller saw a given settings version. Raises CampaignEditConflict,
    CampaignChangeTooLate, Invalid, NotFound.
    """
    changes = {"protocol": written.protocol, "options": dict(written.options)}
    change_campaign_settings(session, campaign, changes, has_seen_version=has_seen_version, actor=actor)
    return get_campaign_protocol(session, campaign)


def describe_protocol_as_custom(name: str, options: Mapping[str, object]) -> ProtocolNameAndOptions:
    """Describe a built-in protocol as a custom one. Raises NotFound, Invalid."""
    protocol = protocols.get_protocol(name)
    usual = options or protocol.examples[0].options
    return ProtocolNameAndOptions("custom", convert_to_custom_options(protocol, parse_scoring_options(protocol, usual)))
