"""Power and stability by resampling the documents of a pilot: no variance components, no normal distribution.

Documents are drawn with replacement. If several raters rated the pilot's outputs, the allocator reassigns them in each
study. If every output was rated once, it keeps its rating, and what other raters would have given stays unknown:
studies then differ in documents only.

Sources: Card et al. 2020, EMNLP (power by simulation); Efron & Tibshirani 1993, ch. 13 (the sample as the population).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from app.design.design_choices import Grouping
from app.design.simulate import simulate_rater_assignments
from app.domain.errors import Invalid
from app.stats.aggregate import average_ratings_per_segment, make_score_matrix
from app.stats.planning.simulated_studies import (
    compute_contrast_degrees_of_freedom,
    compute_critical_t,
    compute_pair_contrasts,
    find_claims_by_t_test,
)
from app.stats.ratings import Floats, Ratings
from app.stats.stability.multiply_rated_documents import (
    MultiplyRatedDocuments,
    NoMultiplyRatedDocuments,
    extract_multiply_rated_documents,
)
from app.stats.stability.srp import (
    compare_studies,
    compute_pooled_srp,
    estimate_srp_monte_carlo_error,
    find_better_of_pairs,
)
from app.stats.stability.studies import (
    compute_normalized_document_sums,
    gather_study_ratings,
    sum_ratings_over_segments,
)

FEWEST_DOCUMENTS = 6
MOST_HELD = 2_000_000
"""Most sums of documents, and pairs, of the studies in memory at once."""

Drawn = tuple[Floats, Floats]


class TooFewDocuments(Invalid):
    """A pilot needs six documents that all systems were rated on."""


@dataclass(frozen=True, slots=True, eq=False)
class PilotRatings:
    """Ratings that studies are drawn from.

    systems: labels. documents: number of those on which all systems were rated. draw: draws a number of studies of a
    number of documents: sums by document, larger is better, shape (n, S, D), and segments behind them, (n, D). full:
    the same for all documents of the pilot, with n = 1. rated_anew: whether studies reassign raters; otherwise they
    differ in documents only.
    """

    systems: tuple[str, ...]
    documents: int
    draw: Callable[[np.random.Generator, int, int], Drawn]
    full: Drawn
    rated_anew: bool


@dataclass(frozen=True, slots=True)
class BootstrapStabilityForecast:
    """What studies that resample the pilot's documents would find, and whether they would agree.

    See RankingStabilityForecast.

    significant_again: for each pair (in the order of the systems), the share of studies in which it is significant in
    the direction of the whole pilot.
    """

    srp: float
    mc_error: float
    mean_significant_pairs: float
    share_without_significance: float
    kendall_tau: float | None
    retained_claims: float
    same_direction: tuple[float, ...]
    significant_again: tuple[float, ...]
    studies: int
    documents: int


def prepare_pilot_ratings(ratings: Ratings, *, grouping: Grouping = "psxs", ratings_per_item: int = 1) -> PilotRatings:
    """Prepare ratings for drawing; only the multiply-rated documents, if there are enough of them.

    Raises TooFewDocuments, Invalid for fewer than two systems.
    """
    try:
        data = extract_multiply_rated_documents(ratings)
    except NoMultiplyRatedDocuments:
        return _make_pilot_ratings(ratings)
    if len(data.documents) < FEWEST_DOCUMENTS or int(data.n_raters_by_document.min()) < ratings_per_item:
        return _make_pilot_ratings(ratings)
    return _dealt_anew(data, grouping, ratings_per_item)


def _make_pilot_ratings(ratings: Ratings) -> PilotRatings:
    matrix = make_score_matrix(average_ratings_per_segment(ratings), ratings.labels)
    if matrix.systems.size < 2:
        raise Invalid("a difference requires two systems")
    common = matrix.present.all(axis=0)
    at = np.flatnonzero(common)
    documents, document = np.unique(matrix.document[at], return_inverse=True)
    if documents.size < FEWEST_DOCUMENTS:
        there = "no document has" if not documents.size else f"{documents.size} document"
        there += "" if not documents.size else " has" if documents.size == 1 else "s have"
        raise TooFewDocuments(f"{there} segments that all systems were rated on; this requires {FEWEST_DOCUMENTS}")
    counts = np.bincount(document).astype(np.float64)
    by_document = [np.bincount(document, weights=row[at] * ratings.better_sign) for row in matrix.score]
    sums: Floats = np.array(by_document, dtype=np.float64)

    def draw(rng: np.random.Generator, studies: int, size: int) -> Drawn:
        chosen = rng.integers(documents.size, size=(studies, size))
        return sums[:, chosen].transpose(1, 0, 2), counts[chosen]

    names = tuple(ratings.labels.systems[i] for i in matrix.systems)
    return PilotRatings(names, int(documents.size), draw, (sums[None], counts[None]), rated_anew=False)


def _dealt_anew(data: MultiplyRatedDocuments, grouping: Grouping, ratings_per_item: int) -> PilotRatings:
    items, sign = sum_ratings_over_segments(data), 1.0 if data.higher_is_better else -1.0
    n_documents, n_systems = len(data.documents), len(data.systems)

    def draw(rng: np.random.Generator, studies: int, size: int) -> Drawn:
        sums, counts = np.empty((studies, n_systems, size)), np.empty((studies, size))
        for study in range(studies):
            chosen = np.sort(rng.integers(n_documents, size=size))
            raters = simulate_rater_assignments(
                rng,
                grouping=grouping,
                bucket_of_document=data.bucket[chosen],
                n_systems=n_systems,
                pools=data.pools,
                n_raters=len(data.raters),
                studies=1,
                ratings=ratings_per_item,
            )
            redrawn = gather_study_ratings(items, chosen, raters)
            sums[study] = sign * compute_normalized_document_sums(redrawn, "none")[0].T
            counts[study] = redrawn.n_segments
        return sums, counts

    whole = np.stack([_totals(data, s) for s in range(n_systems)]) * sign
    return PilotRatings(
        data.systems, n_documents, draw, (whole[None], data.n_segments[None].astype(float)), rated_anew=True
    )


def _totals(data: MultiplyRatedDocuments, system: int) -> Floats:
    """Sums by document of the mean over raters."""
    there = np.arange(data.score.shape[2]) < data.n_raters_by_document[data.document][:, None]
    mean = np.where(there, data.score[:, system], 0.0).sum(axis=1) / data.n_raters_by_document[data.document]
    return np.asarray(np.bincount(data.document, weights=mean), dtype=np.float64)


def _batches(source: PilotRatings, studies: int, documents: int) -> Iterator[int]:
    """Yield the sizes of batches of studies that fit into memory."""
    step = max(1, MOST_HELD // (len(source.systems) ** 2 + len(source.systems) * documents))
    return (min(step, studies - start) for start in range(0, studies, step))


def estimate_power_by_resampling(
    pilot: PilotRatings, *, difference: float, documents: int, alpha: float, studies: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Share of studies and pairs in which two systems `difference` apart would be separated, and its standard error.

    Every pair of the pilot is shifted to that difference, while the variation is the pilot's own. The standard error is
    that of drawing finitely many studies. A design with fewer than two documents finds nothing.
    """
    if documents < 2:
        return 0.0, 0.0
    true, _ = compute_pair_contrasts(*pilot.full)
    shares = []
    for n in _batches(pilot, studies, documents):
        sums, counts = pilot.draw(rng, n, documents)
        apart, error = compute_pair_contrasts(sums, counts)
        moved = apart - true + difference
        reach = compute_critical_t(compute_contrast_degrees_of_freedom(sums, counts), alpha)[:, None] * error
        shares.append(((moved > 0) & (moved >= reach)).mean(axis=1))
    each = np.concatenate(shares)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(studies)) if studies > 1 else 0.0


def forecast_srp_by_bootstrap(
    pilot: PilotRatings,
    *,
    alpha: float = 0.05,
    studies: int = 250,
    documents: int | None = None,
    rng: np.random.Generator,
) -> BootstrapStabilityForecast:
    """Forecast SRP, and for each pair whether it would be found again, by resampling documents.

    All studies share the documents that happened to be in the pilot, so they agree more than new studies would.
    Resampling the documents once more for each study (`replication.forecast_replication_by_bootstrap`) allows for that,
    pair by pair.
    """
    size = documents or pilot.documents
    claims, scores = [], []
    for n in _batches(pilot, studies, size):
        sums, counts = pilot.draw(rng, n, size)
        claims.append(find_claims_by_t_test(sums, alpha, counts))
        scores.append(sums.sum(axis=2) / counts.sum(axis=1)[:, None])
    claimed, means = np.concatenate(claims), np.concatenate(scores)
    order = find_better_of_pairs(means, 1)
    group = compare_studies(means, claimed, order)
    error = estimate_srp_monte_carlo_error([group])
    full_sums, full_counts = pilot.full
    true = find_better_of_pairs(full_sums.sum(axis=2) / full_counts.sum(axis=1)[:, None], 1)[0]
    n_claims = np.abs(claimed).sum(axis=1, dtype=np.int64)
    return BootstrapStabilityForecast(
        srp=compute_pooled_srp([group]),
        mc_error=0.0 if np.isnan(error) else error,
        mean_significant_pairs=float(n_claims.mean()),
        share_without_significance=float((n_claims == 0).mean()),
        kendall_tau=min(1.0, group.tau[0] / group.tau[1]) if group.tau[1] else None,
        retained_claims=group.retained / group.n_pairs,
        same_direction=tuple(((order == true) & (true != 0)).mean(axis=0).tolist()),
        significant_again=tuple(((claimed == true) & (true != 0)).mean(axis=0).tolist()),
        studies=studies,
        documents=size,
    )
