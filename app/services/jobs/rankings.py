"""Rankings that take long: the job makes a ranking with the same bytes as if it were made at once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from app.domain.recipe import Recipe
from app.reports.inputs import snapshot
from app.reports.inputs.exclusions_and_lock import parse_stored_recipe
from app.reports.inputs.expected_time import AT_ONCE, QUICK_JUDGMENTS, CampaignTestSetSize, estimate_ranking_seconds
from app.reports.kit.report import ReportComputation, StoredReport, make_undivided_computation
from app.reports.ranking import report as ranking_report
from app.reports.ranking.input import RANKING
from app.reports.ranking.report import RankingLookup
from app.services.jobs import jobs
from app.services.jobs.jobs import JobInputsChanged, JobView
from app.storage import staged_judgments
from app.storage.db import Database, Session

KIND = RANKING


def find_or_queue_ranking(
    database: Database,
    campaign: str,
    *,
    recipe: Recipe,
    as_of: int | datetime | None = None,
    ask: jobs.Ask = jobs.request_job,
) -> StoredReport | JobView:
    """Return the ranking if it is stored or can be made quickly, else the job that makes it.

    Raises the errors of `ranking_report.find_or_compute_ranking`, DuckdbNotInstalled, and the error for which a worker
    has refused the recipe.
    """
    with database.transaction(snapshot=True) as session:
        wanted = ranking_report.look_up_ranking(session, campaign, recipe, as_of)
        is_long = do_missing_rankings_need_job(session, [wanted])
    if not is_long:
        return ranking_report.compute_ranking_unless_stored(database, wanted)
    wanted.check_duckdb_if_needed()
    about, given = wanted.about, {"recipe": recipe.as_json()}
    return ask(database, jobs.JobRequest(KIND, wanted.key, {about.campaign.key: about.version}, given))


def do_missing_rankings_need_job(session: Session, wanted: Iterable[RankingLookup]) -> bool:
    """Return whether making the missing rankings one after another is expected to take long enough for a job."""
    missing = [one for one in wanted if one.body is None]
    if not missing:
        return False
    numbers = sorted({one.about.campaign_id for one in missing})
    if staged_judgments.has_more_judgments_than(session, numbers, QUICK_JUDGMENTS):
        return True
    sizes = {number: CampaignTestSetSize.load(session, number) for number in numbers}
    return sum(estimate_ranking_seconds(sizes[one.about.campaign_id], one.recipe) for one in missing) > AT_ONCE


def find_or_compute_ranking_in_job(
    database: Database, campaign: str, recipe: Recipe, *, version: int, requested_recipe_hash: str
) -> StoredReport:
    """Return a ranking that is a chunk of a job, from the store, or computed and stored here as an ordinary ranking.

    requested_recipe_hash: what its key said about recipe and names when the job was requested. Raises JobInputsChanged
    if this has changed, because today's names would be stored under yesterday's key, and the errors of
    `ranking_report.find_or_compute_ranking`.
    """
    try:
        return ranking_report.find_or_compute_ranking(database, campaign, recipe=recipe, as_of=version)
    finally:
        with database.transaction(snapshot=True) as session:
            now = ranking_report.look_up_ranking(session, campaign, recipe, version)
        if now.key.recipe_hash != requested_recipe_hash:
            raise JobInputsChanged


def make_ranking_computation(database: Database, request: jobs.JobRequest) -> ReportComputation[bytes]:
    """Return the work that remains for a job after its data are read.

    Raises JobInputsChanged, and the errors of `load_ranking_input_or_sums`.
    """
    ((campaign, version),) = request.campaigns.items()
    with database.transaction() as session:
        about = snapshot.load_snapshot(session, campaign, version)
        given = ranking_report.load_ranking_input_or_sums(
            session, about, parse_stored_recipe(request.arguments["recipe"])
        )
    if given.report_key != request.key:
        raise JobInputsChanged
    return make_undivided_computation(given.compute_ranking_json)
