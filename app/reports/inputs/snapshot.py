"""A campaign at a data version, which is what a report describes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.errors import Invalid, Place
from app.reports.inputs.campaign import CampaignInfo, make_campaign_info
from app.storage import campaigns
from app.storage.db import Session


@dataclass(frozen=True, slots=True)
class CampaignSnapshot:
    """A campaign at a data version."""

    campaign: CampaignInfo
    campaign_id: int
    version: int

    @property
    def unversioned_settings(self) -> str:
        """Settings that a campaign without data can change without a new data version; empty as soon as it has data."""
        if self.version:
            return ""
        now = self.campaign
        choices = [now.protocol, dict(now.options), now.source_language, now.target_language, now.basis]
        return "+" + hashlib.sha256(json.dumps(choices, sort_keys=True).encode()).hexdigest()


def make_report_header_fields(
    snapshot: CampaignSnapshot, data_hash: str, dropped: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the fields with which every view of one campaign begins, as in `ReportHeader`."""
    return {
        "campaigns": {snapshot.campaign.key: snapshot.version},
        "data_hash": data_hash,
        "basis": snapshot.campaign.basis,
        "dropped": list(dropped),
    }


def load_snapshot(session: Session, campaign: str, as_of: int | datetime | None) -> CampaignSnapshot:
    """Load the campaign at the requested version, or at its last version by the requested time.

    Raises NotFound for an unknown campaign, and Invalid for a version that does not exist (yet).
    """
    row = campaigns.load_campaign(session, campaign)
    version = int(row.data_version)
    if isinstance(as_of, datetime):
        version = campaigns.find_data_version_at(session, row.id, as_of)
    elif as_of is not None:
        if not 0 <= as_of <= version:
            what = "must be 0 or more" if as_of < 0 else f"the latest data version is {version}"
            raise Invalid("there is no such data version", places=(Place(("query", "as_of"), what),))
        version = as_of
    return CampaignSnapshot(make_campaign_info(row), row.id, version)
