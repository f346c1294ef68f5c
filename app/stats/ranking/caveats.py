"""Warnings about the limits of a design that a reader must know before trusting a ranking.

Some texts are also quoted in `benchmarks/calibration.json`, which `docs/calibration.md` is made from, and matched by
`OF_DOCUMENTS` in `app/ui/manager/ranking.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, log2
from math import floor as round_down
from types import MappingProxyType

import numpy as np

from app.domain.recipe import Recipe
from app.stats.aggregate import ScoreMatrix
from app.stats.inference.by_document import compute_effective_document_count, compute_largest_document_share
from app.stats.ranking import assumption_caveats, design_checks, rank_sets
from app.stats.ranking.rank_sets import RankSets
from app.stats.ratings import Codes, Ratings
from app.stats.testing import resampling
from app.stats.testing.common_segments import CommonSegmentsByPair
from app.stats.testing.pair_tests import (
    FEWEST_DOCUMENTS,
    PAIRED_TESTS,
    PairTestResults,
    choose_number_of_resamples,
    count_resamples_needed_beyond_cap,
)

_MOST_NAMES = 8
NO_RATINGS = (
    "there are no ratings yet that this recipe counts; collect or import judgments, or use a recipe that counts others"
)
FEW_EFFECTIVE = 15
"""A ranking with fewer effective documents than this has a warning."""
FEW_RATERS = 5
"""A ranking with fewer raters than this has a warning that its claims hold for these raters only."""
LARGE_SHARE = 0.2
"""A ranking has a warning if one document holds more than this share of a system's segments."""
_UNDIRECTED = (
    "Stouffer's combination of two-sided p-values ignores direction, so opposite effects in two domains can add up to "
    "a claim: check the signed p-value"
)
_TWO_CHANCES = (
    "the smaller p of two tests counts, so there are two chances to reject and more false claims than alpha: use one "
    "test, such as permutation"
)
_SAME_TEXTS = "have all systems judged on the same texts"
_NO_RANK_SETS = "documents are unknown, so there are no simultaneous rank sets; import the documents if there are any"
_LEGACY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "stouffer": (_UNDIRECTED,),
        "wmt26_or": (_TWO_CHANCES,),
        "wmt26_bootstrap": (_TWO_CHANCES,),
    }
)


ENOUGH_TO_DRAW = 30
"""With fewer documents than this, bootstrap tests make visibly more false claims than their level allows."""

_DRAWN: Mapping[int, float] = MappingProxyType({6: 0.15, 8: 0.12, 12: 0.08, 20: 0.08})
"""Share of null pairs that a bootstrap claims at .05, by number of documents.

From 2,000 simulations each; documents are equally long.
"""


@dataclass(frozen=True, slots=True)
class SmallestPAndDocumentsNeeded:
    """The smallest p a design can reach, before and after adjustment.

    documents_needed: how many documents would make a significant result possible; None if the design already allows
    one,
    or if more documents would not help.
    """

    smallest: float | None
    adjusted: float | None
    documents_needed: int | None


def count_hypotheses(recipe: Recipe, n_systems: int) -> int:
    """Number of p-values adjusted together: all pairs of the systems shown, 1 without adjustment."""
    return max(1, n_systems * (n_systems - 1) // 2) if recipe.adjust != "none" else 1


def compute_smallest_p_and_documents(
    tests: PairTestResults, recipe: Recipe, n_systems: int
) -> SmallestPAndDocumentsNeeded:
    """Return m·2^(1−D) or m/(B+1), and the number of documents that would help: D ≥ 1 + log₂(m/α).

    One-sided p-values are doubled before adjustment. Under Benjamini–Hochberg the best case is that all pairs reach the
    smallest p.
    """
    if tests.smallest is None:
        return SmallestPAndDocumentsNeeded(None, None, None)
    one_sided = recipe.alternative == "greater"
    family = count_hypotheses(recipe, n_systems) if recipe.adjust == "holm" else 1
    sides = 2 if one_sided and recipe.adjust != "none" else 1
    adjusted = min(1.0, tests.smallest * sides * family)
    by_document = recipe.test in {"permutation", "bootstrap"} and recipe.unit == "document"
    if _is_significant(adjusted, recipe) or not by_document or not tests.enumerated:
        return SmallestPAndDocumentsNeeded(tests.smallest, adjusted, None)
    # 2^−D for one side, 2^(1−D) for two sides or for one side that is doubled
    exponent = log2(family / recipe.alpha) + (0 if one_sided and sides == 1 else 1)
    needed = ceil(exponent) if recipe.inclusive else round_down(exponent) + 1
    return SmallestPAndDocumentsNeeded(tests.smallest, adjusted, max(needed, FEWEST_DOCUMENTS))


def make_data_caveats(
    ratings: Ratings,
    matrix: ScoreMatrix,
    shared: CommonSegmentsByPair,
    tests: PairTestResults,
    limit: SmallestPAndDocumentsNeeded,
    recipe: Recipe,
    ratings_per_row: Codes | None = None,
) -> tuple[str, ...]:
    """Return warnings on the data and the test, in a fixed order. ratings_per_row: see `make_confounding_caveats`."""
    if not len(ratings):
        return (NO_RATINGS,)
    confounded = assumption_caveats.make_confounding_caveats(ratings, matrix, ratings_per_row)
    warnings = [*_systems(ratings, matrix), *_raters(ratings), *confounded]
    if not ratings.documents_known:
        warnings.append(
            "documents are unknown, so there are no intervals and segments are tested as independent; import the "
            "documents if there are any"
        )
    elif recipe.interval == "bca" and matrix.n_documents < resampling.FEWEST_FOR_BCA:
        few = f"{_plural(matrix.n_documents, 'document')}: too few for BCa, so intervals are by t"
        warnings.append(f"{few}; judge at least {resampling.FEWEST_FOR_BCA} documents")
    if ratings.documents_known:
        warnings += _warn_uneven_documents(matrix)
    if len(matrix.systems) > 1:
        warnings += [*_warn_few_raters(ratings), *_warn_few_domains(matrix)]
    if len(matrix.systems) > 1 and recipe.test != "none":
        if ratings.documents_known:
            warnings += [*_documents(matrix, recipe), *assumption_caveats.make_segment_test_caveats(matrix, recipe)]
        warnings += [*_LEGACY.get(recipe.test, ()), *_warn_few_resampled(shared, tests, recipe)]
        warnings += [*_too_few_draws(tests, shared.segments.size, recipe), *_power(limit, shared.segments.size, recipe)]
        warnings += [*_overlap(shared), *_untestable_pairs(tests, shared, recipe)]
    return tuple(warnings)


def make_document_claim_caveats(ratings: Ratings, matrix: ScoreMatrix) -> tuple[str, ...]:
    """Return warnings if the data violate what every claim by document assumes, whatever the test."""
    warnings = [*_raters(ratings), *assumption_caveats.make_confounding_caveats(ratings, matrix)]
    if ratings.documents_known:
        warnings += _warn_uneven_documents(matrix)
    if len(matrix.systems) > 1:
        warnings += [*_warn_few_raters(ratings), *_warn_few_domains(matrix)]
    return tuple(warnings)


def is_significance_reachable(limit: SmallestPAndDocumentsNeeded, recipe: Recipe) -> bool:
    """Return whether the smallest p of this design is small enough for any pair to be significant."""
    return limit.adjusted is None or _is_significant(limit.adjusted, recipe)


def make_rank_set_caveats(
    sets: RankSets | None, ratings: Ratings, recipe: Recipe, limit: SmallestPAndDocumentsNeeded
) -> tuple[str, ...]:
    """Why rank sets are missing, empty of claims, or approximate."""
    if sets is None:
        wanted = recipe.rank_sets and len(ratings) > 0 and not ratings.documents_known
        return (_NO_RANK_SETS,) if wanted else ()
    if sets.documents < rank_sets.FEWEST_DOCUMENTS:
        few = f"{_plural(sets.documents, 'document')}: too few for rank sets, which therefore contain every rank"
        return (f"{few}; judge at least {rank_sets.FEWEST_DOCUMENTS}",)
    if not is_significance_reachable(limit, recipe):
        do = "request more permutations" if limit.documents_needed is None else "judge more documents"
        return (f"rank sets contain every rank, because no pair can be significant; {do}",)
    if sets.is_approximate:
        what = (
            f"{_plural(sets.documents, 'document')}: rank sets are approximate, so their coverage may be below nominal"
        )
        return (f"{what}; judge at least {rank_sets.FEW_DOCUMENTS}",)
    return ()


def _systems(ratings: Ratings, matrix: ScoreMatrix) -> list[str]:
    rated = np.unique(ratings.system)
    lost = [ratings.labels.systems[i] for i in rated if i not in set(matrix.systems.tolist())]
    what = "systems without a score after normalization are not ranked; rank without normalization to include them"
    warnings = [f"{what}: {_first_names(lost)}"] if lost else []
    if len(matrix.systems) == 1:
        warnings.append("only one system is rated, so there is nothing to compare; have a second one rated")
    return warnings


def _raters(ratings: Ratings) -> list[str]:
    groups = design_checks.group_systems_linked_by_raters(ratings)
    if len(groups) < 2:
        return []
    named = " | ".join(_first_names(group) for group in groups)
    what = "disconnected raters: no rater links these groups of systems, so they cannot be compared"
    do = "have some raters judge systems of several groups"
    return [f"{what}, and no pair across them is testable; {do}: {named}"]


def _warn_uneven_documents(matrix: ScoreMatrix) -> list[str]:
    """Warn of few effective documents or of one large document, with the consequence and the remedy."""
    weights = matrix.document_weights()
    if matrix.n_documents < FEWEST_DOCUMENTS or not weights.size:
        return []
    warnings, effective = [], float(compute_effective_document_count(weights).min())
    largest = float(compute_largest_document_share(weights).max())
    if largest > LARGE_SHARE:
        what = f"one document holds {largest:.0%} of a system's segments, so the result depends largely on it"
        warnings.append(f"{what}: intervals are wide to allow for this; rate more documents, or only part of this one")
    if effective < FEW_EFFECTIVE:
        what = f"{matrix.n_documents} documents are worth {effective:.1f} equally long ones (effective documents)"
        why = f"below {FEW_EFFECTIVE} intervals are wide and one unusual document can decide"
        warnings.append(f"{what}: {why}; rate more documents")
    return warnings


def _warn_few_raters(ratings: Ratings) -> list[str]:
    """Warn of one or few raters: what the intervals leave out and what would help."""
    n = np.unique(ratings.rater).size
    if n == 1:
        why = "other raters may disagree"
        return [f"one rater: every claim holds for this rater only, and {why}; have others rate a part"]
    if n >= FEW_RATERS:
        return []
    why = "if raters favour different systems, other raters would reverse many of these claims"
    what = f"{n} raters: tests and intervals hold for these raters only"
    return [f"{what}; {why}: use the interval for new raters, or add raters"]


def _warn_few_domains(matrix: ScoreMatrix) -> list[str]:
    n = 0 if matrix.domain is None else np.unique(matrix.domain).size
    if not 2 <= n < FEW_EFFECTIVE:
        return []
    what = f"{n} domains: tests and intervals hold for these domains only"
    why = "if a domain favours one system in all of its documents, other domains would reverse many of these claims"
    return [f"{what}; {why}: use the interval for new domains, or add domains"]


def _documents(matrix: ScoreMatrix, recipe: Recipe) -> list[str]:
    warnings = []
    if recipe.unit == "segment" and matrix.n_documents < matrix.segments.size:
        warnings.append(
            "segments of one document are tested as independent, so p-values may be too small; test whole "
            "documents instead"
        )
    lowest = 2.0 ** (1 - matrix.n_documents)
    if matrix.n_documents < FEWEST_DOCUMENTS or lowest > recipe.alpha:
        warnings.append(
            f"{_plural(matrix.n_documents, 'document')}: p-values of a document-level test cannot go below {lowest:g}; "
            "judge more documents"
        )
    return warnings


def _warn_few_resampled(shared: CommonSegmentsByPair, tests: PairTestResults, recipe: Recipe) -> list[str]:
    """Warn of how often a bootstrap over so few documents claims a difference where there is none."""
    if recipe.test != "bootstrap" or recipe.unit != "document" or not tests.testable.any():
        return []
    fewest = int(shared.n_common_documents[tests.testable].min())
    if fewest >= ENOUGH_TO_DRAW:
        return []
    size = next(size for documents, size in sorted(_DRAWN.items(), reverse=True) if fewest >= documents)
    claims = f"with so few, a bootstrap claims about {size:.2f} of the pairs without a difference at 0.05"
    return [f"{_plural(fewest, 'document')}: {claims}; judge at least {ENOUGH_TO_DRAW}, or rank by `recommended`"]


def _too_few_draws(tests: PairTestResults, n_pairs: int, recipe: Recipe) -> list[str]:
    enough = count_resamples_needed_beyond_cap(tests, recipe, n_pairs)
    if enough is None:
        return []
    drawn = "bootstrap samples" if recipe.test == "bootstrap" else "permutations"
    message = f"{choose_number_of_resamples(recipe, n_pairs):,} {drawn} were drawn, the maximum"
    why = f"this number of pairs and alpha {recipe.alpha:g} require {enough:,}, so some differences cannot be claimed"
    return [f"{message}; {why}: rank fewer systems"]


def _power(limit: SmallestPAndDocumentsNeeded, n_pairs: int, recipe: Recipe) -> list[str]:
    if limit.documents_needed is not None:
        lowest = f"the smallest p this design can reach is {limit.adjusted:g} after adjustment"
        return [f"no pair can be significant: {lowest}; judge at least {limit.documents_needed} documents"]
    if limit.adjusted is not None and not _is_significant(limit.adjusted, recipe):
        return [
            f"no pair can be significant with {choose_number_of_resamples(recipe, n_pairs)} permutations; request more"
        ]
    return []


def _is_significant(p_value: float, recipe: Recipe) -> bool:
    return p_value <= recipe.alpha if recipe.inclusive else p_value < recipe.alpha


def _overlap(shared: CommonSegmentsByPair) -> list[str]:
    if not shared.segments.any():
        what = "unpaired segments: no two systems share a segment, so systems are compared on different texts"
        return [f"{what}; {_SAME_TEXTS}"]
    few = int((shared.share < 0.5).sum())
    if not few:
        return []
    what = f"unpaired segments: {few} of {shared.segments.size} pairs share less than half of their segments"
    return [f"{what}, so their texts may decide; {_SAME_TEXTS}"]


def _untestable_pairs(tests: PairTestResults, shared: CommonSegmentsByPair, recipe: Recipe) -> list[str]:
    """Count pairs without a p-value, by reason: too little data in common, or data without variation."""
    untested = ~tests.testable if shared.linked is None else ~tests.testable & shared.linked
    by_document = recipe.unit == "document"
    paired = recipe.test in PAIRED_TESTS or recipe.matched_only
    if not paired:
        why = f"have fewer than {FEWEST_DOCUMENTS} documents on a side" if by_document else "have no common segment"
        varied = " or no variation" if recipe.test == "welch" else ""
        do = "judge more documents" if by_document else _SAME_TEXTS
        return _not_testable(int(untested.sum()), untested.size, f"{why}{varied}", do)
    few = shared.n_common_documents < FEWEST_DOCUMENTS if by_document else shared.segments == 0
    why = f"have fewer than {FEWEST_DOCUMENTS} common documents" if by_document else "have no common segment"
    constant = "differ by the same amount everywhere and leave no variation to test with"
    return [
        *_not_testable(int((untested & few).sum()), untested.size, why, _SAME_TEXTS),
        *_not_testable(int((untested & ~few).sum()), untested.size, constant, "judge more texts"),
    ]


def _not_testable(n: int, total: int, why: str, do: str) -> list[str]:
    return [f"{n} of {total} pairs {why}, so they are not testable; {do}"] if n else []


def _first_names(names: list[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {len(names) - _MOST_NAMES} more"


def _plural(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"
