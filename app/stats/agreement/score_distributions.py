"""How raters use the scale on the same units, and the scores systems get: means, spread, scale ends, levels.

Source: Riley et al. 2024, Fig. 1; docs/reports/distributions.md.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from app.stats.agreement.pairs import pearson
from app.stats.agreement.units import SLACK, ValuesByUnit
from app.stats.plain_values import number_or_none
from app.stats.ratings import Bools, Floats, ScoreScale

MOST_LEVELS, BINS = 12, 20
TAIL = 0.99


@dataclass(frozen=True, slots=True)
class RaterScoreDistribution:
    """Scores of one rater on the units that somebody else rated too.

    sd: ddof 1, None below two scores. shift: mean of the unit medians minus the rater's mean, on the same units.
    others: mean of the other raters' means on the same units. correlation: Pearson with the mean of the others.
    at_minimum, at_maximum: share of scores at the ends of the scale; without a scale, the lowest score of all and None.
    shares: in the bins of the whole report.
    """

    rater: str
    n: int
    mean: float
    sd: float | None
    median: float
    others: float
    shift: float
    correlation: float | None
    at_minimum: float
    at_maximum: float | None
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SystemScoreDistribution:
    """One system over all its units. mean: of unit means. mean_of_medians: of unit medians over raters (Licht et al.).
    per_1000_words: penalty per 1,000 source words, None if scores are not penalties or word counts are unknown."""

    system: str
    n_units: int
    n: int
    mean: float
    mean_of_medians: float
    at_minimum: float
    at_maximum: float | None
    shares: tuple[float, ...]
    per_1000_words: float | None = None


@dataclass(frozen=True, slots=True)
class HistogramBins:
    """edges: shape (K + 1,); every bin but the last excludes its upper edge. discrete: every bin is one level."""

    edges: Floats
    labels: tuple[str, ...]
    discrete: bool

    def shares(self, values: Floats) -> tuple[float, ...]:
        """Share of the values, shape (n,), in each of the K bins; all 0 without values."""
        at = np.clip(np.searchsorted(self.edges, values + SLACK, side="right") - 1, 0, len(self.labels) - 1)
        shares = np.bincount(at, minlength=len(self.labels)) / max(values.size, 1)
        return tuple(shares.tolist())


def make_histogram_bins(values: Floats, scale: ScoreScale | None) -> HistogramBins:
    """One bin per level if there are few; else equal widths over the scale or, without one, to the 99th percentile.

    >>> make_histogram_bins(np.array([1.0, 3.0]), ScoreScale(1, 5, 1)).labels
    ('1', '2', '3', '4', '5')
    """
    distinct: Floats = np.unique(values)
    if scale is not None and scale.step and (scale.maximum - scale.minimum) / scale.step < MOST_LEVELS:
        n_levels = round((scale.maximum - scale.minimum) / scale.step) + 1
        distinct = np.asarray(scale.minimum + scale.step * np.arange(n_levels), dtype=np.float64)
    if distinct.size <= MOST_LEVELS:
        middle = (distinct[1:] + distinct[:-1]) / 2
        top = distinct[-1:] if distinct.size else np.zeros(1)
        edges = np.concatenate((distinct[:1], middle, top)) if distinct.size else np.zeros(2)
        return HistogramBins(edges, tuple(f"{x:g}" for x in distinct) or ("–",), discrete=True)
    low = float(scale.minimum) if scale else float(distinct[0])
    high = float(scale.maximum) if scale else low + BINS * _round_width((float(np.quantile(values, TAIL)) - low) / BINS)
    edges = np.linspace(low, high, BINS + 1)
    labels = [f"{a:.4g} to {b:.4g}" for a, b in itertools.pairwise(edges)]
    if scale is None:
        labels[-1] = f"{edges[-2]:.4g} and more"
    return HistogramBins(edges, tuple(labels), discrete=False)


def _round_width(width: float) -> float:
    """Round up to the next of 1, 2, 2.5, 5 and 10 times a power of ten.

    >>> _round_width(1.8), _round_width(0.03)
    (2.0, 0.05)
    """
    if width <= 0:
        return 1.0
    decade = 10.0 ** np.floor(np.log10(width))
    return float(next(round(step * decade, 12) for step in (1, 2, 2.5, 5, 10) if step * decade >= width * (1 - SLACK)))


def compute_unit_medians(units: ValuesByUnit) -> Floats:
    """Median over raters of each unit (the midpoint if the number is even), shape (U,)."""
    order = np.lexsort((units.value, units.unit))
    size, starts = units.n_values_by_unit(), units.unit_starts()
    value = units.value[order]
    return np.asarray((value[starts + (size - 1) // 2] + value[starts + size // 2]) / 2, dtype=np.float64)


def select_raters_of_every_unit(units: ValuesByUnit) -> ValuesByUnit:
    """Keep only the raters who rated every unit; the result is empty if no rater did."""
    rated = np.bincount(units.rater, minlength=len(units.raters))
    return units.where((rated == units.n_units)[units.rater])


def compute_rater_score_distributions(
    units: ValuesByUnit, bins: HistogramBins, scale: ScoreScale | None
) -> tuple[RaterScoreDistribution, ...]:
    """Describe every rater on the units that somebody else rated too, sorted by name."""
    units = units.with_two_or_more_values()
    middle, size = compute_unit_medians(units), units.n_values_by_unit()
    total = np.bincount(units.unit, weights=units.value, minlength=units.n_units)
    rest = (total[units.unit] - units.value) / np.maximum(size[units.unit] - 1, 1)
    spreads = []
    for code in np.unique(units.rater).tolist():
        mine = units.rater == code
        value, low_high = units.value[mine], _shares_at_ends(units.value[mine], units.value, scale)
        spreads.append(
            RaterScoreDistribution(
                rater=units.raters[code],
                n=value.size,
                mean=float(value.mean()),
                sd=float(value.std(ddof=1)) if value.size > 1 else None,
                median=float(np.median(value)),
                others=float(rest[mine].mean()),
                shift=float(middle[units.unit[mine]].mean() - value.mean()),
                correlation=number_or_none(pearson(value, rest[mine])),
                at_minimum=low_high[0],
                at_maximum=low_high[1],
                shares=bins.shares(value),
            )
        )
    return tuple(spreads)


def _shares_at_ends(value: Floats, pool: Floats, scale: ScoreScale | None) -> tuple[float, float | None]:
    low = float(pool.min()) if scale is None else scale.minimum
    top = None if scale is None else float((np.abs(value - scale.maximum) <= SLACK).mean())
    return float((np.abs(value - low) <= SLACK).mean()), top


def compute_system_score_distributions(
    units: ValuesByUnit,
    labels: tuple[str, ...],
    bins: HistogramBins,
    scale: ScoreScale | None,
    *,
    words: Floats | None = None,
) -> tuple[SystemScoreDistribution, ...]:
    """Describe every system that has a unit, by name. words: in each unit's source, NaN if unknown; None: not used."""
    size, middle = units.n_values_by_unit(), compute_unit_medians(units)
    mean = np.bincount(units.unit, weights=units.value, minlength=units.n_units) / np.maximum(size, 1)
    spreads = []
    for code in np.unique(units.system).tolist():
        own = units.system == code
        value = units.value[own[units.unit]]
        low, top = _shares_at_ends(value, units.value, scale)
        spreads.append(
            SystemScoreDistribution(
                system=labels[code],
                n_units=int(own.sum()),
                n=value.size,
                mean=float(mean[own].mean()),
                mean_of_medians=float(middle[own].mean()),
                at_minimum=low,
                at_maximum=top,
                shares=bins.shares(value),
                per_1000_words=None if words is None else _per_thousand(mean, words, own),
            )
        )
    return tuple(spreads)


def _per_thousand(mean: Floats, words: Floats, own: Bools) -> float | None:
    known = own & np.isfinite(words)
    total = float(words[known].sum())
    return float(mean[known].sum() / total * 1000) if total > 0 else None


def rank_values(values: list[float | None], *, higher_is_better: bool) -> list[int | None]:
    """Rank of each value, 1 for the best; ties share the smaller number. None stays None."""
    known = np.array(sorted((v for v in values if v is not None), reverse=higher_is_better), dtype=np.float64)
    sign = -1 if higher_is_better else 1
    at: Floats = np.round(sign * known, 10)
    return [None if v is None else int(np.searchsorted(at, np.round(sign * v, 10))) + 1 for v in values]
