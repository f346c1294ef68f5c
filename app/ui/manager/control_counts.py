"""Counts of the verdicts on control items, from a stored report."""

from __future__ import annotations

from app.reports.quality.report import REPORT as QUALITY
from app.reports.quality.view import RaterQualityView
from app.storage import campaigns, reports
from app.storage.db import Session


def count_raters_by_control_verdict(session: Session, campaign: str) -> dict[str, int] | None:
    """Return how many raters pass, fail or have too few control items, from the newest stored report; None without one.

    Computes nothing. Raises NotFound.
    """
    row = campaigns.load_campaign(session, campaign)
    body = reports.find_newest_report(session, row.id, f"{QUALITY.over}/{QUALITY.name}")
    return None if body is None else dict(RaterQualityView.model_validate_json(body).counts)
