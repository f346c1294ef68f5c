"""Campaigns of equal systems, and how often a recipe claims a difference in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.domain.recipe import NAMED, Recipe
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import Ranking
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import Ratings

LETTERS = "ABCDEF"


def campaign(
    rng: np.random.Generator,
    *,
    documents: int = 30,
    segments: int = 10,
    within: float = 0.1,
    raters: int = 6,
    severity: float = 0.0,
    confounded: bool = False,
    systems: int = 5,
) -> Ratings:
    """Equal systems on the same documents, one rater a document.

    within: share of a difference's variance that a document has as a whole. severity: standard deviation of raters, of
    which the residual has 1. confounded: each rater judges most documents (four of five) of one
    half of the systems, and the others' rest; else all systems of a document have the same rater.
    """
    shape = (documents, segments, systems)
    level = rng.normal(size=(documents, 1, 1)) + rng.normal(size=(documents, segments, 1))
    of_document = np.sqrt(within) * rng.normal(size=(documents, 1, systems))
    own = severity * rng.normal(size=raters)
    half = raters // 2
    rater = np.repeat((np.arange(documents) % raters)[:, None], systems, axis=1)
    if confounded:
        turned = rng.random((documents, systems)) < 0.2
        upper = (np.arange(systems) >= systems // 2) ^ turned
        rater = rater % half + half * upper
    score = level + of_document + np.sqrt(1 - within) * rng.normal(size=shape) + own[rater][:, None, :]
    d, p, s = (axis.ravel() for axis in np.indices(shape))
    return Ratings.from_columns(
        system=[LETTERS[i] for i in s],
        document=[f"d{i:03}" for i in d],
        position=(p + 1).tolist(),
        rater=[f"r{i}" for i in rater[d, s]],
        score=np.round(score.ravel() * 10 + 60, 6).tolist(),
        higher_is_better=True,
    )


def ranked(rows: Ratings, recipe: Recipe, domains: int = 3) -> Ranking:
    """By the recipe; documents are of `domains` domains in turn."""
    rows = rows.in_canonical_order()
    names = tuple(f"domain {i % domains}" for i in range(len(rows.labels.documents)))
    ones = np.ones(len(names), dtype=np.int32)
    plain = replace(recipe, scoring=NAMED["recommended"].scoring, influence=False, rank_sets=False)
    return rank_systems(rows, plain, DocumentTable(names, ("test",) * len(names), ones, ones))


def claimed(name: str, *, campaigns: int, seed: int, **world: float | bool | int) -> float:
    """Share of pairs of equal systems that the named recipe tells apart, in either direction."""
    rng = np.random.default_rng(seed)
    found = [
        pair.significant or pair.significant_reverse
        for _ in range(campaigns)
        for pair in ranked(campaign(rng, **world), NAMED[name]).pairs  # type: ignore[arg-type]
    ]
    return float(np.mean(found))
