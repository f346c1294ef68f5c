"""Which rows an analysis uses, and how many it leaves out for which reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from app.domain.errors import Invalid, Place
from app.domain.recipe import ExclusionTarget, Recipe
from app.stats.rater_plausibility import LEAST_PLAUSIBLE, compute_rater_plausibility
from app.stats.ratings import Bools, Codes, RatingRole, Ratings


@dataclass(frozen=True, slots=True)
class DroppedRowCount:
    """Rows left out: reason and number."""

    reason: str
    n: int


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Rows of one analysis.

    ratings: segment ratings without those that the recipe excludes by name. ranked: which of these rows the ranking
    uses (role, acceptance, plausible raters), one boolean per row. dropped: numbers of rows left out, only for reasons
    that occurred.
    """

    ratings: Ratings
    ranked: Bools
    dropped: tuple[DroppedRowCount, ...]


def select_rows_by_recipe(ratings: Ratings, recipe: Recipe) -> RowSelection:
    """Apply the filters of `recipe`: exclusions apply to everything, roles and acceptance only to the ranking.

    Rows that are not ranked are kept, because the moments of a rater may use them (WMT DA: worker mean and standard
    deviation over all rows of the unfiltered file; Barrault et al. 2020, §3).

    Raises `Invalid` if an exclusion names nothing.
    """
    rows = ratings.segment_ratings()
    of_documents, excluded = len(ratings) - len(rows), []
    for exclusion in recipe.exclude:
        kept = rows.where(~_matches(rows, exclusion))
        excluded.append(len(rows) - len(kept))
        rows = kept
    roles = np.isin(rows.role, [RatingRole[name.upper()] for name in recipe.roles])
    accepted = rows.accepted if recipe.accepted_only else np.ones(len(rows), dtype=np.bool_)
    by_role, rejected = int((~roles).sum()), int((roles & ~accepted).sum())
    dropped = make_dropped_row_counts(recipe.exclude, of_documents, excluded, by_role, rejected)
    ranked = roles & accepted
    if recipe.implausible_raters == "drop":
        with np.errstate(invalid="ignore"):
            implausible = compute_rater_plausibility(rows.where(ranked)) < LEAST_PLAUSIBLE
        n = int((ranked & implausible[rows.rater]).sum())
        dropped = (*dropped, DroppedRowCount("implausible rater", n)) if n else dropped
        ranked &= ~implausible[rows.rater]
    return RowSelection(rows, ranked, dropped)


def can_select_rows_independently(recipe: Recipe) -> bool:
    """Return whether the recipe selects each rating by itself, and uses its score as stored."""
    return recipe.implausible_raters == "keep" and recipe.scoring.cap is None


def drop_excluded_ratings(ratings: Ratings, exclusions: Sequence[ExclusionTarget]) -> Ratings:
    """Return the ratings that no exclusion names, as if there were no others; unchanged if that is all of them."""
    keep = np.ones(len(ratings), dtype=np.bool_)
    for exclusion in exclusions:
        keep &= ~mask_excluded_rows(ratings, exclusion)
    return ratings if keep.all() else ratings.where(keep).in_canonical_order()


def mask_excluded_rows(rows: Ratings, exclusion: ExclusionTarget) -> Bools:
    """Return which rows an exclusion names, shape (rows,); none if its key does not occur among them."""
    labels, codes = _names_and_codes(rows, exclusion)
    code = labels.index(exclusion.key) if exclusion.key in labels else -1
    return np.asarray(codes == code, dtype=np.bool_)


def _matches(rows: Ratings, exclusion: ExclusionTarget) -> Bools:
    if exclusion.key not in _names_and_codes(rows, exclusion)[0]:
        refuse_unknown_exclusion(exclusion)
    return mask_excluded_rows(rows, exclusion)


def refuse_unknown_exclusion(exclusion: ExclusionTarget) -> NoReturn:
    """Raise Invalid because what an exclusion names does not exist."""
    what = f"there is no {exclusion.what} {exclusion.key!r} to exclude"
    raise Invalid(what, places=(Place(("query", "exclude"), what),))


def make_dropped_row_counts(
    exclusions: Sequence[ExclusionTarget], of_documents: int, excluded: Sequence[int], by_role: int, rejected: int
) -> tuple[DroppedRowCount, ...]:
    """Count rows left out by reason, only for reasons that occurred.

    excluded: for each exclusion, rows that it names and no earlier one does.
    """
    counts = (
        DroppedRowCount("rating of a whole document", of_documents),
        *(DroppedRowCount(f"excluded {e.what}:{e.key}", n) for e, n in zip(exclusions, excluded, strict=True)),
        DroppedRowCount("role not ranked", by_role),
        DroppedRowCount("task rejected by quality control", rejected),
    )
    return tuple(dropped for dropped in counts if dropped.n)


def _names_and_codes(rows: Ratings, exclusion: ExclusionTarget) -> tuple[tuple[str, ...], Codes]:
    names = {
        "system": (rows.labels.systems, rows.system),
        "rater": (rows.labels.raters, rows.rater),
        "document": (rows.labels.documents, rows.document),
        "task": (rows.labels.tasks, rows.task),
    }
    return names[exclusion.what]
