"""A campaign's settings: only callers who have seen the latest version can change them, as far as the state allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.domain.errors import AppError, Conflict, Place
from app.domain.questionnaires import NAME as QUESTIONNAIRES
from app.reports.inputs.campaign import CampaignInfo
from app.services.campaigns import audit
from app.services.campaigns.campaigns import NewCampaign, check_campaign_and_get_protocol, get_campaign
from app.storage import campaigns
from app.storage.db import Session
from app.storage.setup_facts import describe_protocol_bound_data

ALWAYS = frozenset({"name", "settings"})
UNTIL_ANSWERED = frozenset({"protocol", "options"})
IN_REPORTS = frozenset({"source_language", "target_language", "basis"})


class CampaignEditConflict(AppError):
    """This has changed since you read it; read it again."""

    published = "ChangedSince"

    kind = "precondition_failed"


class CampaignChangeTooLate(Conflict):
    """It is too late in the campaign for this change."""

    published = "Settled"


def change_campaign_settings(
    session: Session, key: str, changes: Mapping[str, object], *, has_seen_version: Callable[[int], bool], actor: str
) -> CampaignInfo:
    """Overwrite some settings; `settings` is replaced as a whole.

    has_seen_version: whether the caller saw a given settings version. A simultaneous second caller waits, and is then
    too late. Raises CampaignEditConflict, CampaignChangeTooLate naming each field, Invalid, NotFound.
    """
    row = campaigns.load_campaign(session, key, lock=True)
    if not has_seen_version(row.settings_version):
        raise CampaignEditConflict(f"it is at {row.settings_version} now")
    _check_open(session, row, changes)
    values = _check_changes(row, changes)
    campaigns.update_campaign(session, row.id, {**values, "settings_version": row.settings_version + 1})
    if row.data_version and IN_REPORTS & set(changes):
        campaigns.take_next_data_version(session, row.id, actor=actor, what="settings")
    given = {"settings_version": row.settings_version + 1, "fields": sorted(changes)}
    audit.record_action(session, row.id, actor=actor, action="campaign changed", what=given)
    return get_campaign(session, key)


def _check_open(session: Session, row: campaigns.CampaignRecord, changes: Mapping[str, object]) -> None:
    places = []
    answered = describe_protocol_bound_data(session, row.id) if UNTIL_ANSWERED & set(changes) else None
    for name in sorted(set(changes) - ALWAYS):
        if row.state != "draft":
            places.append(Place((name,), f"cannot change after the draft; this campaign is {row.state}"))
        elif name in UNTIL_ANSWERED and answered is not None:
            places.append(Place((name,), f"cannot change once there are {answered}, which were given by it"))
    given = changes.get("settings", row.settings)
    asked = given.get(QUESTIONNAIRES) if isinstance(given, Mapping) else None
    if row.state != "draft" and (asked or {}) != (row.settings.get(QUESTIONNAIRES) or {}):
        why = f"cannot change after the draft; this campaign is {row.state}"
        places.append(Place(("settings", QUESTIONNAIRES), why))
    if places:
        raise CampaignChangeTooLate(places=tuple(places))


def _check_changes(row: campaigns.CampaignRecord, changes: Mapping[str, object]) -> dict[str, object]:
    """Return the fields as they are stored, after the checks for new campaigns."""
    merged = {name: getattr(row, name) for name in NewCampaign.__slots__} | dict(changes)
    protocol = check_campaign_and_get_protocol(NewCampaign(**merged))
    values = {name: merged[name] for name in changes}
    if "protocol" in values:
        values["protocol_version"] = protocol.version
    if "name" in values:
        values["name"] = merged["name"] or row.key
    if "settings" in values:
        made = {name: row.settings[name] for name in ("created_by",) if name in row.settings}
        values["settings"] = {**merged["settings"], **made}
    return values
