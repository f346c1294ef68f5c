"""Pairs of raters whose answers are more alike than those of two people who do not copy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.stats.document_draws import iterate_draw_block_sizes
from app.stats.quality.monte_carlo_p_values import ExceedanceCount, refine_p_values
from app.stats.quality.panel import RaterItemMeans
from app.stats.ratings import Codes, Floats
from app.stats.testing.adjust import benjamini_hochberg

Indices = npt.NDArray[np.intp]
MIN_CELLS = 20
MIN_DOCUMENTS = 3
MARGIN = 1.5
"""How many times closer than usual two raters may be just because both are careful."""
DRAWS = ((999, 0.05), (9_999, 0.002), (99_999, 0.0))
"""Numbers of sets of documents drawn, and the chance below which more are drawn."""
SEED = 1949


@dataclass(frozen=True, slots=True)
class RaterPairSimilarity:
    """Two raters, by code, who judged the same outputs.

    n: number of outputs that both judged; equal: share of them with equal scores. distance: mean distance of their
    scores, as a share of the mean distance of the same scores matched at random; usual: the same over all pairs.
    p_value: chance of a distance as small, allowing for `MARGIN`; q_value: over all pairs (Benjamini–Hochberg).
    """

    first: int
    second: int
    n: int
    equal: float
    distance: float
    usual: float
    p_value: float
    q_value: float


def measure_rater_pair_similarity(cells: RaterItemMeans, document: Codes) -> tuple[RaterPairSimilarity, ...]:
    """Measure every pair of raters with 20 outputs of 3 documents in common.

    The distance of two raters is divided by the distance of chance matches of their own scores, so that neither a
    narrow scale nor many perfect outputs make a pair look alike. Because the outputs of one document resemble each
    other, whole documents are resampled: they are drawn with replacement from those of all pairs, including the given
    ones. A single pair has nothing to be compared with, so it is never found to be alike.

    Parameters
    ----------
    document : code of each cell, shape (cells,).

    Sources: Cohen 1960 (agreement beyond chance matches); Benjamini & Hochberg 1995.
    """
    kept: list[tuple[int, int]] = []
    blocks: list[tuple[Floats, ...]] = []
    equal: list[float] = []
    share: list[float] = []
    for pair, first, other in _iterate_rater_pairs(cells):
        x, y, documents = cells.score[first], cells.score[other], document[first]
        by_chance = _by_chance(x, y)
        if first.size < MIN_CELLS or np.unique(documents).size < MIN_DOCUMENTS or by_chance <= 0:
            continue
        distance = np.abs(x - y) / by_chance
        of = np.unique(documents, return_inverse=True)[1]
        summed, count = np.bincount(of, weights=distance), np.bincount(of)
        blocks.append((np.asarray(summed, dtype=np.float64), count.astype(np.float64)))
        kept.append(pair)
        equal.append(float((distance == 0).mean()))
        share.append(float(distance.mean()))
    if not kept:
        return ()
    total, n = (np.concatenate([block[i] for block in blocks]) for i in (0, 1))
    p_values = _chances(blocks, total, n)
    usual, q_values = float(total.sum() / n.sum()), benjamini_hochberg(p_values)
    return tuple(
        RaterPairSimilarity(pair[0], pair[1], int(block[1].sum()), same, far, usual, float(p), float(q))
        for pair, block, same, far, p, q in zip(kept, blocks, equal, share, p_values, q_values, strict=True)
    )


def _iterate_rater_pairs(cells: RaterItemMeans) -> Iterator[tuple[tuple[int, int], Indices, Indices]]:
    """Yield every two raters with an output in common, the lower code first, and their cells of these outputs.

    Goes rater by rater: if 100 raters judge every output, all pairs have 50 times as many entries as there are cells.
    """
    order = np.argsort(cells.item, kind="stable")
    item, rater = cells.item[order], cells.rater[order]
    begin, n = np.searchsorted(item, item, "left"), np.searchsorted(item, item, "right")
    n -= begin
    for own in np.unique(rater).tolist():
        mine = np.flatnonzero(rater == own)
        here = np.repeat(mine, n[mine])
        there = np.arange(here.size) - np.repeat(np.cumsum(n[mine]) - n[mine] - begin[mine], n[mine])
        later = rater[there] > own
        here, there = here[later], there[later]
        apart = np.lexsort((np.minimum(here, there), here > there, np.abs(here - there), rater[there]))
        here, there = here[apart], there[apart]
        for some in np.split(np.arange(here.size), np.flatnonzero(np.diff(rater[there])) + 1):
            if some.size:
                yield (own, int(rater[there[some[0]]])), order[here[some]], order[there[some]]


def _by_chance(x: Floats, y: Floats) -> float:
    """Mean of |x − y| over all combinations of both."""
    ordered = np.sort(y)
    below = np.searchsorted(ordered, x, "right")
    sums = np.concatenate(([0.0], np.cumsum(ordered)))
    each = x * below - sums[below] + (sums[-1] - sums[below]) - x * (y.size - below)
    return float(each.sum() / (x.size * y.size))


def _chances(blocks: list[tuple[Floats, ...]], total: Floats, n: Floats) -> Floats:
    """Chance of each pair, from its sums of distances and its numbers of cells by document."""
    most = DRAWS[-1][0]
    chances = refine_p_values(
        {i: _tally(own, own_n, total, n) for i, (own, own_n) in enumerate(blocks)},
        lambda i, part: _count_closer_draws(blocks[i][0], blocks[i][1], total, n, most, (SEED, most, part)),
        most,
    )
    return np.array(list(chances.values()))


def _tally(own: Floats, own_n: Floats, total: Floats, n: Floats) -> ExceedanceCount:
    tally = ExceedanceCount(0, 0)
    for draws, further in DRAWS:
        tally = ExceedanceCount(_count_closer_draws(own, own_n, total, n, draws, (SEED, draws)), draws)
        if tally.p_value > further:
            break
    return tally


def _count_closer_draws(own: Floats, own_n: Floats, total: Floats, n: Floats, draws: int, seed: tuple[int, ...]) -> int:
    """Count draws of documents of any pairs that are as close as the pair's own, allowing for the margin."""
    reached = MARGIN * float(own.sum() / own_n.sum())
    rng, closer = np.random.default_rng(seed), 0
    for some in iterate_draw_block_sizes(draws, own.size):
        drawn = rng.integers(0, total.size, (some, own.size))
        closer += int((total[drawn].sum(axis=1) / n[drawn].sum(axis=1) <= reached + 1e-9).sum())
    return closer
