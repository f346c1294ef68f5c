"""Rankings side by side that take long: a job with one ranking per chunk, each also stored as an ordinary ranking.

The rankings are of a campaign under several recipes, or of the campaigns of a series under one recipe.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict

from app.reports.inputs.exclusions_and_lock import parse_stored_recipe
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import ReportComputation
from app.reports.kit.store import make_report_key_from_parts
from app.reports.ranking.report import RankingLookup
from app.reports.ranking.view import RankingView
from app.reports.ranking_comparison import report as side_by_side
from app.reports.ranking_comparison import series
from app.reports.ranking_comparison.compared_rankings import (
    ComparedRanking,
    RankingsSideBySide,
    make_rankings_side_by_side,
)
from app.services.jobs import jobs, rankings
from app.services.jobs.jobs import JobRequest, JobView
from app.stats.ranking.result import METHOD_VERSION
from app.storage import reports as stored
from app.storage.db import Database, Session

KIND = "recipes"
SERIES = "campaigns/series"
"""Named like comparisons of campaigns: it is deleted with data erased in any campaign, not only in the first one."""
KINDS = (KIND, SERIES)


class StoredComparedRanking(BaseModel):
    """One stored ranking of a report."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    name: str
    view: RankingView | None
    why: str | None
    etag: str

    @classmethod
    def from_ranking(cls, column: ComparedRanking) -> Self:
        """Make the stored form of a column."""
        return cls(name=column.name, view=column.view, why=column.why, etag=column.etag)

    def to_ranking(self) -> ComparedRanking:
        """Return the column."""
        return ComparedRanking(self.name, self.view, self.why, self.etag)


class StoredRankingsSideBySide(BaseModel):
    """Stored rankings side by side."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    subject: str
    parts: list[StoredComparedRanking]
    notes: list[str] = []


def parse_stored_rankings(body: bytes) -> RankingsSideBySide:
    """Return the rankings of a stored report."""
    kept = StoredRankingsSideBySide.model_validate_json(body)
    return make_rankings_side_by_side(kept.subject, [part.to_ranking() for part in kept.parts], kept.notes)


def find_or_queue_recipe_rankings(
    database: Database,
    campaign: str,
    names: Sequence[str],
    *,
    as_of: int | datetime | None = None,
    ask: jobs.Ask = jobs.request_job,
) -> RankingsSideBySide | JobView:
    """Return the rankings under some recipes if they are stored or can be made quickly, else the job that makes them.

    Raises the errors of `find_or_compute_recipe_rankings`.
    """
    with database.transaction(snapshot=True) as session:
        about, wanted = side_by_side.look_up_recipe_rankings(session, campaign, names, as_of)
        rows = [RequestedRanking(name, about, one) for name, one in wanted.items()]
        outcome = _find_or_request(session, KIND, side_by_side.label_ranked_campaign(about), rows)
    return (
        side_by_side.compute_recipe_rankings_unless_stored(database, about, wanted)
        if outcome is None
        else _answer_or_job(database, outcome, ask)
    )


def find_or_queue_series_rankings(
    database: Database, name: str, *, recipe: str, only: str | None = None, ask: jobs.Ask = jobs.request_job
) -> RankingsSideBySide | JobView:
    """Return the rankings of a series' campaigns if stored or quickly made, else the job that makes them.

    Raises the errors of `series.find_or_compute_series_rankings`.
    """
    subject = series.label_ranked_series(name, recipe)
    with database.transaction(snapshot=True) as session:
        members = series.look_up_series_rankings(session, name, recipe, only)
        rows = [RequestedRanking(one.column_name, one.about, one.ranking) for one in members]
        outcome = _find_or_request(session, SERIES, subject, rows)
    return (
        series.compute_series_rankings_unless_stored(database, subject, members)
        if outcome is None
        else _answer_or_job(database, outcome, ask)
    )


class RequestedRanking(NamedTuple):
    """A requested ranking, by the name of its column. ranking: None if the name of the recipe is unknown."""

    name: str
    about: CampaignSnapshot
    ranking: RankingLookup | None

    def as_json(self) -> list[Any]:
        """Return the form stored with a job: name, campaign, recipe, and the hash of recipe and names in the key."""
        plain = (None, None) if self.ranking is None else (self.ranking.recipe.as_json(), self.ranking.key.recipe_hash)
        return [self.name, self.about.campaign.key, *plain]


def _find_or_request(
    session: Session, kind: str, subject: str, rows: Sequence[RequestedRanking]
) -> RankingsSideBySide | JobRequest | None:
    """Return None if the rankings can be made quickly, else the stored rankings, or a request for a job.

    Raises DuckdbNotInstalled.
    """
    lookups = [one.ranking for one in rows if one.ranking is not None]
    if not rankings.do_missing_rankings_need_job(session, lookups):
        return None
    versions = {one.about.campaign.key: one.about.version for one in rows}
    asked = [one.as_json() for one in rows]
    first, parts = rows[0].about, [subject, versions, [[name, of, told] for name, of, _, told in asked]]
    key = make_report_key_from_parts(
        first.campaign_id, kind, first.version, parts, seed=0, method_version=METHOD_VERSION
    )
    body = stored.find_report(session, key)
    for lookup in lookups if body is None else ():
        lookup.check_duckdb_if_needed()
    return (
        JobRequest(kind, key, versions, {"subject": subject, "columns": asked})
        if body is None
        else parse_stored_rankings(body)
    )


def _answer_or_job(
    database: Database, outcome: RankingsSideBySide | JobRequest, ask: jobs.Ask
) -> RankingsSideBySide | JobView:
    return ask(database, outcome) if isinstance(outcome, JobRequest) else outcome


def make_ranking_comparison_computation(
    database: Database, request: JobRequest
) -> ReportComputation[StoredRankingsSideBySide]:
    """Return the work of a job, with one ranking per chunk. Its chunks raise JobInputsChanged."""
    columns = request.arguments["columns"]

    def chunk(n: int) -> bytes:
        name, campaign, recipe, told = columns[n]
        if recipe is None:
            return (
                StoredComparedRanking.from_ranking(series.make_column_for_missing_recipe(name))
                .model_dump_json()
                .encode()
            )
        meant, version = parse_stored_recipe(recipe), request.campaigns[campaign]
        made = side_by_side.make_ranking_column(
            name,
            lambda: rankings.find_or_compute_ranking_in_job(
                database, campaign, meant, version=version, requested_recipe_hash=told
            ),
        )
        return StoredComparedRanking.from_ranking(made).model_dump_json().encode()

    def finish(parts: Sequence[bytes]) -> StoredRankingsSideBySide:
        made = [StoredComparedRanking.model_validate_json(part) for part in parts]
        notes = series.list_comparability_notes([one.to_ranking() for one in made]) if request.kind == SERIES else []
        return StoredRankingsSideBySide(subject=request.arguments["subject"], parts=made, notes=notes)

    return ReportComputation(len(columns), chunk, finish)
