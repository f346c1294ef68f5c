"""Studies of a plan, drawn from variance components: their power, and whether their rankings would agree.

An output's score is the mean of its segments. Its parts are the document's system × document effect (with segment ×
system over its m segments), and for each rater severity, rater × system, rater × document and the residual. Effects
that all systems of a document share cancel and are not drawn. The allocator of real campaigns decides who judges what.

Sources: Brennan 2001 (components of a score); Riley et al. 2024, §5 and appendix 10.3 (studies and SRP).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
import scipy

from app.design.design_inputs import Codes
from app.design.simulate import simulate_rater_assignments
from app.domain.errors import Invalid
from app.stats.inference.by_document import compute_document_degrees_of_freedom
from app.stats.planning.power_and_cost import FEWEST_DOCUMENTS, StudyLayout, VarianceComponents
from app.stats.ratings import Bools, Floats
from app.stats.stability.srp import (
    SumsOverStudyPairs,
    compare_studies,
    compute_pooled_srp,
    estimate_srp_monte_carlo_error,
    find_better_of_pairs,
)
from app.stats.stability.study_significance import Claims

STUDIES, WORLDS = 50, 10
MOST_HELD = 4_000_000
"""Most item ratings of one world."""

MOST_DRAWN = 100_000_000
"""Most item ratings drawn in all studies of one power estimate."""

_AT_ONCE = 1_000_000
Pool = Literal["same", "new"]


class StudyTooLarge(Invalid):
    """This plan is too large to be simulated."""

    published = "TooLarge"


@dataclass(frozen=True, slots=True, eq=False)
class RaterPools:
    """Who may judge which documents. bucket: of each document, shape (D,). pools: rater codes of each bucket."""

    bucket: Codes
    pools: tuple[Codes, ...]
    n_raters: int

    @classmethod
    def with_single_pool(cls, layout: StudyLayout) -> RaterPools:
        """Let all raters judge all documents."""
        raters = np.arange(layout.raters, dtype=np.int64)
        return cls(np.zeros(layout.documents, dtype=np.int64), (raters,), layout.raters)


@dataclass(frozen=True, slots=True)
class RankingStabilityForecast:
    """What studies under a plan would find, and whether they would agree.

    srp with mc_error, its standard error from drawing finitely many; mean_significant_pairs and
    share_without_significance per study; kendall_tau between studies, None if undefined; retained_claims: mean |SB_e1 ∩
    B_e2|; sign_error_rate: share of claims against the true order, None without claims. In all, worlds × studies were
    drawn.
    """

    srp: float
    mc_error: float
    mean_significant_pairs: float
    share_without_significance: float
    kendall_tau: float | None
    retained_claims: float
    sign_error_rate: float | None
    pool: Pool
    worlds: int
    studies: int


def draw_document_lengths(layout: StudyLayout, studies: int, rng: np.random.Generator) -> Floats:
    """Segments of every document in studies, (studies, D): the layout's own, or drawn from them, or the mean."""
    own = np.asarray(layout.lengths, dtype=np.float64)
    if not own.size:
        return np.full((studies, layout.documents), layout.segments)
    if own.size == layout.documents:
        return np.broadcast_to(own, (studies, own.size))
    return np.asarray(rng.choice(own, size=(studies, layout.documents)), dtype=np.float64)


def simulate_document_means(
    components: VarianceComponents,
    layout: StudyLayout,
    panel: RaterPools,
    *,
    means: Floats,
    studies: int,
    rng: np.random.Generator,
    lengths: Floats | None = None,
) -> Floats:
    """Document scores of every system in studies, each with new documents and new raters, shape (studies, S, D).

    means : true score of each system, shape (S,). lengths : from `draw_document_lengths`; by default all are equally
    long.
    """
    c, n_systems = components, len(means)
    _check(layout.documents * max(n_systems * layout.ratings_per_item, panel.n_raters))
    m = np.full((1, layout.documents), layout.segments) if lengths is None else lengths
    raters = draw_raters_by_item(layout, panel, n_systems, studies, rng)
    n = np.arange(studies)[:, None, None, None]
    severity = rng.normal(0.0, sqrt(c.rater), (studies, panel.n_raters))
    of_documents = (
        _draw_document_effects(raters, panel.n_raters, rng)
        * np.sqrt(c.rater_doc + c.rater_segment / m)[..., None, None]
    )
    rated = severity[n, raters] + of_documents
    if not layout.fixed_panel:
        by_system = rng.normal(0.0, sqrt(c.rater_system), (studies, n_systems, panel.n_raters))
        rated += by_system[n, np.arange(n_systems)[:, None], raters]
    rated += rng.normal(size=raters.shape) * np.sqrt(c.rater_doc_system + c.residual / m)[:, :, None, None]
    own = rng.normal(size=(studies, n_systems, layout.documents))
    own *= np.sqrt(c.doc_system + c.segment_system / m)[:, None, :]
    return np.asarray(own + rated.mean(axis=3).transpose(0, 2, 1) + means[:, None], dtype=np.float64)


def _draw_document_effects(raters: Codes, n_raters: int, rng: np.random.Generator) -> Floats:
    """Standard normal values, one per rater and document of a study; shape of the raters, (studies, D, S, K).

    If few raters of the pool judge a document, values are drawn for these raters only.
    """
    studies, documents, systems, each = raters.shape
    places = systems * each
    if places**2 > n_raters:
        drawn = rng.normal(size=(studies, documents, n_raters))
        return np.take_along_axis(drawn, raters.reshape(studies, documents, -1), axis=2).reshape(raters.shape)
    own = raters.reshape(studies, documents, places)
    first = np.argmax(own[..., :, None] == own[..., None, :], axis=3)  # the first place of each rater
    drawn = rng.normal(size=own.shape)
    return np.asarray(np.take_along_axis(drawn, first, axis=2).reshape(raters.shape), dtype=np.float64)


def forecast_ranking_stability(
    components: VarianceComponents,
    layout: StudyLayout,
    *,
    means: Floats | None = None,
    between: float = 0.0,
    systems: int = 2,
    panel: RaterPools | None = None,
    pool: Pool = "same",
    alpha: float = 0.05,
    rule: PlannedClaimRule | None = None,
    worlds: int = WORLDS,
    studies: int = STUDIES,
    rng: np.random.Generator,
) -> RankingStabilityForecast:
    """Forecast SRP and the figures that must accompany it.

    In each world, the effects of documents and the ratings that every rater of the pool would give to every item are
    drawn once. The allocator then assigns raters in each study, so two studies share a rating if they give an item to
    the same rater, like studies simulated from data. pool `new`: every study has its own raters.

    Parameters
    ----------
    means : true system scores. If missing, they are drawn in each world with variance `between` for `systems` systems.
    panel : buckets and their raters; by default all raters for all documents.
    alpha : of the paired t-test over documents that makes a claim, unadjusted as in the paper. It stands for the
        permutation test, with which it agrees from about ten documents on.
    rule : how the forecast ranking corrects and claims, instead of each pair at alpha.

    Raises
    ------
    StudyTooLarge
        A world would hold more than MOST_HELD item ratings.
    Invalid
        Fewer than two systems or documents, or a bucket with too few raters.
    """
    n_systems = systems if means is None else len(means)
    if n_systems < 2 or layout.documents < 2:
        raise Invalid("a forecast requires two systems and two documents")
    panel = panel or RaterPools.with_single_pool(layout)
    _check(layout.documents * n_systems * max(panel.n_raters, studies))
    groups, n_claims, wrong = [], [], 0
    for _ in range(worlds):
        true = rng.normal(0.0, sqrt(between), n_systems) if means is None else means
        counts = draw_document_lengths(layout, 1, rng)[0]
        scores = _simulate_world(components, layout, panel, true, studies, pool, counts, rng) * counts
        means_of = scores.sum(axis=2) / counts.sum()
        claimed = find_claims_by_t_test(scores, alpha, counts[None], rule)
        order = find_better_of_pairs(means_of, 1)
        groups.append(compare_studies(means_of, claimed, order))
        n_claims.append(np.abs(claimed).sum(axis=1, dtype=np.int64))
        wrong += int(((claimed * find_better_of_pairs(true[None], 1)) < 0).sum())
    return _study_forecast(groups, np.concatenate(n_claims), wrong, pool)


def _study_forecast(
    groups: list[SumsOverStudyPairs], n_claims: Codes, wrong: int, pool: Pool
) -> RankingStabilityForecast:
    """Figures over all worlds; n_claims: number of claims of each study, wrong: of those against the true order."""
    error = estimate_srp_monte_carlo_error(groups)
    tau, defined = sum(group.tau[0] for group in groups), sum(group.tau[1] for group in groups)
    return RankingStabilityForecast(
        srp=compute_pooled_srp(groups),
        mc_error=0.0 if np.isnan(error) else error,
        mean_significant_pairs=float(n_claims.mean()),
        share_without_significance=float((n_claims == 0).mean()),
        kendall_tau=min(1.0, tau / defined) if defined else None,
        retained_claims=sum(group.retained for group in groups) / sum(group.n_pairs for group in groups),
        sign_error_rate=wrong / int(n_claims.sum()) if n_claims.any() else None,
        pool=pool,
        worlds=len(groups),
        studies=groups[0].n,
    )


def find_claims_by_t_test(
    sums: Floats, alpha: float, counts: Floats | None = None, rule: PlannedClaimRule | None = None
) -> Claims:
    """Claims of every pair by the paired t-test over documents: 1 the first is better, −1 the second, 0 neither.

    sums : by document, higher is better, shape (n, S, D). counts : segments behind them, shape (n, D); by default 1
    each. Two-sided at alpha, with the errors and degrees of freedom of `inference.by_document`. rule : how a ranking
    will correct; by default each pair at alpha. Returns shape (n, S(S−1)/2).
    """
    difference, error = compute_pair_contrasts(sums, counts)
    if rule is None:
        reached = (
            compute_absolute_t_statistics(difference, error)
            >= compute_critical_t(compute_contrast_degrees_of_freedom(sums, counts), alpha)[:, None]
        )
        return np.asarray(np.sign(difference) * reached, dtype=np.int8)
    p = 2 * scipy.special.stdtr(
        compute_contrast_degrees_of_freedom(sums, counts)[:, None], -compute_absolute_t_statistics(difference, error)
    )
    return np.asarray(np.sign(difference) * rule.find_significant(p, sums.shape[2], alpha), dtype=np.int8)


@dataclass(frozen=True, slots=True)
class PlannedClaimRule:
    """How the ranking will make claims.

    holm: whether over all pairs. sign_flips: whether by sign flips of documents, which have a smallest p.
    """

    holm: bool = True
    sign_flips: bool = True

    def find_significant(self, p: Floats, documents: int, alpha: float) -> Bools:
        """Return which pairs of each study are significant. p : by t, which stands for the flips; shape (n, pairs)."""
        if self.sign_flips:
            p = np.maximum(p, 2.0 ** (1 - documents) if documents >= FEWEST_DOCUMENTS else 1.0)
        return find_significant_pairs(p, alpha, holm=self.holm)


def find_significant_pairs(p: Floats, alpha: float, *, holm: bool) -> Bools:
    """Return which pairs of each study are significant; Holm's step-down stops at the first that fails.

    p : shape (n, pairs).

    >>> find_significant_pairs(np.array([[0.01, 0.04, 0.03]]), 0.05, holm=True).tolist()
    [[True, False, False]]
    """
    if not holm:
        return np.asarray(p <= alpha, dtype=np.bool_)
    order = np.argsort(p, axis=1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=1)
    kept = np.logical_and.accumulate(ranked <= alpha / np.arange(p.shape[1], 0, -1), axis=1)
    is_significant = np.zeros(p.shape, dtype=np.bool_)
    np.put_along_axis(is_significant, order, kept, axis=1)
    return is_significant


def compute_contrast_degrees_of_freedom(sums: Floats, counts: Floats | None) -> Floats:
    """Degrees of freedom of each study's contrasts, shape (n,)."""
    n, _, documents = sums.shape
    if counts is None:
        return np.full(n, documents - 1.0)
    return np.broadcast_to(compute_document_degrees_of_freedom(counts), (n,))


def compute_critical_t(degrees: Floats, alpha: float) -> Floats:
    """Return the value that |t| must reach, two-sided."""
    return np.asarray(scipy.special.stdtrit(degrees, 1 - alpha / 2), dtype=np.float64)


def compute_absolute_t_statistics(difference: Floats, error: Floats) -> Floats:
    """Return |t|; infinite for a constant difference, 0 if there is none."""
    tiny = error <= 1e-12 * np.maximum(1.0, np.abs(difference))
    sure = np.where(np.abs(difference) > 1e-10, np.inf, 0.0)
    return np.asarray(np.where(tiny, sure, np.abs(difference) / np.where(tiny, 1.0, error)), dtype=np.float64)


def compute_pair_contrasts(sums: Floats, counts: Floats | None = None) -> tuple[Floats, Floats]:
    """Difference of the means of every pair in every study, and its standard error over documents, (n, pairs) each.

    The error is corrected for leverage, as in `inference.by_document`.
    """
    n, n_systems, documents = sums.shape
    weight = np.ones((n, documents)) if counts is None else counts
    first, second = np.triu_indices(n_systems, k=1)
    total = weight.sum(axis=1)[:, None]
    mean = sums.sum(axis=2) / total
    left = 1 - weight / total
    off = (sums - mean[:, :, None] * weight[:, None, :]) / np.sqrt(np.where(left > 0, left, 1.0))[:, None, :]
    products = off @ off.transpose(0, 2, 1)
    squares = np.einsum("nii->ni", products)
    spread = np.maximum(squares[:, first] + squares[:, second] - 2 * products[:, first, second], 0.0)
    return mean[:, first] - mean[:, second], np.sqrt(spread) / total


def _check(held: int) -> None:
    if held > MOST_HELD:
        raise StudyTooLarge(f"{held:,} ratings of items by the whole pool; at most {MOST_HELD:,} are simulated")


@dataclass(frozen=True, slots=True, eq=False)
class _Outputs:
    """Effects of the outputs of a document, whoever judges them: shape (S, D)."""

    effect: Floats

    @classmethod
    def drawn(cls, components: VarianceComponents, counts: Floats, systems: int, rng: np.random.Generator) -> _Outputs:
        spread = np.sqrt(components.doc_system + components.segment_system / counts)
        return cls(rng.normal(size=(systems, counts.size)) * spread)


@dataclass(frozen=True, slots=True, eq=False)
class _Ratings:
    """Effects that every rater of the pool adds to every item: shape (D, S, R)."""

    effect: Floats

    @classmethod
    def drawn(
        cls,
        c: VarianceComponents,
        layout: StudyLayout,
        panel: RaterPools,
        counts: Floats,
        systems: int,
        rng: np.random.Generator,
    ) -> _Ratings:
        """Draw them by the components c, on documents with these numbers of segments."""
        m, r = counts[:, None, None], panel.n_raters
        effect = rng.normal(size=(layout.documents, systems, r)) * np.sqrt(c.rater_doc_system + c.residual / m)
        effect += rng.normal(size=(layout.documents, 1, r)) * np.sqrt(c.rater_doc + c.rater_segment / m)
        effect += rng.normal(0.0, sqrt(c.rater), (1, 1, r))
        if not layout.fixed_panel:
            effect += rng.normal(0.0, sqrt(c.rater_system), (1, systems, r))
        return cls(effect)


def draw_raters_by_item(
    layout: StudyLayout, panel: RaterPools, systems: int, studies: int, rng: np.random.Generator
) -> Codes:
    """Codes of the raters of every item, shape (studies, documents, systems, ratings of an item)."""
    return simulate_rater_assignments(
        rng,
        grouping=layout.grouping,
        bucket_of_document=panel.bucket,
        n_systems=systems,
        pools=panel.pools,
        n_raters=panel.n_raters,
        studies=studies,
        ratings=layout.ratings_per_item,
    )


def _scores(own: _Outputs, ratings: _Ratings, raters: Codes) -> Floats:
    """Document scores, shape (studies, S, D)."""
    documents, systems, n_raters = ratings.effect.shape
    of_item = (np.arange(documents * systems) * n_raters).reshape(documents, systems, 1)
    rated = np.take(ratings.effect, raters + of_item)
    return np.asarray(own.effect + rated.mean(axis=3).transpose(0, 2, 1), dtype=np.float64)


def _simulate_world(
    components: VarianceComponents,
    layout: StudyLayout,
    panel: RaterPools,
    true: Floats,
    studies: int,
    pool: Pool,
    counts: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Document scores of the studies of one world, shape (studies, S, D). counts: segments of its documents, (D,)."""
    own = _Outputs.drawn(components, counts, len(true), rng)
    ratings = _Ratings.drawn(components, layout, panel, counts, len(true), rng)
    held = layout.documents * len(true) * layout.ratings_per_item
    step = 1 if pool == "new" else max(1, _AT_ONCE // held)
    parts = []
    for start in range(0, studies, step):
        if pool == "new" and start:
            ratings = _Ratings.drawn(components, layout, panel, counts, len(true), rng)
        parts.append(
            _scores(own, ratings, draw_raters_by_item(layout, panel, len(true), min(step, studies - start), rng))
        )
    return np.asarray(np.concatenate(parts) + true[:, None], dtype=np.float64)


def simulate_detection_counts(
    components: VarianceComponents,
    layout: StudyLayout,
    *,
    difference: float,
    alpha: float,
    studies: int,
    rng: np.random.Generator,
    panel: RaterPools | None = None,
) -> tuple[int, int]:
    """Number of studies that find two systems `difference` apart, by the paired t-test over documents.

    Returns (found, drawn): very large studies are drawn less often, at least 20 times. The direction must be right.
    Raises as `forecast_ranking_stability`.
    """
    if layout.documents < 2:
        return 0, studies
    means, panel = np.array([difference, 0.0]), panel or RaterPools.with_single_pool(layout)
    each = layout.documents * (panel.n_raters + 6 * layout.ratings_per_item)
    hits, wanted = 0, min(studies, max(20, MOST_DRAWN // each))
    step = max(1, _AT_ONCE // each)
    for start in range(0, wanted, step):
        n = min(step, wanted - start)
        counts = draw_document_lengths(layout, n, rng)
        scores = simulate_document_means(components, layout, panel, means=means, studies=n, rng=rng, lengths=counts)
        hits += int((find_claims_by_t_test(scores * counts[:, None, :], alpha, counts)[:, 0] > 0).sum())
    return hits, wanted


def make_rater_pools(pools: Sequence[Sequence[int]], buckets: Sequence[int], n_raters: int) -> RaterPools:
    """Return the panel of a plan: rater codes of each bucket, and the bucket of each document."""
    codes = tuple(np.asarray(sorted(pool), dtype=np.int64) for pool in pools)
    return RaterPools(np.asarray(buckets, dtype=np.int64), codes, n_raters)
