"""Series: campaigns that are run together, such as the language pairs of a shared task, in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from app.domain.errors import Invalid, NotFound
from app.reports.inputs import named_recipes, snapshot
from app.reports.inputs.named_recipes import NoSuchRecipe
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.ranking import report as ranking_report
from app.reports.ranking.report import RankingLookup
from app.reports.ranking_comparison.compared_rankings import (
    ComparedRanking,
    RankingsSideBySide,
    make_rankings_side_by_side,
)
from app.reports.ranking_comparison.report import make_ranking_column
from app.storage import series
from app.storage.db import Database, Session

MOST_CAMPAIGNS = 100


class SeriesNotFound(NotFound):
    """There is no such series, or none of its campaigns is yours."""


class TooManyCampaigns(Invalid):
    """This series has too many campaigns for one table."""


@dataclass(frozen=True, slots=True)
class SeriesCampaignRanking:
    """A campaign of a series, with the requested ranking; None if the campaign has no recipe of that name."""

    about: CampaignSnapshot
    ranking: RankingLookup | None

    @property
    def column_name(self) -> str:
        """The name of its column."""
        return self.about.campaign.key


def find_or_compute_series_rankings(
    database: Database, name: str, *, recipe: str, only: str | None = None
) -> RankingsSideBySide:
    """Return the campaigns of a series side by side, each under the recipe that the name refers to in it.

    only: the one campaign that the caller may see. If the recipe does not fit a campaign, the column says why.

    Raises NotFound if no campaign is found, and NoSuchRecipe if no campaign has a recipe of that name.
    """
    with database.transaction(snapshot=True) as session:
        members = look_up_series_rankings(session, name, recipe, only)
    return compute_series_rankings_unless_stored(database, label_ranked_series(name, recipe), members)


def look_up_series_rankings(session: Session, name: str, recipe: str, only: str | None) -> list[SeriesCampaignRanking]:
    """Return the campaigns by key, each at its data version, with its ranking.

    Raises the errors of `find_or_compute_series_rankings`.
    """
    keys = series.load_series_campaign_keys(session, name, only_campaign=only, limit=MOST_CAMPAIGNS + 1)
    if not keys:
        raise SeriesNotFound
    if len(keys) > MOST_CAMPAIGNS:
        raise TooManyCampaigns(f"at most {MOST_CAMPAIGNS}")
    unknown: list[NoSuchRecipe] = []
    members = [_member(session, key, recipe, unknown) for key in keys]
    if len(unknown) == len(keys):
        raise unknown[0]
    return members


def compute_series_rankings_unless_stored(
    database: Database, subject: str, members: Sequence[SeriesCampaignRanking]
) -> RankingsSideBySide:
    """Return rankings side by side, each from the store or computed and stored."""
    columns = [_column(database, one) for one in members]
    return make_rankings_side_by_side(subject, columns, list_comparability_notes(columns))


def label_ranked_series(name: str, recipe: str) -> str:
    """Return the label of the series that is ranked: its name and recipe."""
    return f"{name} by {recipe}"


def make_column_for_missing_recipe(campaign: str) -> ComparedRanking:
    """Make the column of a campaign that has no recipe of that name."""
    return ComparedRanking(campaign, None, NoSuchRecipe.title())


def list_comparability_notes(columns: Sequence[ComparedRanking]) -> list[str]:
    """Return notes on why means over these campaigns are not comparable."""
    views = [one.view for one in columns if one.view is not None]
    everywhere = set.intersection(*({line.system for line in view.systems} for view in views)) if views else set()
    told = []
    if any(len(view.systems) != len(everywhere) for view in views):
        told.append(
            "not every system is in every campaign, so means over different campaigns are not comparable; compare "
            "systems within campaigns"
        )
    if len({view.protocol for view in views}) > 1:
        told.append("the campaigns judge by different protocols, so scores are not comparable; compare ranks")
    return told


def _member(session: Session, campaign: str, recipe: str, unknown: list[NoSuchRecipe]) -> SeriesCampaignRanking:
    about = snapshot.load_snapshot(session, campaign, None)
    try:
        meant = named_recipes.resolve_recipe(session, campaign, recipe)
    except NoSuchRecipe as error:
        unknown.append(error)
        return SeriesCampaignRanking(about, None)
    return SeriesCampaignRanking(about, ranking_report.look_up_ranking(session, campaign, meant, about.version))


def _column(database: Database, member: SeriesCampaignRanking) -> ComparedRanking:
    if member.ranking is None:
        return make_column_for_missing_recipe(member.column_name)
    return make_ranking_column(
        member.column_name, partial(ranking_report.compute_ranking_unless_stored, database, member.ranking)
    )
