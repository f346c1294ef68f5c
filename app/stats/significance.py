"""Every pair of systems tested: which data count, which test, what it says.

Pairs are (first, second) with the first ranked higher; p_value is that the first is better, p_reverse the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.recipe import Recipe
from app.stats import intervals
from app.stats.aggregate import Indices, Panel, rounded
from app.stats.permutation import Block, flip_signs, number_of_permutations
from app.stats.ratings import Bools, Floats
from app.stats.unpaired import OneSided, rank_sum, welch

FEWEST_DOCUMENTS = 6
"""A document-level test of a pair with fewer documents is not made: it could hardly say anything."""

PAIRED_TESTS = frozenset({"permutation", "marot"})


@dataclass(frozen=True, slots=True)
class Shared:
    """What the two systems of each pair have in common; arrays of shape (pairs,).

    difference: mean over common segments, first minus second, positive when the first is better; NaN without any.
    standard_error: of that, by documents. segments, documents: common ones. share: of the segments that either has.
    blocks: sums for the sign permutation.
    """

    difference: Floats
    standard_error: Floats
    segments: Indices
    documents: Indices
    share: Floats
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class PairTests:
    """Result of one test on every pair; arrays of shape (pairs,), NaN where the pair was not tested.

    p_reverse is NaN for tests without direction. lean: +1 where the first is the better by this test, −1 the second.
    smallest: the smallest p this design can reach, None where the test has no floor. enumerated: that floor is set by
    the number of documents or segments, not by the number of draws.
    """

    p_value: Floats
    p_reverse: Floats
    lean: npt.NDArray[np.int8]
    testable: Bools
    smallest: float | None
    enumerated: bool


def pairs_of(n_systems: int) -> tuple[Indices, Indices]:
    """Every pair once, the first ranked higher."""
    first, second = np.triu_indices(n_systems, k=1)
    return first, second


def shared_data(panel: Panel, sign: int, *, unit: str, weights: Floats | None = None) -> Shared:
    """Reduce each pair to its common segments.

    d_D = Σ_{common segments of D} w·(x_A − x_B), n_D their number (or weight), Δ = Σd_D/Σn_D.

    Parameters
    ----------
    panel : systems in ranking order.
    sign : +1 where a larger score is better, −1 where smaller is.
    unit : `document` or `segment`, the columns of the blocks.
    weights : of the segments, shape (G,); None is 1 each.
    """
    first, second = pairs_of(len(panel.systems))
    difference, error = np.full(first.size, np.nan), np.full(first.size, np.nan)
    segments, documents = np.zeros(first.size, dtype=np.intp), np.zeros(first.size, dtype=np.intp)
    blocks = []
    importance = np.ones(panel.segments.size) if weights is None else weights
    for mask, pair in _common(panel, first, second):
        systems, rows = np.unique(np.concatenate((first[pair], second[pair])), return_inverse=True)
        scores = np.where(mask, panel.score[systems] * (sign * importance), 0.0)
        sums = np.add.reduceat(scores, panel.starts, axis=1)
        held = np.add.reduceat(mask.astype(np.intp), panel.starts) > 0
        ends = (rows[: pair.size], rows[pair.size :])
        by_document = Block(sums, *ends, pair, np.flatnonzero(held))
        weight = np.add.reduceat(np.where(mask, importance, 0.0), panel.starts)
        apart = by_document.differences()
        difference[pair] = apart.sum(axis=1) / weight.sum()
        error[pair] = intervals.standard_errors(apart, np.broadcast_to(weight, apart.shape))
        segments[pair], documents[pair] = mask.sum(), held.sum()
        blocks.append(by_document if unit == "document" else Block(scores, *ends, pair, np.flatnonzero(mask)))
    n = panel.counts()
    share = segments / (n[first] + n[second] - segments)
    return Shared(difference, error, segments, documents, share, tuple(blocks))


def _common(panel: Panel, first: Indices, second: Indices) -> Iterator[tuple[Bools, Indices]]:
    """Masks of common segments with the pairs that have them; pairs without a common segment are left out."""
    if panel.complete:
        if first.size:
            yield np.ones(panel.segments.size, dtype=np.bool_), np.arange(first.size)
        return
    packed = np.packbits(panel.present, axis=1)
    groups: dict[bytes, list[int]] = {}
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        groups.setdefault((packed[i] & packed[j]).tobytes(), []).append(pair)
    for pairs in groups.values():
        mask = panel.present[first[pairs[0]]] & panel.present[second[pairs[0]]]
        if mask.any():
            yield mask, np.array(pairs, dtype=np.intp)


def compare_pairs(panel: Panel, shared: Shared, recipe: Recipe, sign: int) -> PairTests:
    """Test every pair as `recipe` says.

    Parameters
    ----------
    panel : systems in ranking order. shared : what pairs have in common, with blocks by the recipe's unit.
    sign : +1 where a larger score is better.
    """
    if recipe.test in PAIRED_TESTS:
        return _by_permutation(panel, shared, recipe)
    if recipe.test == "none":
        nothing = np.full(shared.segments.size, np.nan)
        empty = np.zeros(nothing.size, dtype=np.bool_)
        return PairTests(nothing, nothing.copy(), empty.astype(np.int8), empty, None, enumerated=False)
    return _by_two_samples(panel, recipe, sign)


def draws(recipe: Recipe, n_pairs: int) -> int:
    """Number of sign draws: the recipe's, else enough for the number of hypotheses adjusted for."""
    if recipe.permutations is not None:
        return recipe.permutations
    return number_of_permutations(n_pairs if recipe.adjust != "none" else 1, recipe.alpha)


def _by_permutation(panel: Panel, shared: Shared, recipe: Recipe) -> PairTests:
    n_pairs = shared.segments.size
    by_document = recipe.unit == "document"
    two_sided = recipe.alternative == "two-sided"
    counts = flip_signs(
        shared.blocks,
        n_pairs,
        panel.n_documents if by_document else panel.segments.size,
        permutations=draws(recipe, n_pairs),
        seed=recipe.seed,
        two_sided=two_sided,
        enumerate_small=recipe.test != "marot",
    )
    units = shared.documents if by_document else shared.segments
    testable = units >= (FEWEST_DOCUMENTS if by_document else 1)
    p, reverse = counts.p_values(plus_one=recipe.plus_one), counts.p_reverse(plus_one=recipe.plus_one)
    p[~testable] = reverse[~testable] = np.nan
    lean = np.where(testable, np.sign(rounded(np.nan_to_num(shared.difference))), 0).astype(np.int8)
    sides = 2.0 if two_sided else 1.0
    lowest = np.where(counts.exact, sides / counts.total, 1.0 / (counts.total + recipe.plus_one))
    smallest = float(lowest[units > 0].min()) if (units > 0).any() else None
    return PairTests(p, reverse, lean, testable, smallest, bool(counts.exact[units > 0].all()))


def _by_two_samples(panel: Panel, recipe: Recipe, sign: int) -> PairTests:
    first, second = pairs_of(len(panel.systems))
    p, reverse = np.full(first.size, np.nan), np.full(first.size, np.nan)
    lean = np.zeros(first.size, dtype=np.int8)
    whole = [_sample(panel, i, panel.present[i], recipe.unit, sign) for i in range(len(panel.systems))]
    fewest = FEWEST_DOCUMENTS if recipe.unit == "document" else 1
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        x, y = whole[i], whole[j]
        if recipe.matched_only:
            common = panel.present[i] & panel.present[j]
            x, y = (_sample(panel, k, common, recipe.unit, sign) for k in (i, j))
        result = _two_samples(x, y, recipe) if min(x.size, y.size) >= fewest else None
        if result is not None:
            p[pair], reverse[pair], lean[pair] = _directed(result, recipe)
    return PairTests(p, reverse, lean, np.isfinite(p), None, enumerated=False)


def _sample(panel: Panel, system: int, mask: Bools, unit: str, sign: int) -> Floats:
    """Segment scores of a system where `mask` is true, or their means by document; larger is better."""
    if unit == "segment":
        return np.asarray(sign * panel.score[system][mask], dtype=np.float64)
    sums = np.add.reduceat(np.where(mask, panel.score[system], 0.0), panel.starts)
    counts = np.add.reduceat(mask.astype(np.intp), panel.starts)
    return np.asarray(sign * sums[counts > 0] / counts[counts > 0], dtype=np.float64)


def _two_samples(x: Floats, y: Floats, recipe: Recipe) -> OneSided | None:
    return welch(x, y) if recipe.test == "welch" else rank_sum(x, y, correction=recipe.correction)


def _directed(result: OneSided, recipe: Recipe) -> tuple[float, float, int]:
    if recipe.test == "rank_sum_legacy":
        # SciPy before 1.7 returned half the two-sided p by default, blind to direction: only the order of the ranking
        # says which system it favours, so there is no reverse.
        return result.two_sided / 2, np.nan, 1
    if recipe.alternative == "two-sided":
        return result.two_sided, np.nan, result.lean
    return result.greater, result.less, result.lean
