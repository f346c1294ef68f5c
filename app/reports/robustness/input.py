"""The input of rankings after changes: the ratings of a campaign, or their file if the campaign is large."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from app.domain.recipe import Recipe
from app.reports.inputs.ratings_file_totals import (
    RatingsFileWithScoreChanges,
    check_duckdb_if_campaign_large,
    find_ratings_folder_if_large,
    hash_included_ratings_in_file,
    open_or_write_ratings_file,
)
from app.reports.inputs.recipe_input import (
    CampaignFactsUnderRecipe,
    RecipeAndSeedOptions,
    load_campaign_facts_under_recipe,
    load_recipe_input,
    load_requested_recipe,
)
from app.reports.inputs.scores import resolve_score_definition
from app.reports.inputs.snapshot import CampaignSnapshot
from app.stats.ranking.rank_from_sums import can_rank_from_sums
from app.stats.ratings import Ratings
from app.stats.robustness.reranking import ScoreChangeExperiments, ScoreChangeExperimentsFromRatings
from app.stats.robustness.reranking_sums import ScoreChangeExperimentsFromSums
from app.storage.db import Session
from app.storage.ratings_folder import RatingsFolder


@dataclass(frozen=True, slots=True)
class RobustnessInput:
    """A campaign under a recipe, with its ratings or their file."""

    facts: CampaignFactsUnderRecipe
    ratings: Ratings | RatingsFileWithScoreChanges

    def prepare_score_change_experiments(self, humans: frozenset[str]) -> ScoreChangeExperiments:
        """Resolve the recipe on all data. Raises Invalid if it does not fit them."""
        about = self.facts
        if isinstance(self.ratings, RatingsFileWithScoreChanges):
            return ScoreChangeExperimentsFromSums.from_sums(self.ratings, about.recipe, humans, about.documents)
        return ScoreChangeExperimentsFromRatings.from_ratings(self.ratings, about.recipe, humans, about.documents)


def load_robustness_input(
    session: Session, snapshot: CampaignSnapshot, options: RecipeAndSeedOptions
) -> RobustnessInput:
    """Load the rows that a recipe ranks.

    Raises NoSuchRecipe, DuckdbNotInstalled, and Invalid if the recipe's scores cannot be derived from the judgments.
    """
    recipe = load_requested_recipe(session, snapshot, options)
    folder = find_ratings_folder_if_large(session, snapshot) if _is_summed(snapshot, recipe) else None
    if folder is not None:
        return _load_file(session, snapshot, recipe, folder)
    inputs = load_recipe_input(session, snapshot, options)
    return RobustnessInput(inputs, inputs.rows)


def _load_file(session: Session, snapshot: CampaignSnapshot, recipe: Recipe, folder: RatingsFolder) -> RobustnessInput:
    read = resolve_score_definition(snapshot.campaign, recipe.scoring)
    with closing(open_or_write_ratings_file(session, snapshot, read, folder)) as file:
        facts = load_campaign_facts_under_recipe(
            session,
            snapshot,
            recipe,
            file.labels,
            lambda counting, documents, words: hash_included_ratings_in_file(file, counting, documents, words),
        )
        return RobustnessInput(facts, RatingsFileWithScoreChanges(file.folder, file.metadata))


def _is_summed(snapshot: CampaignSnapshot, recipe: Recipe) -> bool:
    return can_rank_from_sums(recipe, documents_known=snapshot.campaign.documents_known)


def check_duckdb_if_campaigns_large(
    session: Session, snapshots: Sequence[CampaignSnapshot], options: RecipeAndSeedOptions
) -> None:
    """Raise DuckdbNotInstalled if a large campaign cannot be summed here."""
    for snapshot in snapshots:
        if _is_summed(snapshot, load_requested_recipe(session, snapshot, options)):
            check_duckdb_if_campaign_large(session, snapshot)
