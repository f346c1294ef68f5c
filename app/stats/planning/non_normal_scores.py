"""Studies with non-normal scores, drawn segment by segment and tested as normal ones are, and clusters of any scores.

Sources: Card et al. 2020, EMNLP (power by simulation); Holm 1979.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
import scipy

from app.domain.errors import Invalid
from app.domain.recipe import ClusterRule
from app.stats.planning.power_and_cost import StudyLayout, VarianceComponents
from app.stats.planning.score_sampling import ScoreSampler
from app.stats.planning.simulated_studies import (
    MOST_DRAWN,
    MOST_HELD,
    RaterPools,
    StudyTooLarge,
    compute_absolute_t_statistics,
    compute_contrast_degrees_of_freedom,
    compute_pair_contrasts,
    draw_document_lengths,
    draw_raters_by_item,
    find_claims_by_t_test,
    find_significant_pairs,
    simulate_document_means,
)
from app.stats.ranking.clusters import assign_clusters
from app.stats.ratings import Floats

_AT_ONCE = 1_000_000
Draw = Callable[[int, Floats, np.random.Generator], tuple[Floats, Floats | None]]
"""Draws a number of studies of systems with these true means.

Returns sums by document, larger is better, shape (studies, S, D), and the segments behind them, (studies, D); None if
all documents are equally long, and sums are means.
"""


def compute_longest_document_length(layout: StudyLayout) -> int:
    """Return the segments of the longest document, or the rounded mean, at least 1, if lengths are unknown."""
    return max(layout.lengths, default=max(1, round(layout.segments)))


def simulate_non_normal_document_means(
    scores: ScoreSampler,
    layout: StudyLayout,
    panel: RaterPools,
    *,
    shifts: Floats,
    studies: int,
    rng: np.random.Generator,
    lengths: Floats | None = None,
) -> Floats:
    """Document scores of every system in studies on new documents with new raters, (studies, S, D); larger is better.

    shifts : of each system on the latent scale, larger is better, shape (S,). lengths : from `draw_document_lengths`;
    by default all are equally long.
    """
    d, m, s = layout.documents, compute_longest_document_length(layout), len(shifts)
    c, shared = scores.latent.parts, scores.latent.shared
    raters = draw_raters_by_item(layout, panel, s, studies, rng)[:, :, None]  # (n, D, 1, S, K)
    n, document, segment = np.ogrid[:studies, :d, :m]
    n, document, segment = (one[..., None, None] for one in (n, document, segment))
    system = np.arange(s)[:, None]

    def normal(variance: float, *shape: int) -> Floats:
        return rng.normal(0.0, sqrt(variance), (studies, *shape))

    severity, by_document = normal(c.rater, panel.n_raters), normal(c.rater_doc, d, panel.n_raters)
    value = normal(c.residual, d, m, s, layout.ratings_per_item)
    value += normal(shared, d, m, 1, 1)
    value += normal(c.doc_system, d, 1, s, 1) + normal(c.segment_system, d, m, s, 1)
    value += severity[n, raters] + by_document[n, document, raters]
    value += normal(c.rater_segment, d, m, panel.n_raters)[n, document, segment, raters]
    value += normal(c.rater_doc_system, d, 1, s, layout.ratings_per_item)
    if not layout.fixed_panel:
        value += normal(c.rater_system, s, panel.n_raters)[n, system, raters]
    rated = scores.score_latent_values(value + shifts[:, None]).mean(axis=4)
    if lengths is None:
        return np.asarray(rated.mean(axis=2).transpose(0, 2, 1), dtype=np.float64)
    there = np.arange(m) < lengths[:, :, None]
    return np.asarray(np.einsum("ndms,ndm->nsd", rated, there) / lengths[:, None, :], dtype=np.float64)


def simulate_non_normal_detection_counts(
    scores: ScoreSampler,
    layout: StudyLayout,
    *,
    difference: float,
    alpha: float,
    studies: int,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Count the studies that find two systems with mean scores `difference` apart, as `simulate_detection_counts` does.

    Raises CannotSimulateScores if no two systems can be that far apart, StudyTooLarge.
    """
    shifts = scores.shifts_for_difference(difference)
    if layout.documents < 2:
        return 0, studies
    panel, hits, wanted = RaterPools.with_single_pool(layout), 0, 0
    for n in _batches(layout, 2, studies):
        counts = draw_document_lengths(layout, n, rng) if layout.lengths else None
        means = simulate_non_normal_document_means(
            scores, layout, panel, shifts=shifts, studies=n, rng=rng, lengths=counts
        )
        sums, counts = _sums(means, counts)
        hits += int((find_claims_by_t_test(sums, alpha, counts)[:, 0] > 0).sum())
        wanted += n
    return hits, wanted


@dataclass(frozen=True, slots=True)
class ExpectedNumberOfClusters:
    """Clusters that a study finds. mean: over the studies; error: its standard error. studies: number drawn."""

    mean: float
    error: float
    studies: int


def estimate_number_of_clusters(
    draw: Draw,
    layout: StudyLayout,
    *,
    means: Floats | None = None,
    between: float = 0.0,
    systems: int = 2,
    rule: ClusterRule,
    alpha: float,
    holm: bool,
    studies: int,
    rng: np.random.Generator,
) -> ExpectedNumberOfClusters:
    """Number of clusters that a study is expected to find: paired t-tests over documents, corrected, then `rule`.

    Parameters
    ----------
    means : true system scores, larger is better. If missing, they are drawn for each study with variance `between` for
        `systems` systems.
    holm : whether to correct the pairs of a study by Holm; otherwise each is tested at alpha.

    Raises
    ------
    StudyTooLarge
        A study is too large to be drawn.
    Invalid
        There are fewer than two systems, or there is no rule.
    """
    n_systems = systems if means is None else len(means)
    if n_systems < 2 or rule == "none":
        raise Invalid("clusters take two systems and a rule")
    if layout.documents < 2:
        return ExpectedNumberOfClusters(1.0, 0.0, studies)
    numbers: list[int] = []
    for n in _batches(layout, n_systems, studies):
        for true in [means] if means is not None else rng.normal(0.0, sqrt(between), (n, n_systems)):
            numbers += _cluster_counts(*draw(n if means is not None else 1, true, rng), rule, alpha, holm)
    counts = np.array(numbers, dtype=np.float64)
    error = float(counts.std(ddof=1) / sqrt(counts.size)) if counts.size > 1 else 0.0
    return ExpectedNumberOfClusters(float(counts.mean()), error, counts.size)


def make_normal_study_sampler(components: VarianceComponents, layout: StudyLayout) -> Draw:
    """Return a sampler of normal scores, as `simulate_detection_counts` draws them."""
    panel = RaterPools.with_single_pool(layout)

    def draw(n: int, means: Floats, rng: np.random.Generator) -> tuple[Floats, Floats | None]:
        counts = draw_document_lengths(layout, n, rng) if layout.lengths else None
        made = simulate_document_means(components, layout, panel, means=means, studies=n, rng=rng, lengths=counts)
        return _sums(made, counts)

    return draw


def make_non_normal_study_sampler(scores: ScoreSampler, layout: StudyLayout) -> Draw:
    """Return a sampler of scores with their own marginal; means beyond its ends are moved to the ends."""
    panel = RaterPools.with_single_pool(layout)

    def draw(n: int, means: Floats, rng: np.random.Generator) -> tuple[Floats, Floats | None]:
        counts, shifts = (
            draw_document_lengths(layout, n, rng) if layout.lengths else None,
            scores.shifts_for_means(means),
        )
        return _sums(
            simulate_non_normal_document_means(
                scores, layout, panel, shifts=shifts, studies=n, rng=rng, lengths=counts
            ),
            counts,
        )

    return draw


def _sums(means: Floats, counts: Floats | None) -> tuple[Floats, Floats | None]:
    return (means, None) if counts is None else (means * counts[:, None, :], counts)


def _cluster_counts(sums: Floats, counts: Floats | None, rule: ClusterRule, alpha: float, holm: bool) -> list[int]:
    """Return the number of clusters of each study; shapes as in a `Draw`."""
    n, n_systems, _ = sums.shape
    difference, error = compute_pair_contrasts(sums, counts)
    p = 2 * scipy.special.stdtr(
        compute_contrast_degrees_of_freedom(sums, counts)[:, None], -compute_absolute_t_statistics(difference, error)
    )
    is_significant = find_significant_pairs(p, alpha, holm=holm)
    first, second = np.triu_indices(n_systems, k=1)
    wins = np.zeros((n, n_systems, n_systems), dtype=np.bool_)
    wins[:, first, second], wins[:, second, first] = (
        is_significant & (difference > 0),
        is_significant & (difference < 0),
    )
    order = np.argsort(-sums.sum(axis=2), axis=1, kind="stable")
    totals = []
    for won, place in zip(wins, order, strict=True):
        numbers = assign_clusters(won[np.ix_(place, place)], rule)
        totals.append(max(numbers or (1,)))
    return totals


def _batches(layout: StudyLayout, systems: int, studies: int) -> list[int]:
    """Return the sizes of batches that fit into memory; very large studies are drawn less often, at least 20 times."""
    ratings = 4 * systems * layout.ratings_per_item
    each = layout.documents * compute_longest_document_length(layout) * (layout.raters + ratings)
    if each > MOST_HELD:
        raise StudyTooLarge(f"{each:,} values of one study; at most {MOST_HELD:,} are drawn")
    wanted, step = min(studies, max(20, MOST_DRAWN // each)), max(1, _AT_ONCE // each)
    return [min(step, wanted - start) for start in range(0, wanted, step)]
