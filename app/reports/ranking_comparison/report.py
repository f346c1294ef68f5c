"""A campaign under several recipes: each ranking is found or computed separately, then they are shown side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

from app.domain.errors import Invalid
from app.reports.inputs import named_recipes, snapshot
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit import report
from app.reports.ranking import report as ranking_report
from app.reports.ranking import view as ranking_view
from app.reports.ranking.report import RankingLookup
from app.reports.ranking_comparison.compared_rankings import (
    ComparedRanking,
    RankingsSideBySide,
    make_rankings_side_by_side,
)
from app.storage.db import Database, Session


def find_or_compute_recipe_rankings(
    database: Database, campaign: str, names: Sequence[str], *, as_of: int | datetime | None = None
) -> RankingsSideBySide:
    """Return a campaign under several recipes, all at one data version; if a recipe does not fit, its column says why.

    Raises NotFound for an unknown campaign, and NoSuchRecipe.
    """
    with database.transaction(snapshot=True) as session:
        about, wanted = look_up_recipe_rankings(session, campaign, names, as_of)
    return compute_recipe_rankings_unless_stored(database, about, wanted)


def look_up_recipe_rankings(
    session: Session, campaign: str, names: Sequence[str], as_of: int | datetime | None
) -> tuple[CampaignSnapshot, dict[str, RankingLookup]]:
    """Return the campaign at a data version, and the ranking of each recipe by its name.

    Raises the errors of `find_or_compute_recipe_rankings`.
    """
    about = snapshot.load_snapshot(session, campaign, as_of)
    chosen = {name: named_recipes.resolve_recipe(session, campaign, name, place=("query", "recipes")) for name in names}
    return about, {
        name: ranking_report.look_up_ranking(session, campaign, one, about.version) for name, one in chosen.items()
    }


def compute_recipe_rankings_unless_stored(
    database: Database, about: CampaignSnapshot, wanted: Mapping[str, RankingLookup]
) -> RankingsSideBySide:
    """Return rankings side by side, each from the store or computed and stored."""
    columns = [
        make_ranking_column(name, partial(ranking_report.compute_ranking_unless_stored, database, one))
        for name, one in wanted.items()
    ]
    return make_rankings_side_by_side(label_ranked_campaign(about), columns)


def label_ranked_campaign(about: CampaignSnapshot) -> str:
    """Return the label of the campaign that is ranked: its key and data version."""
    return f"{about.campaign.key}, data version {about.version}"


def make_ranking_column(name: str, load_report: Callable[[], report.StoredReport]) -> ComparedRanking:
    """Return a ranking as a column, or the reason why there is none."""
    try:
        report = load_report()
    except Invalid as error:
        return ComparedRanking(name, None, error.detail or error.title())
    return ComparedRanking(name, ranking_view.parse_ranking_view_json(report.body), None, report.etag)
