"""Warnings of how often published tests claim differences between equal systems, with measured sizes.

These recipes compute exactly what was published; the warnings tell a reader how far their p-values can be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from app.domain.recipe import Recipe
from app.stats.aggregate import ScoreMatrix
from app.stats.ranking.confounding import MOST_UNEVEN, measure_rater_share_unevenness
from app.stats.ratings import Codes, Ratings
from app.stats.testing.pair_tests import SIGN_TESTS

SEGMENT_SIZES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "rank_sum": (0.05, 0.13),
        "marot": (0.22, 0.36),
        "signed_rank": (0.22, 0.35),
        "stouffer": (0.20, 0.42),
        "wmt26_or": (0.15, 0.27),
        "wmt26_bootstrap": (0.27, 0.40),
    }
)
"""Shares of pairs of equal systems that a test by segments claims at .05, in either direction.

With 30 documents of 10 segments; documents hold a tenth (first number) or a quarter (second) of the variance of a
difference. Means of 400 campaigns with standard errors of at most .01 (tests/stats/ranking/test_recipe_sizes.py repeats
100).
"""

CONFOUNDED = (0.12, 0.8)
"""Smallest and largest share of equal pairs claimed by the named recipes under confounding.

Raters half a residual standard deviation apart judge four of five outputs of their own systems.
"""

SHAPES = (
    "sign-flip tests assume that the scores of two systems are exchangeable: if means are equal but shapes differ, as "
    "with rare grave errors, they claim a difference more often than alpha (a fifth of such pairs in simulation); "
    "compare the distributions of close systems"
)
"""The hypothesis in words. Studentizing does not help: with equally long documents it changes no p-value."""

DRAWN_SHAPES = (
    "a bootstrap assumes that these documents represent all documents: with rare grave errors it claims a difference "
    "between equal means more often than alpha (a seventh of such pairs in simulation); compare the distributions of "
    "close systems"
)


def make_distribution_shape_caveats(recipe: Recipe) -> tuple[str, ...]:
    """Return what a test assumes about the shapes of two systems' scores."""
    if recipe.test in SIGN_TESTS:
        return (SHAPES,)
    return (DRAWN_SHAPES,) if recipe.test == "bootstrap" else ()


def make_segment_test_caveats(matrix: ScoreMatrix, recipe: Recipe) -> list[str]:
    """Return the size of a test that takes the segments of one document as independent."""
    sizes = SEGMENT_SIZES.get(recipe.test)
    if recipe.unit != "segment" or sizes is None or matrix.n_documents >= matrix.segments.size:
        return []
    what = f"tests by segment claim {sizes[0]:.0%} to {sizes[1]:.0%} of pairs of equal systems"
    why = "because segments of a document are alike (simulated with 30 documents of 10 segments)"
    return [f"{what} {why}: test whole documents by permutation"]


def make_confounding_caveats(ratings: Ratings, matrix: ScoreMatrix, ratings_per_row: Codes | None = None) -> list[str]:
    """Warn of raters who judged more of one system than of another: their severity counts as a difference of systems.

    ratings_per_row: how many ratings each row stands for; None for one.
    """
    if len(matrix.systems) < 2 or not len(ratings):
        return []
    uneven = measure_rater_share_unevenness(ratings, matrix.systems, ratings_per_row)
    n = int(np.count_nonzero(np.triu(uneven, 1) > MOST_UNEVEN))
    if not n:
        return []
    pairs = len(matrix.systems) * (len(matrix.systems) - 1) // 2
    what = (
        f"raters are confounded with systems: in {n} of {pairs} pairs, raters did not judge both systems equally often"
    )
    why = f"a severe rater then counts against a system, and tests claim {CONFOUNDED[0]:.0%} to {CONFOUNDED[1]:.0%} of"
    do = "give all systems of a document to the same raters, or use the mixed model"
    return [f"{what}; {why} equal pairs in simulation: {do}"]
