"""What a reader must know before trusting a ranking: limits of the design, in words."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from math import floor as round_down

import numpy as np

from app.domain.recipe import Recipe
from app.stats import design_checks
from app.stats.aggregate import Panel
from app.stats.ratings import Ratings
from app.stats.significance import FEWEST_DOCUMENTS, PairTests, Shared, draws

_MOST_NAMES = 8


@dataclass(frozen=True, slots=True)
class Floor:
    """The smallest p a design can reach, adjusted and not; documents_needed where that is above α."""

    smallest: float | None
    adjusted: float | None
    documents_needed: int | None


def hypotheses(recipe: Recipe, n_systems: int) -> int:
    """Size of the family that p-values are adjusted for: all pairs of the systems shown, 1 without adjustment."""
    return max(1, n_systems * (n_systems - 1) // 2) if recipe.adjust != "none" else 1


def floor(tests: PairTests, recipe: Recipe, n_systems: int) -> Floor:
    """m·2^(1−D) or m/(B+1) and what would help: D ≥ 1 + log₂(m/α) documents.

    One-sided p-values enter a family doubled. Under Benjamini–Hochberg the best case is that all pairs reach the floor.
    """
    if tests.smallest is None:
        return Floor(None, None, None)
    one_sided = recipe.alternative == "greater"
    family = hypotheses(recipe, n_systems) if recipe.adjust == "holm" else 1
    sides = 2 if one_sided and recipe.adjust != "none" else 1
    adjusted = min(1.0, tests.smallest * sides * family)
    reached = adjusted <= recipe.alpha if recipe.inclusive else adjusted < recipe.alpha
    by_document = recipe.test == "permutation" and recipe.unit == "document"
    if reached or not by_document or not tests.enumerated:
        return Floor(tests.smallest, adjusted, None)
    # 2^−D for one side, 2^(1−D) for two or for one side that enters doubled
    exponent = log2(family / recipe.alpha) + (0 if one_sided and sides == 1 else 1)
    needed = ceil(exponent) if recipe.inclusive else round_down(exponent) + 1
    return Floor(tests.smallest, adjusted, max(needed, FEWEST_DOCUMENTS))


def find(ratings: Ratings, panel: Panel, shared: Shared, limit: Floor, recipe: Recipe) -> tuple[str, ...]:
    """Warnings about the data and the test, in a fixed order."""
    if not len(ratings):
        return ("nothing is rated yet that this recipe counts",)
    found = [*_systems(ratings, panel), *_raters(ratings)]
    if len(panel.systems) > 1:
        found += [*_documents(ratings, panel, limit, recipe), *_overlap(shared, recipe)]
    return tuple(found)


def _systems(ratings: Ratings, panel: Panel) -> list[str]:
    rated = np.unique(ratings.system)
    lost = [ratings.labels.systems[i] for i in rated if i not in set(panel.systems.tolist())]
    found = [f"systems without a score after normalization, not ranked: {_listed(lost)}"] if lost else []
    if len(panel.systems) == 1:
        found.append("only one system is rated: nothing to compare")
    return found


def _raters(ratings: Ratings) -> list[str]:
    groups = design_checks.connected_systems(ratings)
    if len(groups) < 2:
        return []
    named = " | ".join(_listed(group) for group in groups)
    return [f"disconnected raters: no rater links these groups of systems, so they cannot be compared: {named}"]


def _documents(ratings: Ratings, panel: Panel, limit: Floor, recipe: Recipe) -> list[str]:
    if recipe.test == "none":
        return []
    if not ratings.documents_known:
        unknown = "documents are unknown: no intervals, and segments are tested as independent"
        return [unknown]
    found = []
    if recipe.unit == "segment" and panel.n_documents < panel.segments.size:
        found.append("segments of one document are tested as independent")
    lowest = 2.0 ** (1 - panel.n_documents)
    if panel.n_documents < FEWEST_DOCUMENTS or lowest > recipe.alpha:
        found.append(f"{_plural(panel.n_documents, 'document')}: a document-level test cannot go below {lowest:g}")
    if limit.documents_needed is not None:
        found.append(
            f"no pair can be significant: the smallest p this design can reach is {limit.adjusted:g} after adjustment;"
            f" {limit.documents_needed} documents would be needed"
        )
    elif limit.adjusted is not None and limit.smallest is not None and not _reached(limit.adjusted, recipe):
        found.append(f"no pair can be significant with {draws(recipe, shared_pairs(panel))} permutations")
    return found


def _reached(p_value: float, recipe: Recipe) -> bool:
    return p_value <= recipe.alpha if recipe.inclusive else p_value < recipe.alpha


def shared_pairs(panel: Panel) -> int:
    """Number of pairs of systems."""
    return len(panel.systems) * (len(panel.systems) - 1) // 2


def _overlap(shared: Shared, recipe: Recipe) -> list[str]:
    n_pairs, paired = shared.segments.size, recipe.test in {"permutation", "marot"} or recipe.matched_only
    if not shared.segments.any():
        return ["unpaired segments: no two systems share a segment, so systems are compared on different texts"]
    found = []
    few = int((shared.share < 0.5).sum())
    if few:
        found.append(f"unpaired segments: {few} of {n_pairs} pairs share less than half of their segments")
    short = int((shared.documents < FEWEST_DOCUMENTS).sum())
    if paired and recipe.unit == "document" and short:
        found.append(f"{short} of {n_pairs} pairs have fewer than {FEWEST_DOCUMENTS} common documents: not testable")
    return found


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {len(names) - _MOST_NAMES} more"


def _plural(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"
