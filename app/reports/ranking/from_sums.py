"""Rankings of campaigns that are too large to be held in memory: from sums over a file of their ratings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from app.domain.recipe import ExclusionRule, Recipe
from app.reports.ranking.input import load_names, make_ranking_key, note_on_humans, write_ranking
from app.reports.source.campaign import campaign_protocol
from app.reports.source.data_hash import RatingsMeaning, hash_columns
from app.reports.source.registration import (
    Registration,
    add_standing_exclusions,
    load_registration,
    restore_requested_recipe,
)
from app.reports.source.scores import derive_scores, make_ratings_frame, resolve_score_reading
from app.reports.source.snapshot import Snapshot
from app.stats.normalize import RaterMoments
from app.stats.ranking.rank_totals import needs_only_sums, rank_from_sums
from app.stats.ratings import Bools, Codes, RatingLabels, RatingRole, Ratings
from app.stats.recipe_normalization import ROLES_BEHIND_MOMENTS
from app.stats.selection import DroppedRows, list_dropped_rows, refuse_exclusion
from app.stats.side_tables import DocumentTable
from app.storage import texts
from app.storage.db import Session
from app.storage.ratings_files.engine import check_engine_installed
from app.storage.ratings_files.judgment_numbers import JudgmentNumbers
from app.storage.ratings_files.reading import RatingsFile, RowChoice
from app.storage.ratings_files.writing import write_ratings_file
from app.storage.ratings_folder import RatingsFolder, find_ratings_folder, make_ratings_key
from app.storage.reports import ReportKey

WHY = (
    "made from sums by document and rater, because the campaign is large: figures are those of all ratings in memory "
    "to ten digits"
)
ERRORS_NOT_LOOKED_AT = "errors that the weights do not know were not looked for"


def find_folder_for_sums(session: Session, about: Snapshot, recipe: Recipe) -> RatingsFolder | None:
    """Where the file of ratings lies from which a ranking is made; None where ratings are held in memory."""
    folder = find_ratings_folder(session)
    if folder is None or campaign_protocol(about.campaign).level == "document":
        return None
    if not needs_only_sums(recipe, documents_known=about.campaign.documents_known):
        return None
    return folder if folder.is_large(session, about.campaign_id) else None


@dataclass(frozen=True, slots=True)
class SummedRankingInput:
    """All that a ranking from sums is computed from, as `RankingInput` has it; the file is open until `close`.

    counts_errors: scores are weights of marked errors.
    """

    about: Snapshot
    recipe: Recipe
    file: RatingsFile
    words: Mapping[str, texts.SystemDescription]
    documents: DocumentTable
    names: str
    registration: Registration
    counts_errors: bool

    @property
    def key(self) -> ReportKey:
        """The key of the ranking."""
        return make_ranking_key(self.about, self.recipe, self.names, from_sums=True)

    def make_body(self) -> bytes:
        """The ranking as canonical JSON. Raises Invalid where the recipe does not fit the data."""
        counting = add_standing_exclusions(self.recipe, self.registration)
        with closing(self.file), ThreadPoolExecutor(1, thread_name_prefix="data hash") as beside:
            # The digest reads column after column, which is a quarter of the work and needs nothing of the rest.
            data_hash = beside.submit(self._hash_data, counting)
            notes = (WHY, *((ERRORS_NOT_LOOKED_AT,) if self.counts_errors else ()))
            ranking = rank_from_sums(FileSums(self.file, counting), counting, self.documents, notes)
        ranking = restore_requested_recipe(note_on_humans(ranking, self.words), self.recipe, self.registration)
        return write_ranking(ranking, self.about, self.registration, self.words, data_hash.result())

    def _hash_data(self, counting: Recipe) -> str:
        frame = self.file.frame
        meaning = RatingsMeaning(frame.higher_is_better, frame.documents_known, frame.standardised, frame.scale)
        with closing(self.file.again()) as file:
            return hash_columns(FileColumns(file, counting.exclude), meaning, self.documents, self.words)


def load_summed_input(session: Session, about: Snapshot, recipe: Recipe, folder: RatingsFolder) -> SummedRankingInput:
    """Find the file of ratings, or write it, and read what a ranking needs beside it.

    Raises LargeExtraNeeded, and Invalid where the recipe's scores are not in the judgments.
    """
    check_engine_installed()
    read = resolve_score_reading(about.campaign, recipe.scoring)
    profile = derive_scores(session, about.campaign_id, read)
    keys = {"campaign_id": about.campaign_id, "profile_id": profile, "version": about.version}
    key = make_ratings_key(session, **keys)
    path = folder.find(key)
    if path is None:
        with folder.new_file(key) as part:
            write_ratings_file(session, part, **keys)
        folder.sweep()
        path = folder.path / key.name
    file = RatingsFile.open(path, make_ratings_frame(about.campaign, read))
    words, documents, names = load_names(session, about.campaign_id, file.labels)
    registration = load_registration(session, about.campaign_id, about.version)
    return SummedRankingInput(
        about, recipe, file, words, documents, names, registration, counts_errors=read.measure.uses_profile
    )


def _code(labels: RatingLabels, exclusion: ExclusionRule) -> int | None:
    names: tuple[str, ...] = getattr(labels, f"{exclusion.what}s")
    return names.index(exclusion.key) if exclusion.key in names else None


@dataclass(frozen=True)
class FileSums:
    """Sums over a file of ratings under a recipe: `RatingSums` of `stats.ranking.rank_totals`."""

    file: RatingsFile
    recipe: Recipe

    @cached_property
    def _counts(self) -> tuple[Codes, Codes, Codes]:
        """Systems, raters and counts of the ranked ratings."""
        return self.file.count_by_rater(self._ranked())

    def _excluded(self) -> list[tuple[str, int]]:
        """Columns and codes. Raises Invalid for what is not there."""
        codes = [(rule, _code(self.file.labels, rule)) for rule in self.recipe.exclude]
        return [(rule.what, refuse_exclusion(rule) if code is None else code) for rule, code in codes]

    def _roles(self) -> tuple[int, ...]:
        return tuple(RatingRole[name.upper()].value for name in self.recipe.roles)

    def _ranked(self) -> RowChoice:
        return RowChoice(tuple(self._excluded()), self._roles(), self.recipe.accepted_only)

    def count_dropped(self) -> tuple[DroppedRows, ...]:
        """Rows left out by reason, as `select_rows` counts them. Raises Invalid where an exclusion names nothing."""
        excluded_codes, (_, _, n) = self._excluded(), self._counts
        if n.sum() == self.file.n_rows:
            return ()
        of_documents, *excluded, by_role, rejected = self.file.count_reasons(excluded_codes, self._roles())
        rejected = rejected if self.recipe.accepted_only else 0
        return list_dropped_rows(self.recipe.exclude, of_documents, excluded, by_role, rejected)

    def count_ranked(self) -> tuple[Ratings, Codes]:
        """A row for each rater and system of the ranked ratings, and how many ratings it stands for."""
        system, rater, n = self._counts
        nothing = np.zeros(n.size, dtype=np.int32)
        columns = {"system": system, "document": nothing, "segment": nothing, "rater": rater}
        return self.file.make_ratings({**columns, "score": np.zeros(n.size)}), n

    def share_with_same_raters(self) -> float:
        """As `design_checks` has it, of the ranked ratings."""
        system, _, _ = self._counts
        documents, partial = self.file.count_documents(self._ranked(), np.unique(system).size)
        return 1 - partial / documents if documents else 0.0

    def sum_by_rater(self) -> RaterMoments:
        """Moments of every rater over the rows that the recipe takes them from."""
        roles = tuple(role.value for role in ROLES_BEHIND_MOMENTS[self.recipe.moments])
        accepted_only = self.recipe.accepted_only and self.recipe.moments != "all"
        sums = self.file.sum_by_rater(RowChoice(tuple(self._excluded()), roles, accepted_only))
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

    def count_judgments(self, without_raters: Codes) -> int:
        """Judgments behind the ranked ratings, without those of some raters."""
        if self.file.shared:
            return self.file.count_judgments(self._ranked(), without_raters)
        _, rater, n = self._counts
        return int(n[~np.isin(rater, without_raters)].sum())

    def blocks(self) -> Iterator[Ratings]:
        """The ranked ratings in canonical order, some whole documents at a time, in the order of their codes."""
        return self.file.blocks(self._ranked(), numbered=self.recipe.repeats in {"latest", "first"})


class FileColumns:
    """The columns of a file without what some exclusions name, for the digest of the data."""

    def __init__(self, file: RatingsFile, exclusions: tuple[ExclusionRule, ...]) -> None:
        self.file, self.labels = file, file.labels
        codes = [(rule.what, _code(file.labels, rule)) for rule in exclusions]
        self.excluded = [(column, code) for column, code in codes if code is not None]

    def occurring(self, name: str, n: int) -> Bools:
        """Which of the n codes of a column occur."""
        return self.file.occurring(self.excluded, name, n)

    def column(self, name: str) -> Iterator[npt.NDArray[Any]]:
        """All of one column; judgments are numbered anew where some are left out."""
        rows = self.file.rows_without(self.excluded, name)
        if name != "judgment" or not self.excluded:
            yield from rows
            return
        numbers = JudgmentNumbers(self.file.n_rows)
        for judgments in rows:
            yield numbers.number(judgments)
