"""The recipe that a name refers to in a campaign."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.domain.errors import Invalid, Place
from app.domain.recipe import NAMED, Recipe
from app.reports.inputs.exclusions_and_lock import load_exclusions_and_lock, parse_stored_recipe
from app.storage import campaigns, recipes
from app.storage.db import Session

LOCKED = "locked"
MOST_SHOWN = 50


class NoSuchRecipe(Invalid):
    """There is no recipe of that name."""


@dataclass(frozen=True, slots=True)
class NamedRecipe:
    """A revision of a recipe that a campaign has given a name."""

    name: str
    revision: int
    recipe: Recipe
    actor: str
    at: datetime


def resolve_recipe(
    session: Session, campaign: str, name: str, *, place: tuple[str | int, ...] = ("query", "recipe")
) -> Recipe:
    """Return the campaign's own recipe of that name, the one of published practice, or the one that is `locked`.

    Raises NotFound for an unknown campaign, and NoSuchRecipe with the names that exist.
    """
    campaign_id = campaigns.load_campaign(session, campaign).id
    row = recipes.find_recipe(session, campaign_id, name)
    if row is not None:
        return parse_recipe_record(row).recipe
    if name == LOCKED:
        return _load_locked_recipe(session, campaign, place)
    if name not in NAMED:
        own = [found.name for found in recipes.load_recipes_page(session, campaign_id, after=None, limit=MOST_SHOWN)]
        raise NoSuchRecipe(places=(Place(place, f"there are {', '.join([*own, *NAMED])}"),))
    return NAMED[name]


def _load_locked_recipe(session: Session, campaign: str, place: tuple[str | int, ...]) -> Recipe:
    row = campaigns.load_campaign(session, campaign)
    state = load_exclusions_and_lock(session, row.id, int(row.data_version)).lock
    if state is None:
        raise NoSuchRecipe(places=(Place(place, "nothing is locked in this campaign"),))
    return state.recipe


def parse_recipe_record(row: recipes.RecipeRecord) -> NamedRecipe:
    return NamedRecipe(row.name, row.revision, parse_stored_recipe(row.choices), row.actor, row.at)
