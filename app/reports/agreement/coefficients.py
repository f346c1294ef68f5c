"""The coefficients computed for each level, as functions of document weights, and what a model expects of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from app.stats.agreement import alpha, icc, kappa, pairs, rankings
from app.stats.agreement.pooled_values import PooledValueCounts, count_pooled_values, sum_pair_distances
from app.stats.agreement.unit_rater_variances import (
    UnitRaterVariances,
    compute_joint_category_probabilities,
    fit_unit_rater_variances,
)
from app.stats.agreement.units import SLACK, Level, OfDocuments, ValuesByUnit
from app.stats.ratings import Floats, ScoreScale

MOST_LEVELS = 12
MOST_LEFT_OUT = 200_000
"""Up to this product of documents and rater pairs, rankings are recomputed without each document in turn."""
MOST_DISTINCT = 5_000
"""Up to this number of distinct values the ratio α is computed; its cost grows with the square of that number."""
WITH_WORDS = frozenset({"kappa", "kappa_pooled", "fleiss", "weighted_kappa"})


@dataclass(frozen=True, slots=True)
class AgreementCoefficientEstimator:
    """A coefficient: key, tolerance, estimate, expected value, and observed and chance agreement.

    jackknife: the interval comes from leaving out one document at a time. Two raters share few documents, and a ranking
    by these gets worse if some are drawn twice and others not at all, so bootstrap draws would lie below the estimate.
    """

    key: str
    estimate: OfDocuments
    tolerance: float | None = None
    expected: float | None = None
    observed: OfDocuments | None = None
    jackknife: bool = False
    chance: float | None = None

    @property
    def bootstrap_statistic(self) -> OfDocuments:
        """The statistic that is bootstrapped; it gives NaN if the interval comes from the jackknife."""
        return _not_drawn if self.jackknife else self.estimate


def _not_drawn(weights: Floats) -> Floats:
    return np.full(len(weights), np.nan)


@dataclass(frozen=True, slots=True)
class CoefficientSettings:
    """Tolerances and categories with which the coefficients are computed.

    tolerances: in the unit of the score. levels: K in the closed form of chance agreement, None if it is not computed.
    step: of the scale. bins: number of equal parts of the scale that serve as categories; None uses the levels of the
    scale if there are few.
    """

    tolerances: tuple[float, ...]
    levels: int | None
    step: float
    bins: int | None
    scale: ScoreScale | None


@dataclass(frozen=True, slots=True)
class LevelAgreementInput:
    """Everything that the coefficients of a level are computed from. units: those with at least two raters."""

    level: Level
    units: ValuesByUnit
    n_single: int
    statistics: tuple[AgreementCoefficientEstimator, ...]
    components: UnitRaterVariances | None
    block: icc.CompleteBlock | None
    categories: int | None


def make_level_agreement_input(level: Level, units: ValuesByUnit, settings: CoefficientSettings) -> LevelAgreementInput:
    """Collect the coefficients of one level."""
    paired = units.with_two_or_more_values()
    model = fit_unit_rater_variances(paired)
    block = icc.find_largest_complete_block(paired)
    sorted_out = categorize_units(paired, settings) if level != "averaged" else None
    coefficients: list[AgreementCoefficientEstimator] = []
    if paired.n_units:
        coefficients += _coefficients_of_scores(level, paired, settings, model)
        coefficients += _intraclass(paired, block, model)
        if sorted_out is not None:
            every = categorize_units(units, settings)
            coefficients += _coefficients_of_categories(
                sorted_out[0], sorted_out[1], model, every=every[0] if every else sorted_out[0]
            )
    n_categories = None if sorted_out is None else sorted_out[1]
    return LevelAgreementInput(
        level, paired, units.n_units - paired.n_units, tuple(coefficients), model, block, n_categories
    )


def categorize_units(units: ValuesByUnit, settings: CoefficientSettings) -> tuple[ValuesByUnit, int] | None:
    """Return the units with categories 0 … K−1 as values, and K; None if the scale cannot be divided into categories.

    The categories are equal parts of the scale if `bins` is set, else the levels of the scale if there are few. On a
    scale without ends, such as a number of errors, `bins` makes the categories 0, 1, 2 … and the last one takes all
    higher values. The mean of repeats goes to the nearest level, or to the lower of two equally near ones.
    """
    scale = settings.scale
    if scale is None or not np.isfinite(scale.maximum - scale.minimum):
        if settings.bins is None:
            return None
        return units.with_replaced_values(np.clip(np.floor(units.value + SLACK), 0, settings.bins - 1)), settings.bins
    wide = scale.maximum - scale.minimum
    if settings.bins is not None:
        code = np.clip(np.floor((units.value - scale.minimum) / wide * settings.bins + SLACK), 0, settings.bins - 1)
        return units.with_replaced_values(code), settings.bins
    n = round(wide / (scale.step or 1.0)) + 1
    if n > MOST_LEVELS:
        return None
    code = np.clip(np.ceil((units.value - scale.minimum) / (scale.step or 1.0) - 0.5 - SLACK), 0, n - 1)
    return units.with_replaced_values(code), n


def _coefficients_of_scores(
    level: Level, units: ValuesByUnit, settings: CoefficientSettings, model: UnitRaterVariances | None
) -> Iterator[AgreementCoefficientEstimator]:
    pool = count_pooled_values(units)
    for t in settings.tolerances:
        yield from _kappas(units, pool, t, settings, model)
    agreement = None if model is None else model.icc_agreement
    yield AgreementCoefficientEstimator(
        "alpha_interval", alpha.krippendorff_alpha(units, "interval"), expected=agreement
    )
    yield AgreementCoefficientEstimator(
        "alpha_ordinal", alpha.krippendorff_alpha(units, "ordinal", pool=pool), expected=_icc_of_ranks(units, pool)
    )
    if pool.values[0] >= 0 and pool.values.size <= MOST_DISTINCT:
        yield AgreementCoefficientEstimator("alpha_ratio", alpha.krippendorff_alpha(units, "ratio", pool=pool))
    for t in sorted({0.0, *settings.tolerances}):
        yield _nominal(units, pool, t, settings, model)
    if not pairs.has_too_many_value_pairs(units):
        consistency = None if model is None else model.icc_consistency
        yield AgreementCoefficientEstimator("mean_pearson", pairs.mean_rater_pair_pearson(units), expected=consistency)
        if level == "segments" and np.unique(units.system).size > 1:
            yield AgreementCoefficientEstimator("tau_single_documents", rankings.mean_tau_within_documents(units))
            yield AgreementCoefficientEstimator(
                "tau_all_documents", rankings.mean_tau_of_overall_rankings(units), jackknife=True
            )
    yield AgreementCoefficientEstimator("mean_difference", _mean_distance(units))


def _kappas(
    units: ValuesByUnit,
    pool: PooledValueCounts,
    t: float,
    settings: CoefficientSettings,
    model: UnitRaterVariances | None,
) -> Iterator[AgreementCoefficientEstimator]:
    observed = kappa.pair_share_within_tolerance(units, t, pool)
    closed = compute_closed_form_chance_agreement(settings, t)
    share = None if model is None else model.rater_agreement_within_tolerance(t, settings.step)
    if closed is not None:
        of = kappa.tolerance_kappa(units, t, chance=closed, pool=pool)
        yield AgreementCoefficientEstimator(
            "kappa", of, t, _agreement_beyond_chance(share, closed), observed, chance=closed
        )
    of = kappa.tolerance_kappa(units, t, pool=pool)
    expected = (
        None
        if model is None
        else _agreement_beyond_chance(share, model.chance_agreement_within_tolerance(t, settings.step))
    )
    histogram = pool.weighted_counts(units.equal_document_weights())
    by_pool = float(pool.count_value_pairs_within_tolerance(histogram, t)[0]) / units.value.size**2
    yield AgreementCoefficientEstimator("kappa_pooled", of, t, expected, observed, chance=by_pool)


def compute_closed_form_chance_agreement(settings: CoefficientSettings, tolerance: float) -> float | None:
    """Return P_e of the closed form; None if the scale has no ends or all its values are within the tolerance."""
    steps = int(np.floor(tolerance / settings.step + SLACK)) if settings.step else 0
    if settings.levels is None or steps >= settings.levels - 1:
        return None
    return kappa.compute_chance_agreement_within_steps(settings.levels, steps)


def _agreement_beyond_chance(share: float | None, chance: float) -> float | None:
    return None if share is None or 1 - chance <= SLACK else (share - chance) / (1 - chance)


def _icc_of_ranks(units: ValuesByUnit, pool: PooledValueCounts) -> float | None:
    """ICC(A,1) of the model fitted to the mid-ranks of the pooled values."""
    counts = np.bincount(pool.code)
    model = fit_unit_rater_variances(units.with_replaced_values((np.cumsum(counts) - counts / 2)[pool.code]))
    return None if model is None else model.icc_agreement


def _nominal(
    units: ValuesByUnit,
    pool: PooledValueCounts,
    t: float,
    settings: CoefficientSettings,
    model: UnitRaterVariances | None,
) -> AgreementCoefficientEstimator:
    of = alpha.krippendorff_alpha(units, "nominal", tolerance=t, pool=pool)
    if model is None:
        return AgreementCoefficientEstimator("alpha_nominal", of, t)
    return AgreementCoefficientEstimator(
        "alpha_nominal",
        of,
        t,
        _agreement_beyond_chance(
            model.rater_agreement_within_tolerance(t, settings.step),
            model.chance_agreement_within_tolerance(t, settings.step),
        ),
    )


def _mean_distance(units: ValuesByUnit) -> OfDocuments:
    size = units.n_values_by_unit()
    sums = units.sum_by_document(np.column_stack((sum_pair_distances(units), size * (size - 1) / 2)))

    def value(weights: Floats) -> Floats:
        total, n = (weights @ sums).T
        return np.where(n > 0, total / np.maximum(n, 1), np.nan)

    return value


def _intraclass(
    units: ValuesByUnit, block: icc.CompleteBlock | None, model: UnitRaterVariances | None
) -> Iterator[AgreementCoefficientEstimator]:
    agreement, consistency = (None, None) if model is None else (model.icc_agreement, model.icc_consistency)
    yield AgreementCoefficientEstimator("icc_1", icc.icc_one_way(units), expected=agreement)
    if block is not None:
        yield AgreementCoefficientEstimator("icc_a1", icc.icc_two_way(block, "A1"), expected=agreement)
        yield AgreementCoefficientEstimator("icc_c1", icc.icc_two_way(block, "C1"), expected=consistency)
    yield AgreementCoefficientEstimator("icc_k", icc.icc_one_way(units, mean_of_raters=True))
    if block is not None:
        yield AgreementCoefficientEstimator("icc_ak", icc.icc_two_way(block, "Ak"))
        yield AgreementCoefficientEstimator("icc_ck", icc.icc_two_way(block, "Ck"))


def _coefficients_of_categories(
    units: ValuesByUnit, n: int, model: UnitRaterVariances | None, *, every: ValuesByUnit
) -> Iterator[AgreementCoefficientEstimator]:
    """Yield the coefficients of categories. every: all units, including those rated once."""
    counts = np.bincount(units.value.astype(np.intp), minlength=n).astype(np.float64)
    shares = counts / counts.sum()
    joint = None if model is None else compute_joint_category_probabilities(shares, model.icc_agreement)
    forms: tuple[kappa.Weights, ...] = ("identity", "quadratic")
    for weights in forms:
        like = kappa.make_agreement_weights(n, weights)
        share = None if joint is None else float((joint * like).sum())
        chance = float(shares @ like @ shares)
        key = "fleiss" if weights == "identity" else "weighted_kappa"
        yield AgreementCoefficientEstimator(
            key,
            kappa.fleiss_kappa(units, n, weights=weights),
            expected=_agreement_beyond_chance(share, chance),
            chance=chance,
        )
        chance = float(like.sum() / (n * (n - 1)) * (shares * (1 - shares)).sum()) if n > 1 else 1.0
        key = "ac1" if weights == "identity" else "ac2"
        yield AgreementCoefficientEstimator(
            key, kappa.gwet_ac(every, n, weights=weights), expected=_agreement_beyond_chance(share, chance)
        )


def make_weighted_rater_pair_counter(units: ValuesByUnit) -> Callable[[Floats], float]:
    """Return a function that counts the pairs of raters on documents with the given weights."""
    size = units.n_values_by_unit()
    sums = units.sum_by_document(size * (size - 1) / 2)
    return lambda weights: float((weights @ sums)[0])
