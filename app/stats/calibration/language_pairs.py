"""Systems of several language pairs on one scale: medians over raters, means over sentence pairs, lines, intervals.

Sources: Licht et al. 2022, §5.2 (median, then mean; shifts), §4 (shift of each rater). The intervals resample
documents and calibration pairs together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from app.stats.agreement.score_distributions import compute_unit_medians
from app.stats.agreement.units import ValuesByUnit
from app.stats.calibration.calibration_lines import (
    CalibrationFixedPoints,
    Method,
    compute_slopes_and_intercepts,
    convert_fixed_points_to_arrays,
    make_calibration_fixed_points,
)
from app.stats.document_draws import compute_draws_per_block, iterate_bootstrap_document_counts, sum_documents_by_draw
from app.stats.plain_values import interval_or_none
from app.stats.ratings import Codes, Floats

Indices = npt.NDArray[np.intp]
FEWEST_DRAWS = 0.9
"""No interval is given if a line is defined in less than this share of the draws."""


@dataclass(frozen=True, slots=True)
class CalibrationPairRatings:
    """Calibration pairs that raters of a language judged.

    units: one unit per pair. pair: number of each unit's pair, common to all languages. consensus: its agreed score.
    Both have shape (U,).
    """

    units: ValuesByUnit
    pair: Indices
    consensus: Floats


@dataclass(frozen=True, slots=True)
class LanguagePairRatings:
    """One language pair in one direction. systems, humans: units of system outputs and of human references."""

    name: str
    systems: ValuesByUnit
    humans: ValuesByUnit
    anchors: CalibrationPairRatings
    sign: int = 1


@dataclass(frozen=True, slots=True)
class CalibratedScore:
    """A score under one method. value: None if `why` gives a reason. interval: None if too few draws had a line."""

    value: float | None
    interval: tuple[float, float] | None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class CalibratedSystemScores:
    """One system of a language pair. raw: S, the mean over its sentence pairs of the medians over raters."""

    system: int
    n_units: int
    n_ratings: int
    raw: float
    moved: Mapping[Method, CalibratedScore]


def compute_mean_of_medians(units: ValuesByUnit) -> float:
    """Mean over units of the median over raters; NaN without units.

    Source: Licht et al. 2022, §5.2.
    """
    return float(compute_unit_medians(units).mean()) if units.n_units else float("nan")


def compute_language_pair_fixed_points(pair: LanguagePairRatings, target: float | None) -> CalibrationFixedPoints:
    """Compute the fixed points of a language pair: C and c over the same pairs, h over all its human references."""
    consensus = float(pair.anchors.consensus.mean()) if pair.anchors.units.n_units else float("nan")
    anchors = compute_mean_of_medians(pair.anchors.units)
    goal = float("nan") if target is None else target
    return make_calibration_fixed_points(consensus, anchors, goal, compute_mean_of_medians(pair.humans), pair.sign)


def compute_default_calibration_target(pairs: Sequence[LanguagePairRatings]) -> float | None:
    """Default for H: the unweighted mean of h over the directions that have one; None if none has."""
    means = [h for h in (compute_mean_of_medians(one.humans) for one in pairs) if np.isfinite(h)]
    return float(np.mean(means)) if means else None


@dataclass(frozen=True, slots=True)
class LanguagePairBootstrap:
    """How often each document of a language pair, and each calibration pair of the set, counts in each draw.

    Counts are drawn on demand, identically each time, because holding all of them may take gigabytes.
    held: codes of the documents that are resampled, out of n_documents.
    """

    held: npt.NDArray[np.integer]
    n_documents: int
    n_pairs: int
    draws: int
    seed: int
    number: int

    def means_in_document_draws(self, samples: Sequence[tuple[Floats, Codes]]) -> list[Floats]:
        """Mean of each sample (values, document codes) in every draw, shapes (n,), (n,) → (draws,) each."""
        return _weighted_means(self._count_documents(), self.n_documents, samples)

    def means_in_calibration_pair_draws(self, samples: Sequence[tuple[Floats, Indices]]) -> list[Floats]:
        """Mean of each sample (values, pair numbers) in every draw, shapes (n,), (n,) → (draws,) each."""
        rng = np.random.default_rng([self.seed, 2])
        return _weighted_means(iterate_bootstrap_document_counts(rng, self.n_pairs, self.draws), self.n_pairs, samples)

    def _count_documents(self) -> Iterator[Floats]:
        rng, rows = np.random.default_rng([self.seed, 1, self.number]), compute_draws_per_block(self.n_documents)
        for drawn in iterate_bootstrap_document_counts(rng, self.held.size, self.draws, rows=rows):
            counts = np.zeros((len(drawn), self.n_documents))
            counts[:, self.held] = drawn
            yield counts


def draw_language_pair_bootstrap(
    pair: LanguagePairRatings, n_pairs: int, *, draws: int, seed: int, number: int
) -> LanguagePairBootstrap:
    """Resample the documents of the language pair and the calibration pairs; all languages share the drawn pairs."""
    held = np.unique(np.concatenate((pair.systems.document, pair.humans.document)))
    n = max(pair.systems.n_documents, pair.humans.n_documents)
    return LanguagePairBootstrap(held, n, n_pairs, draws, seed, number)


def _weighted_means(
    counts: Iterable[Floats], size: int, samples: Sequence[tuple[Floats, Indices | Codes]]
) -> list[Floats]:
    """Mean of each sample, weighting a value by the count of its group; NaN if no value counts. counts: (B, size)."""
    sums = [
        np.bincount(group, weights=weights, minlength=size).astype(np.float64)
        for values, group in samples
        for weights in (values, None)
    ]
    drawn = sum_documents_by_draw(counts, sums)
    return [
        np.asarray(np.divide(total, weight, out=np.full(weight.size, np.nan), where=weight > 0), dtype=np.float64)
        for total, weight in zip(drawn[::2], drawn[1::2], strict=True)
    ]


def calibrate_systems(
    pair: LanguagePairRatings,
    target: float | None,
    unavailable_reasons: Mapping[Method, str | None],
    drawn: LanguagePairBootstrap,
    *,
    level: float = 0.95,
) -> tuple[CalibratedSystemScores, ...]:
    """Calibrate every system of a language pair by every method. unavailable_reasons: None if available."""
    here = compute_language_pair_fixed_points(pair, target)
    single = convert_fixed_points_to_arrays(here)
    middle = compute_unit_medians(pair.systems)
    codes = np.unique(pair.systems.system).tolist()
    owns = [pair.systems.system == code for code in codes]
    consensus, anchors = drawn.means_in_calibration_pair_draws(
        [(values, pair.anchors.pair) for values in (pair.anchors.consensus, compute_unit_medians(pair.anchors.units))]
    )
    human, *by_system = drawn.means_in_document_draws(
        [
            (compute_unit_medians(pair.humans), pair.humans.document),
            *((middle[own], pair.systems.document[own]) for own in owns),
        ]
    )
    # The target is a parameter, so it is not resampled.
    at = (consensus, anchors, np.full(human.size, np.nan if target is None else target), human)
    rows = []
    for code, own, redrawn in zip(codes, owns, by_system, strict=True):
        raw = float(middle[own].mean())
        moved = {}
        for method, why in unavailable_reasons.items():
            if why is not None:
                moved[method] = CalibratedScore(None, None, why)
                continue
            slope, intercept = compute_slopes_and_intercepts(method, *single, sign=pair.sign)
            slopes, intercepts = compute_slopes_and_intercepts(method, *at, sign=pair.sign)
            ends = _percentile_interval(slopes * redrawn + intercepts, level)
            moved[method] = CalibratedScore(float(slope[0] * raw + intercept[0]), ends)
        n_ratings = int(own[pair.systems.unit].sum())
        rows.append(CalibratedSystemScores(code, int(own.sum()), n_ratings, raw, moved))
    return tuple(rows)


def _percentile_interval(values: Floats, level: float) -> tuple[float, float] | None:
    held = values[np.isfinite(values)]
    if not held.size or held.size < FEWEST_DRAWS * values.size or held.size < 2:
        return None
    low, high = np.quantile(held, [(1 - level) / 2, (1 + level) / 2])
    return interval_or_none(float(low), float(high))


def calibrate_by_rater(
    pair: LanguagePairRatings, method: Method, target: float | None
) -> tuple[LanguagePairRatings, dict[str, CalibrationFixedPoints], tuple[str, ...]]:
    """Move each rater's scores by the rater's own line; return them, the fixed points and the raters left unmoved.

    C, c and h are means over what the rater judged; medians and means are computed afterwards. The calibration pairs
    and the human references are moved too, so that the remaining distance becomes visible.

    Source: Licht et al. 2022, §4.
    """
    size = len(pair.systems.raters)
    consensus, anchor_means = (
        _rater_mean(pair.anchors.units, v, size)
        for v in (pair.anchors.consensus[pair.anchors.units.unit], pair.anchors.units.value)
    )
    human = _rater_mean(pair.humans, pair.humans.value, size)
    goal = np.full(size, np.nan if target is None else target)
    slope, intercept = compute_slopes_and_intercepts(method, consensus, anchor_means, goal, human, pair.sign)
    usable = np.isfinite(slope) & np.isfinite(intercept)
    slope, intercept = np.where(usable, slope, 1.0), np.where(usable, intercept, 0.0)

    def moved(units: ValuesByUnit) -> ValuesByUnit:
        return units.with_replaced_values(slope[units.rater] * units.value + intercept[units.rater])

    names = pair.systems.raters
    known = {
        names[i]: make_calibration_fixed_points(consensus[i], anchor_means[i], goal[i], human[i], pair.sign)
        for i in range(size)
    }
    left = tuple(names[i] for i in np.unique(pair.systems.rater).tolist() if not usable[i])
    anchors = replace(pair.anchors, units=moved(pair.anchors.units))
    return replace(pair, systems=moved(pair.systems), humans=moved(pair.humans), anchors=anchors), known, left


def _rater_mean(units: ValuesByUnit, value: Floats, size: int) -> Floats:
    n = np.bincount(units.rater, minlength=size)
    total = np.bincount(units.rater, weights=value, minlength=size)
    return np.asarray(np.divide(total, n, out=np.full(size, np.nan), where=n > 0), dtype=np.float64)
