"""Series: campaigns that are run as one, such as the language pairs of a shared task, in one table."""

from __future__ import annotations

from app.domain.errors import Invalid, NotFound
from app.domain.recipe import Recipe
from app.services import recipes, reports
from app.services.recipes import NoSuchRecipe
from app.services.side_by_side import Column, SideBySide, column, lay
from app.storage import series
from app.storage.db import Database, Session

MOST_CAMPAIGNS = 100


class SeriesNotFound(NotFound):
    """There is no such series, or none of its campaigns is yours."""


class TooManyCampaigns(Invalid):
    """This series has too many campaigns for one table."""


def ranking(database: Database, name: str, *, recipe: str, only: str | None = None) -> SideBySide:
    """The campaigns of a series beside each other, each by what the recipe's name means in it.

    only: the one campaign that the caller may see. A campaign that the recipe does not fit says why.

    Raises NotFound where no campaign is found, NoSuchRecipe where the name means nothing in any of them.
    """
    with database.transaction(snapshot=True) as session:
        keys = series.members(session, name, only=only, limit=MOST_CAMPAIGNS + 1)
        if not keys:
            raise SeriesNotFound
        if len(keys) > MOST_CAMPAIGNS:
            raise TooManyCampaigns(f"at most {MOST_CAMPAIGNS}")
        meant = {key: _meant(session, key, recipe) for key in keys}
    unknown = [found for found in meant.values() if isinstance(found, NoSuchRecipe)]
    if len(unknown) == len(keys):
        raise unknown[0]
    columns = [_column(database, key, found) for key, found in meant.items()]
    return lay(f"{name} by {recipe}", columns, _notes(columns))


def _meant(session: Session, campaign: str, recipe: str) -> Recipe | NoSuchRecipe:
    """What the name of a recipe means in a campaign, or that it means nothing."""
    try:
        return recipes.named(session, campaign, recipe)
    except NoSuchRecipe as error:
        return error


def _column(database: Database, campaign: str, recipe: Recipe | NoSuchRecipe) -> Column:
    if isinstance(recipe, NoSuchRecipe):
        return Column(campaign, None, recipe.title())
    return column(campaign, lambda: reports.ranking(database, campaign, recipe=recipe))


def _notes(columns: list[Column]) -> list[str]:
    """What keeps the means over these campaigns from being compared."""
    views = [one.view for one in columns if one.view is not None]
    everywhere = set.intersection(*({line.system for line in view.systems} for view in views)) if views else set()
    notes = []
    if any(len(view.systems) != len(everywhere) for view in views):
        notes.append("not every system is in every campaign; means over different campaigns do not compare")
    if len({view.protocol for view in views}) > 1:
        notes.append("the campaigns judge by different protocols")
    return notes
