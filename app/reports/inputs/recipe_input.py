"""Input of reports on a ranking: the rows that a recipe counts, with facts about their systems and documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app.domain.keys import KEY_PATTERN
from app.domain.recipe import ExclusionTarget, Recipe, apply_query_options_to_recipe
from app.reports.inputs import named_recipes
from app.reports.inputs.data_hash import hash_report_data
from app.reports.inputs.exclusions_and_lock import add_standing_exclusions, load_exclusions_and_lock
from app.reports.inputs.raw_ratings import Seed
from app.reports.inputs.recipe_ratings import RatingsAndErrorsWithoutWeight, load_ratings_and_errors_without_weight
from app.reports.inputs.snapshot import CampaignSnapshot
from app.stats.ranking.caveats import NO_RATINGS
from app.stats.ranking.errors_without_weight import ErrorsWithoutWeight
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import RatingLabels, Ratings
from app.stats.selection import DroppedRowCount, drop_excluded_ratings
from app.storage import rating_metadata, system_descriptions
from app.storage.db import Session

RecipeName = Annotated[str, StringConstraints(pattern=KEY_PATTERN)]
NOTHING = NO_RATINGS


class RecipeAndSeedOptions(BaseModel):
    """Which recipe is used."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: RecipeName = Field(
        "recommended", description="Name of a recipe, including the campaign's own.", examples=["recommended"]
    )
    seed: Seed = Field(0, description="0 for the recipe's own.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignFactsUnderRecipe:
    """A campaign under a recipe.

    recipe: includes the standing exclusions if it applies them. own: what the recipe itself excludes by name.
    data_hash: of the rows without any of these exclusions. humans: keys of systems that are human translations. names:
    of the systems, as they were imported.
    """

    snapshot: CampaignSnapshot
    recipe: Recipe
    documents: DocumentTable
    humans: frozenset[str]
    names: dict[str, str]
    data_hash: str
    own: tuple[ExclusionTarget, ...]

    def hash_requested_recipe(self, recipe: Recipe) -> str:
        """Return the hash of this recipe as requested, as in a ranking; the data determine which exclusions stand."""
        return replace(recipe, exclude=self.own).hash

    @property
    def data_version_by_campaign(self) -> dict[str, int]:
        """The data version that was read, by campaign key."""
        return {self.snapshot.campaign.key: self.snapshot.version}

    def report_header_fields(
        self, dropped: Iterable[DroppedRowCount], warnings: Iterable[str], data_hash: str = ""
    ) -> dict[str, Any]:
        """Return the fields that every report has, as in `ReportHeader`.

        data_hash: of the rows that were used, if they differ from those of the recipe.
        """
        return {
            "campaigns": self.data_version_by_campaign,
            "data_hash": data_hash or self.data_hash,
            "basis": self.snapshot.campaign.basis,
            "dropped": [{"reason": each.reason, "n": each.n} for each in dropped],
            "warnings": list(warnings),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeInput(CampaignFactsUnderRecipe):
    """A campaign under a recipe, with its rows.

    errors_without_weight: marked errors for which the weight table has no weight. marked: the rows with their
    judgments.
    """

    rows: Ratings
    errors_without_weight: ErrorsWithoutWeight | None = None
    marked: RatingsAndErrorsWithoutWeight | None = None


def load_requested_recipe(session: Session, snapshot: CampaignSnapshot, options: RecipeAndSeedOptions) -> Recipe:
    """Return the recipe of these options. Raises NoSuchRecipe, and Invalid for a choice that does not exist."""
    recipe = named_recipes.resolve_recipe(session, snapshot.campaign.key, options.recipe)
    if options.seed:
        recipe = replace(recipe, seed=options.seed)
    if scoring := getattr(options, "scoring", ""):
        recipe = apply_query_options_to_recipe(recipe, {"scoring": [scoring]})
    return recipe


def load_campaign_facts_under_recipe(
    session: Session,
    snapshot: CampaignSnapshot,
    recipe: Recipe,
    labels: RatingLabels,
    make_hash: Callable[[Recipe, DocumentTable, Mapping[str, system_descriptions.SystemDescription]], str],
) -> CampaignFactsUnderRecipe:
    """Load the facts about a campaign besides its ratings.

    labels: of the ratings. make_hash: hashes the rows that the recipe counts, given this recipe, domains and systems.
    """
    counting = add_standing_exclusions(
        recipe, load_exclusions_and_lock(session, snapshot.campaign_id, snapshot.version)
    )
    documents = rating_metadata.load_document_table(session, snapshot.campaign_id, labels)
    words = system_descriptions.load_system_descriptions(session, snapshot.campaign_id)
    return CampaignFactsUnderRecipe(
        snapshot=snapshot,
        recipe=counting,
        documents=documents,
        humans=frozenset(key for key, known in words.items() if known.kind == "human"),
        names={key: known.name for key, known in words.items()},
        data_hash=make_hash(counting, documents, words),
        own=recipe.exclude,
    )


def load_recipe_input(session: Session, snapshot: CampaignSnapshot, options: RecipeAndSeedOptions) -> RecipeInput:
    """Load the rows that a recipe ranks.

    Raises NoSuchRecipe, and Invalid if the recipe's scores cannot be derived from the campaign's judgments.
    """
    recipe = load_requested_recipe(session, snapshot, options)
    marked = load_ratings_and_errors_without_weight(session, snapshot, recipe)
    rows = marked.rows
    facts = load_campaign_facts_under_recipe(
        session,
        snapshot,
        recipe,
        rows.labels,
        lambda counting, documents, words: hash_report_data(
            drop_excluded_ratings(rows, counting.exclude), documents, words
        ),
    )
    return RecipeInput(
        **{field.name: getattr(facts, field.name) for field in fields(facts)},
        rows=rows,
        errors_without_weight=marked.errors_without_weight,
        marked=marked,
    )
