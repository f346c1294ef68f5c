"""What a coordinator sees about their team's work: verdicts and failed checks, without scores or systems."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from app.reports.kit.report import StoredReport
from app.reports.quality.view import RaterQualityView
from app.services.access.tokens import Caller
from app.stats.quality.controls import Verdict
from app.stats.quality.quality_criteria import Check
from app.stats.quality.report import Completion
from app.storage import campaigns, hours
from app.storage.db import Database


class RaterVerdict(BaseModel):
    """One rater. why: there is no verdict. beyond: the checks that failed."""

    model_config = ConfigDict(frozen=True)

    rater: str
    n_judgments: int
    verdict: Verdict
    why: str | None
    completion: Completion
    beyond: list[Check]


class TeamRaterVerdicts(BaseModel):
    """The verdicts of a team."""

    model_config = ConfigDict(frozen=True)

    campaign: str
    data_version: int
    team: str
    raters: list[RaterVerdict]


def encode_team_rater_verdicts(database: Database, campaign: str, report: StoredReport, by: Caller) -> bytes:
    """Encode the verdicts on the caller's team, from a report on all raters."""
    team = by.team or ""
    with database.transaction() as session:
        there = {
            row.key for row in hours.load_enrolled_raters(session, campaigns.load_campaign(session, campaign).id, team)
        }
    view = RaterQualityView.model_validate_json(report.body)
    raters = [
        RaterVerdict(
            rater=one.rater,
            n_judgments=one.n_judgments,
            verdict=one.verdict,
            why=one.why,
            completion=one.completion,
            beyond=list(one.beyond),
        )
        for one in view.raters
        if one.rater in there
    ]
    verdicts = TeamRaterVerdicts(campaign=campaign, data_version=view.data_version, team=team, raters=raters)
    return verdicts.model_dump_json().encode()
