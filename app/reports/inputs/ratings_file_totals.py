"""Sums over the file of a large campaign's ratings, and the file itself, which is opened or first written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.domain.recipe import ExclusionTarget, Recipe
from app.reports.inputs.campaign import find_campaign_protocol
from app.reports.inputs.data_hash import ScoreSemantics, hash_rating_columns
from app.reports.inputs.scores import ScoreDefinition, make_ratings_metadata, score_unscored_judgments
from app.reports.inputs.snapshot import CampaignSnapshot
from app.stats.normalize import RaterMoments
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import Bools, Codes, Floats, RatingLabels, RatingRole, Ratings
from app.stats.recipe_normalization import ROLES_BEHIND_MOMENTS
from app.stats.robustness.score_changes import Group, ScoreChange, require_scale_end
from app.stats.selection import DroppedRowCount, make_dropped_row_counts, refuse_unknown_exclusion
from app.storage import system_descriptions
from app.storage.db import Session
from app.storage.rating_codes import RatingsMetadata
from app.storage.ratings_files.duckdb_engine import check_duckdb_installed
from app.storage.ratings_files.judgment_numbers import JudgmentRenumbering
from app.storage.ratings_files.reading import (
    UNCHANGED,
    CodesOfColumns,
    RatingFilter,
    RatingsFile,
    RatingsReadOverride,
    ScoreRescaling,
)
from app.storage.ratings_files.writing import write_ratings_file
from app.storage.ratings_folder import RatingsFolder, find_ratings_folder, make_ratings_file_key

FROM_SUMS = "from sums"
"""Marks the key of a report that was made from sums, because its figures may differ in their last digits."""


def find_ratings_folder_if_large(session: Session, snapshot: CampaignSnapshot) -> RatingsFolder | None:
    """Return the folder of the file of ratings if the campaign is summed; None if its ratings are held in memory."""
    folder = find_ratings_folder(session)
    if folder is None or find_campaign_protocol(snapshot.campaign).level == "document":
        return None
    return folder if folder.is_campaign_large(session, snapshot.campaign_id) else None


def list_sums_cache_key_parts(session: Session, snapshot: CampaignSnapshot) -> list[object]:
    """Return the key parts that distinguish a report made from sums from one made in memory."""
    return [] if find_ratings_folder_if_large(session, snapshot) is None else [FROM_SUMS]


def check_duckdb_if_campaign_large(session: Session, snapshot: CampaignSnapshot) -> None:
    """Raise DuckdbNotInstalled if a campaign is large and cannot be summed on this machine."""
    if find_ratings_folder_if_large(session, snapshot) is not None:
        check_duckdb_installed()


def open_or_write_ratings_file(
    session: Session, snapshot: CampaignSnapshot, definition: ScoreDefinition, folder: RatingsFolder
) -> RatingsFile:
    """Open the file of ratings for a score definition; write it first if necessary."""
    check_duckdb_installed()
    profile = score_unscored_judgments(session, snapshot.campaign_id, definition)
    keys = {"campaign_id": snapshot.campaign_id, "profile_id": profile, "version": snapshot.version}
    key = make_ratings_file_key(session, **keys)
    path = folder.find_file_and_mark_used(key)
    if path is None:
        with folder.create_file_folder_atomically(key) as part:
            write_ratings_file(session, part, **keys)
        folder.delete_stale_files()
        path = folder.path / key.folder_name
    return RatingsFile.open(path, make_ratings_metadata(snapshot.campaign, definition))


def hash_included_ratings_in_file(
    file: RatingsFile,
    recipe: Recipe,
    documents: DocumentTable,
    system_descriptions: Mapping[str, system_descriptions.SystemDescription],
) -> str:
    """Return the digest of the ratings that a recipe includes, equal to that of ratings in memory.

    The file is opened a second time.
    """
    metadata = file.metadata
    meaning = ScoreSemantics(metadata.higher_is_better, metadata.documents_known, metadata.standardised, metadata.scale)
    with closing(file.open_for_another_thread()) as again:
        return hash_rating_columns(HashableFileColumns(again, recipe.exclude), meaning, documents, system_descriptions)


def _code(labels: RatingLabels, exclusion: ExclusionTarget) -> int | None:
    names: tuple[str, ...] = getattr(labels, f"{exclusion.what}s")
    return names.index(exclusion.key) if exclusion.key in names else None


@dataclass(frozen=True)
class SummableRatingsFile:
    """Sums over a file of ratings under a recipe: implements `SummableRatings` of `stats.ranking.rank_from_sums`.

    unshown: codes of systems that are not ranked, although their rows count for raters' moments.
    """

    file: RatingsFile
    recipe: Recipe
    unshown: tuple[int, ...] = ()

    @cached_property
    def _counts(self) -> tuple[Codes, Codes, Codes, Floats]:
        """Systems, raters, counts and lowest scores of the ranked ratings."""
        return self.file.count_by_rater_and_system(self._ranked())

    def _excluded(self) -> list[tuple[str, int]]:
        """Return columns and codes of exclusions. Raises Invalid for names that do not exist."""
        codes = [(rule, _code(self.file.labels, rule)) for rule in self.recipe.exclude]
        return [(rule.what, refuse_unknown_exclusion(rule) if code is None else code) for rule, code in codes]

    def _roles(self) -> tuple[int, ...]:
        return tuple(RatingRole[name.upper()].value for name in self.recipe.roles)

    def _ranked(self) -> RatingFilter:
        unshown = [("system", code) for code in self.unshown]
        return RatingFilter((*self._excluded(), *unshown), self._roles(), self.recipe.accepted_only)

    @property
    def ranked_and_reference_rows_filter(self) -> RatingFilter:
        """The filter for the ranked ratings and the rows of references."""
        return replace(self._ranked(), references=True)

    def count_dropped_rows(self) -> tuple[DroppedRowCount, ...]:
        """Count the rows left out, by reason, as `select_rows_by_recipe` does.

        Raises Invalid if an exclusion matches nothing.
        """
        excluded_codes, (_, _, n, _) = self._excluded(), self._counts
        if n.sum() == self.file.n_rows:
            return ()
        of_documents, *excluded, by_role, rejected = self.file.count_excluded_ratings_by_reason(
            excluded_codes, self._roles()
        )
        rejected = rejected if self.recipe.accepted_only else 0
        return make_dropped_row_counts(self.recipe.exclude, of_documents, excluded, by_role, rejected)

    def summarize_ranked_ratings_by_rater_and_system(self) -> tuple[Ratings, Codes]:
        """Return a row with the lowest score for each rater and system of the ranked ratings, and their number."""
        system, rater, n, lowest = self._counts
        nothing = np.zeros(n.size, dtype=np.int32)
        columns = {"system": system, "document": nothing, "segment": nothing, "rater": rater}
        return self.file.make_ratings_from_columns({**columns, "score": lowest}), n

    def share_of_documents_with_same_raters(self) -> float:
        """Return the share for the ranked ratings, as `design_checks` defines it."""
        system, _, _, _ = self._counts
        documents, partial = self.file.count_all_and_partly_rated_documents(self._ranked(), np.unique(system).size)
        return 1 - partial / documents if documents else 0.0

    def compute_rater_moments(self) -> RaterMoments:
        """Compute the moments of every rater over the rows that the recipe uses for them."""
        roles = tuple(role.value for role in ROLES_BEHIND_MOMENTS[self.recipe.moments])
        accepted_only = self.recipe.accepted_only and self.recipe.moments != "all"
        return self._moments(RatingFilter(tuple(self._excluded()), roles, accepted_only))

    def compute_ranked_rater_moments(self) -> RaterMoments:
        """Compute the moments of every rater over the ranked ratings."""
        return self._moments(self._ranked())

    def _moments(self, choice: RatingFilter) -> RaterMoments:
        sums = self.file.sum_ratings_by_rater(choice)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = sums.total / sums.n
            sd = np.sqrt(sums.square / (sums.n - 1))
        sd[sums.n < 2] = np.nan
        n = int(sums.n.sum())
        return RaterMoments(
            sums.n.astype(np.int32),
            mean,
            sd,
            sums.errors.astype(np.int32),
            float(sums.total.sum() / n) if n else 0.0,
            np.empty(0, dtype=np.bool_),
        )

    def count_ranked_judgments(self, without_raters: Codes) -> int:
        """Count the judgments behind the ranked ratings, without those of some raters."""
        if self.file.shared:
            return self.file.count_judgments(self._ranked(), without_raters)
        _, rater, n, _ = self._counts
        return int(n[~np.isin(rater, without_raters)].sum())

    def iterate_blocks_with_error_counts(self) -> Iterator[Ratings]:
        """Yield the same blocks as `iterate_ranking_input_blocks`, with the numbers of marked errors."""
        return self.file.stream_document_blocks(self._ranked(), numbered=False, errors=True)

    def iterate_ranking_input_blocks(self) -> Iterator[Ratings]:
        """Yield the ranked ratings in canonical order, in blocks of whole documents, in the order of document codes."""
        return self.file.stream_document_blocks(self._ranked(), numbered=self.recipe.repeats in {"latest", "first"})


class HashableFileColumns:
    """The columns of a file for the digest of the data, without what some exclusions name."""

    def __init__(self, file: RatingsFile, exclusions: tuple[ExclusionTarget, ...]) -> None:
        self.file, self.labels = file, file.labels
        codes = [(rule.what, _code(file.labels, rule)) for rule in exclusions]
        self.excluded = [(column, code) for column, code in codes if code is not None]

    def flag_occurring_codes(self, column: str, n_codes: int) -> Bools:
        """Return which of the codes of a column occur."""
        return self.file.mask_occurring_codes(self.excluded, column, n_codes)

    def iterate_column(self, column: str) -> Iterator[npt.NDArray[Any]]:
        """Yield all of one column; judgments are renumbered if some are left out."""
        rows = self.file.stream_column_without_excluded(self.excluded, column)
        if column != "judgment" or not self.excluded:
            yield from rows
            return
        numbers = JudgmentRenumbering(self.file.n_rows)
        for judgments in rows:
            yield numbers.renumber(judgments)


@dataclass(frozen=True, slots=True)
class RatingsFileWithScoreChanges:
    """A file of ratings read with changes: implements `ChangeableSummableRatings` of `stats.robustness.reranking_sums`.

    The file is opened for each change, and any process of this machine can open it.
    """

    folder: Path
    metadata: RatingsMetadata

    @contextmanager
    def open_sums_after_change(
        self, recipe: Recipe, change: ScoreChange | None, unshown: frozenset[str], documents: DocumentTable | None
    ) -> Iterator[SummableRatingsFile]:
        """Open the sums under a recipe after a change.

        Raises DuckdbNotInstalled, RatingsFileGone, and Invalid if the scale has no end towards which scores can move.
        """
        labels = RatingsFile.load_labels(self.folder)
        how = UNCHANGED if change is None else _find_file_change(change, labels, self.metadata, documents)
        codes = tuple(code for code, key in enumerate(labels.systems) if key in unshown)
        with closing(RatingsFile.open(self.folder, self.metadata, how)) as file:
            yield SummableRatingsFile(file, recipe, codes)

    def load_row_per_document_and_rater(self, recipe: Recipe) -> Ratings:
        """Return a row for each document, rater and role among ranked ratings and references."""
        with closing(RatingsFile.open(self.folder, self.metadata)) as file:
            document, rater, role = file.list_document_rater_role_combinations(
                SummableRatingsFile(file, recipe).ranked_and_reference_rows_filter
            )
            nothing = np.zeros(document.size, dtype=np.int32)
            columns = {"system": nothing, "document": document, "segment": nothing, "rater": rater}
            return file.make_ratings_from_columns({**columns, "score": np.zeros(document.size), "role": role})


def _find_file_change(
    change: ScoreChange, labels: RatingLabels, metadata: RatingsMetadata, documents: DocumentTable | None
) -> RatingsReadOverride:
    """Return what to read differently so that it equals `apply_score_change` on ratings in memory."""
    systems = tuple(code for code, key in enumerate(labels.systems) if key in change.left_out | change.scaled)
    touched: CodesOfColumns = (
        ("system", systems),
        ("role", (RatingRole.REFERENCE.value,) if change.references else ()),
    )
    if change.factor is not None:
        return RatingsReadOverride(scores=_find_score_rule(change.group, change.factor, touched, metadata))
    what, _, key = change.what.partition(":")
    if what == "domain":
        domains = () if documents is None else documents.domain
        touched = (("document", tuple(code for code, name in enumerate(domains) if (name or "unknown") == key)),)
    elif what in {"rater", "document"}:
        names = labels.raters if what == "rater" else labels.documents
        touched = ((what, (names.index(key),)),)
    return RatingsReadOverride(left_out=touched)


def _find_score_rule(group: Group, d: float, touched: CodesOfColumns, metadata: RatingsMetadata) -> ScoreRescaling:
    """Return the change that `degrade_scores` or `inflate_scores` makes."""
    better = group == "inflated"
    if metadata.higher_is_better:
        return ScoreRescaling(touched, require_scale_end(metadata, lowest=not better), 1.0, d)
    return ScoreRescaling(touched, 0.0, 1.0, d) if better else ScoreRescaling(touched, 0.0, d, 1.0)
