"""Campaigns: create, get and list them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from app import protocols
from app.domain.errors import Invalid, Place
from app.domain.keys import is_key
from app.domain.questionnaires import find_questionnaire_faults
from app.protocols.base import Protocol
from app.protocols.base import parse_scoring_options as understood
from app.reports.inputs.campaign import CampaignInfo, make_campaign_info
from app.services.campaigns import audit, deadlines, display_settings, numeric_settings, rater_page_phrases
from app.services.campaigns.attention_settings import parse_attention_check_settings
from app.services.campaigns.media_rules import list_playback_rule_faults
from app.services.campaigns.quality_settings import parse_rater_quality_settings
from app.storage import campaigns
from app.storage.db import Session
from app.storage.sorting import SortCursor

BASES = ("source", "reference", "both", "none")
CampaignSort = Literal["key", "-key", "name", "-name", "created", "-created", "closed"]
PRESENTATIONS = ("document", "segment", "side_by_side")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCampaign:
    """What a manager states about a new campaign. options: the protocol's parameters, such as its weights."""

    key: str
    protocol: str
    name: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    source_language: str | None = None
    target_language: str | None = None
    basis: str = "source"
    series: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)


def create_campaign(session: Session, new: NewCampaign, *, actor: str) -> CampaignInfo:
    """Create a campaign in state draft.

    Raises Invalid, which names the field, and Conflict if the key is taken.
    """
    protocol = check_campaign_and_get_protocol(new)
    row = campaigns.insert_campaign(
        session,
        {
            "key": new.key,
            "name": new.name or new.key,
            "series": new.series,
            "protocol": protocol.name,
            "protocol_version": protocol.version,
            "options": dict(new.options),
            "source_language": new.source_language,
            "target_language": new.target_language,
            "basis": new.basis,
            "state": "draft",
            "settings": {**new.settings, "created_by": actor},
        },
    )
    audit.record_action(session, row.id, actor=actor, action="campaign made", what={"campaign": new.key})
    return make_campaign_info(row)


def get_campaign(session: Session, key: str) -> CampaignInfo:
    """Return the campaign with this key. Raises NotFound."""
    return make_campaign_info(campaigns.load_campaign(session, key))


def list_campaigns(
    session: Session,
    *,
    after: SortCursor | None,
    limit: int,
    only: str | None,
    sort: CampaignSort = "key",
    where: Mapping[str, str] = MappingProxyType({}),
    q: str = "",
    name: str | None = None,
) -> list[CampaignInfo]:
    """List campaigns in a given order, starting after a cursor.

    only: the key of the only campaign to list. Raises NotFound if it is unknown. where: required values of `series`,
    `state`, `protocol`, `source_language` and `target_language`. q: words, each of which must be part of the name, the
    key or the series. name: a part of the name or the key.

    In the order `closed`, a reader who goes from page to page misses no campaign that is closed in the meantime: it
    appears among the closed ones, perhaps for a second time. A campaign that is reopened in the meantime may be missed,
    if its new place is on a page already read.
    """
    rows = campaigns.load_campaigns_page(
        session,
        after=after,
        limit=limit,
        campaign_id=_id_of(session, only),
        sort=sort,
        where=where,
        words=q.split(),
        name=name,
    )
    return [make_campaign_info(row) for row in rows]


def make_campaign_cursor(campaign: CampaignInfo, sort: CampaignSort) -> SortCursor:
    """Return the cursor that points after a campaign in a sorted list."""
    by = {"name": campaign.name, "created": campaign.created_at.isoformat(), "closed": campaign.state}
    return by.get(sort.removeprefix("-")), campaign.key


def list_language_pairs(session: Session, *, only: str | None) -> list[tuple[str | None, str | None]]:
    """List the language pairs of the campaigns; `only`: of one campaign."""
    return campaigns.load_language_pairs(session, campaign_id=_id_of(session, only))


def _id_of(session: Session, key: str | None) -> int | None:
    return campaigns.load_campaign(session, key).id if key is not None else None


def check_campaign_and_get_protocol(new: NewCampaign) -> Protocol[Any]:
    """Check a new campaign and return its protocol. Raises Invalid, which names each wrong field."""
    places = []
    if not is_key(new.key):
        places.append(Place(("key",), "must be 1–128 of A–Z a–z 0–9 . _ ~ : @ + -, and not . or .."))
    if new.basis not in BASES:
        places.append(Place(("basis",), f"must be one of {', '.join(BASES)}"))
    for name in ("source_language", "target_language"):
        code = getattr(new, name)
        if code is not None and not (len(code) <= 35 and _LANGUAGE.fullmatch(code)):
            places.append(Place((name,), "must be a language code such as de or zh-Hans"))
    if new.protocol not in protocols.ALL:
        places.append(Place(("protocol",), f"must be one of {', '.join(protocols.ALL)}"))
    places += _settings_faults(new.settings)
    if places:
        raise Invalid("the campaign is not valid", places=tuple(places))
    protocol = protocols.get_protocol(new.protocol)
    parse_rater_quality_settings(new.settings)
    parse_attention_check_settings(new.settings)
    protocols.resolve_visible_text_kinds(protocol, new.basis)  # type: ignore[arg-type]  # one of BASES
    understood(protocol, new.options)
    return protocol


def _settings_faults(settings: Mapping[str, object]) -> list[Place]:
    """List faults in settings: how tasks are shown (plans write this into every task), deadline, numbers and others."""
    places = []
    if settings.get("presentation", PRESENTATIONS[0]) not in PRESENTATIONS:
        places.append(Place(("settings", "presentation"), f"must be one of {', '.join(PRESENTATIONS)}"))
    if not isinstance(settings.get("prefill"), str | None):
        places.append(Place(("settings", "prefill"), "must be a text or null"))
    checks = (
        deadlines.list_deadline_faults,
        numeric_settings.list_numeric_setting_faults,
        rater_page_phrases.list_phrase_faults,
        display_settings.list_display_setting_faults,
        find_questionnaire_faults,
        list_playback_rule_faults,
    )
    return [*places, *(place for check in checks for place in check(settings))]
