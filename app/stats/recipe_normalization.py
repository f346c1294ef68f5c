"""The rows behind a rater's moments under a recipe, and the ranked rows normalized by these moments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.domain.errors import Invalid, Place
from app.domain.recipe import Recipe
from app.stats.aggregate import Indices
from app.stats.normalize import NormalizedRatings, compute_moments_per_rater, format_rater_keys, normalize_ratings
from app.stats.ratings import Bools, RatingRole, Ratings
from app.stats.selection import RowSelection

ROLES_BEHIND_MOMENTS = {
    "ratings": (RatingRole.RATING, RatingRole.REPEAT),
    "calibration": (RatingRole.CALIBRATION,),
    "all": tuple(RatingRole),
}


def normalize_ranked_rows(selection: RowSelection, ranked: Ratings, recipe: Recipe) -> NormalizedRatings:
    """Normalize the ranked rows of `selection` as `recipe` says; its normalization is settled.

    Raters without a row behind the moments are named in a warning and left unchanged. Under `z`, which needs a mean and
    a standard deviation, they are treated as constant raters.

    Sources: Barrault et al. 2020, §3 (all rows of the file); Licht et al. 2022, §4, and Knowles & Lo 2024 (calibration
    items).

    Raises
    ------
    Invalid : the moments are to use calibration items, and none was rated; or the scores do not allow the method.
    """
    if recipe.normalize == "none" or recipe.normalize == "auto":
        return normalize_ratings(ranked, "none", moments=compute_moments_per_rater(ranked))
    rows = _rows_behind_moments(selection, recipe)
    if recipe.moments == "calibration" and len(ranked) and not rows.any():
        message = "no calibration item was rated; use moments=ratings"
        raise Invalid(message, places=(Place(("query", "moments"), message),))
    moments = compute_moments_per_rater(selection.ratings, rows)
    result = normalize_ratings(ranked, recipe.normalize, moments=moments, sd0=recipe.sd0)
    if recipe.moments != "calibration":
        return result
    unknown = np.setdiff1d(ranked.rater, np.flatnonzero(moments.n))
    return replace(result, warnings=(*_warn_unknown_moments(ranked, unknown, recipe), *result.warnings))


def _rows_behind_moments(selection: RowSelection, recipe: Recipe) -> Bools:
    rows = np.isin(selection.ratings.role, ROLES_BEHIND_MOMENTS[recipe.moments])
    # WMT uses all rows of the unfiltered file, whether quality control accepted the task or not.
    if recipe.accepted_only and recipe.moments != "all":
        rows &= selection.ratings.accepted
    return rows


def _warn_unknown_moments(ranked: Ratings, raters: Indices, recipe: Recipe) -> tuple[str, ...]:
    if not raters.size:
        return ()
    what = "so treated as constant raters" if recipe.normalize == "z" else "so left as they are"
    do = "let them judge the calibration items"
    return (f"raters without calibration items, {what}; {do}: {format_rater_keys(ranked, raters)}",)
