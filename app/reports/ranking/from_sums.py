"""Rankings of campaigns that are too large for memory, computed from sums over a file of their ratings."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

from app.domain.recipe import Recipe
from app.reports.inputs.exclusions_and_lock import (
    ExclusionsAndLock,
    add_standing_exclusions,
    load_exclusions_and_lock,
    present_ranking_under_requested_recipe,
)
from app.reports.inputs.ratings_file_totals import (
    SummableRatingsFile,
    find_ratings_folder_if_large,
    hash_included_ratings_in_file,
    open_or_write_ratings_file,
)
from app.reports.inputs.scores import resolve_score_definition
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.ranking.input import (
    add_human_translation_pairs_note,
    encode_ranking,
    load_system_and_document_descriptions,
    make_ranking_key,
)
from app.stats.ranking.rank_from_sums import can_rank_from_sums, rank_from_sums
from app.stats.rating_metadata import DocumentTable
from app.storage import system_descriptions
from app.storage.db import Session
from app.storage.ratings_files.reading import RatingsFile
from app.storage.ratings_folder import RatingsFolder
from app.storage.reports import ReportKey

WHY = (
    "made from sums by document and rater, because the campaign is large: figures are those of all ratings in memory "
    "to ten digits"
)
ERRORS_NOT_LOOKED_AT = "errors that the weights do not know were not looked for"


def find_ratings_folder_for_sums(session: Session, snapshot: CampaignSnapshot, recipe: Recipe) -> RatingsFolder | None:
    """Return the folder of the file of ratings for a ranking from sums; None if ratings are held in memory."""
    if not can_rank_from_sums(recipe, documents_known=snapshot.campaign.documents_known):
        return None
    return find_ratings_folder_if_large(session, snapshot)


@dataclass(frozen=True, slots=True)
class RankingInputFromSums:
    """Everything from which a ranking from sums is computed, like `RankingInput`; computing it closes the file.

    counts_errors: scores are weights of marked errors.
    """

    about: CampaignSnapshot
    recipe: Recipe
    file: RatingsFile
    words: Mapping[str, system_descriptions.SystemDescription]
    documents: DocumentTable
    names: str
    exclusions_and_lock: ExclusionsAndLock
    counts_errors: bool

    @property
    def report_key(self) -> ReportKey:
        """The key of the ranking."""
        return make_ranking_key(self.about, self.recipe, self.names, from_sums=True)

    def compute_ranking_json(self) -> bytes:
        """Compute the ranking as canonical JSON and close the file. Raises Invalid if the recipe does not fit."""
        counting = add_standing_exclusions(self.recipe, self.exclusions_and_lock)
        with closing(self.file), ThreadPoolExecutor(1, thread_name_prefix="data hash") as beside:
            # The digest reads one column after another, a quarter of the work, and does not depend on the rest.
            data_hash = beside.submit(hash_included_ratings_in_file, self.file, counting, self.documents, self.words)
            notes = (WHY, *((ERRORS_NOT_LOOKED_AT,) if self.counts_errors else ()))
            ranking = rank_from_sums(SummableRatingsFile(self.file, counting), counting, self.documents, notes)
        ranking = present_ranking_under_requested_recipe(
            add_human_translation_pairs_note(ranking, self.words), self.recipe, self.exclusions_and_lock
        )
        return encode_ranking(ranking, self.about, self.exclusions_and_lock, self.words, data_hash.result())


def open_ranking_input_from_sums(
    session: Session, snapshot: CampaignSnapshot, recipe: Recipe, folder: RatingsFolder
) -> RankingInputFromSums:
    """Open the file of ratings, and load what else a ranking needs.

    Raises DuckdbNotInstalled, and Invalid if the recipe's scores cannot be derived from the judgments.
    """
    read = resolve_score_definition(snapshot.campaign, recipe.scoring)
    file = open_or_write_ratings_file(session, snapshot, read, folder)
    words, documents, names = load_system_and_document_descriptions(session, snapshot.campaign_id, file.labels)
    exclusions_and_lock = load_exclusions_and_lock(session, snapshot.campaign_id, snapshot.version)
    return RankingInputFromSums(
        snapshot, recipe, file, words, documents, names, exclusions_and_lock, counts_errors=read.measure.uses_profile
    )
