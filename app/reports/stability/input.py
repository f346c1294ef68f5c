"""The input of stability curves: the multiply-rated part of a campaign, or sums of a large one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from app.domain.recipe import Recipe
from app.reports.inputs import named_recipes
from app.reports.inputs.data_hash import hash_report_data
from app.reports.inputs.ratings_file_totals import (
    SummableRatingsFile,
    check_duckdb_if_campaign_large,
    find_ratings_folder_if_large,
    hash_included_ratings_in_file,
    open_or_write_ratings_file,
)
from app.reports.inputs.recipe_ratings import load_recipe_ratings
from app.reports.inputs.scores import resolve_score_definition
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.stability.options import StabilityIn
from app.stats.normalize import RaterMoments, compute_moments_per_rater
from app.stats.ratings import Ratings
from app.stats.selection import can_select_rows_independently, drop_excluded_ratings, select_rows_by_recipe
from app.stats.stability.block_sums import sum_ratings_over_blocks
from app.stats.stability.multiply_rated_documents import MultiplyRatedDocuments, extract_multiply_rated_documents
from app.stats.stability.studies import RaterDocumentSums
from app.storage import rating_metadata, system_descriptions
from app.storage.db import Session
from app.storage.ratings_folder import RatingsFolder

FROM_SUMS_NOTE = "made from sums by document and rater, because the campaign is large"


@dataclass(frozen=True, slots=True)
class StudySimulationInput:
    """The part from which studies are drawn, and what determines which normalizations its scores allow.

    ratings: those that count; in a large campaign, one for each rater and system, with the lowest score. moments: of
    their raters. data_hash: of the rows that the recipe includes. notes: for the report's warnings.
    """

    data: MultiplyRatedDocuments | RaterDocumentSums
    ratings: Ratings
    moments: RaterMoments
    data_hash: str
    notes: tuple[str, ...] = ()


def load_study_simulation_input(
    session: Session, snapshot: CampaignSnapshot, recipe: Recipe, recipe_with_exclusions: Recipe
) -> StudySimulationInput:
    """Load the data from which studies are drawn.

    recipe_with_exclusions: the recipe with the standing exclusions that it applies.
    Raises NoMultiplyRatedDocuments, DuckdbNotInstalled, and Invalid if the recipe's scores cannot be derived from
    judgments.
    """
    folder = find_ratings_folder_if_large(session, snapshot) if can_select_rows_independently(recipe) else None
    if folder is not None:
        return _sum_file(session, snapshot, recipe, recipe_with_exclusions, folder)
    rows = load_recipe_ratings(session, snapshot, recipe)
    documents = rating_metadata.load_document_table(session, snapshot.campaign_id, rows.labels)
    words = system_descriptions.load_system_descriptions(session, snapshot.campaign_id)
    digest = hash_report_data(drop_excluded_ratings(rows, recipe_with_exclusions.exclude), documents, words)
    selection = select_rows_by_recipe(rows, recipe_with_exclusions)
    used = selection.ratings.where(selection.ranked)
    return StudySimulationInput(extract_multiply_rated_documents(used), used, compute_moments_per_rater(used), digest)


def _sum_file(
    session: Session, snapshot: CampaignSnapshot, recipe: Recipe, recipe_with_exclusions: Recipe, folder: RatingsFolder
) -> StudySimulationInput:
    read = resolve_score_definition(snapshot.campaign, recipe.scoring)
    with closing(open_or_write_ratings_file(session, snapshot, read, folder)) as file:
        documents = rating_metadata.load_document_table(session, snapshot.campaign_id, file.labels)
        words = system_descriptions.load_system_descriptions(session, snapshot.campaign_id)
        source = SummableRatingsFile(file, recipe_with_exclusions)
        ratings, _ = source.summarize_ranked_ratings_by_rater_and_system()
        moments = source.compute_ranked_rater_moments()
        sums = sum_ratings_over_blocks(
            source.iterate_blocks_with_error_counts(),
            np.unique(ratings.system),
            centre=moments.overall,
            labels=file.labels,
            higher_is_better=ratings.higher_is_better,
        )
        digest = hash_included_ratings_in_file(file, recipe_with_exclusions, documents, words)
    return StudySimulationInput(sums, ratings, moments, digest, (FROM_SUMS_NOTE,))


def check_duckdb_for_study_simulation(
    session: Session, snapshots: Sequence[CampaignSnapshot], options: StabilityIn
) -> None:
    """Raise DuckdbNotInstalled if a large campaign cannot be summed here."""
    recipe = named_recipes.resolve_recipe(session, snapshots[0].campaign.key, options.recipe, place=("body", "recipe"))
    if can_select_rows_independently(recipe):
        check_duckdb_if_campaign_large(session, snapshots[0])
