"""Lines of a comparison of conditions: score spread, agreement, document scores, and the same outputs under both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np
from pydantic import Field

from app.reports.kit.result_part import FrozenFiniteResultModel
from app.reports.presentations.matching import list_output_addresses
from app.stats.agreement.alpha import krippendorff_alpha
from app.stats.agreement.document_scores import (
    PARTS,
    correlate_document_with_segment_scores,
    join_document_and_segment_scores,
)
from app.stats.agreement.kappa import compute_chance_agreement_within_steps, tolerance_kappa
from app.stats.agreement.pairs import (
    count_value_pairs,
    has_too_many_value_pairs,
    kendall_tau,
    list_value_pairs,
    pearson,
)
from app.stats.agreement.units import (
    LEVELS,
    Level,
    ValuesByUnit,
    make_document_units,
    make_document_units_from_segments,
    make_segment_units,
)
from app.stats.arms.score_spread import SETS, compute_score_spreads_by_document_length
from app.stats.arms.times import LONG
from app.stats.document_lengths import mask_lengths_within
from app.stats.plain_values import number_or_none
from app.stats.ratings import Codes, Ratings, ScoreScale

SLIDER_TOLERANCE = 15.0
"""From Grundkiewicz et al. 2021: 15 or 20 points of 100 are the most reasonable."""
FINE = 50


class PresentationScoreSpread(FrozenFiniteResultModel):
    """Segment scores under one condition."""

    arm: str
    documents: str = Field(description="all, short, long, or a range of segments.")
    n: int
    mean: float
    sd: float | None = Field(description="SD of all segment scores.")
    within: float | None = Field(
        description="SD pooled within documents as shown to a rater with one system's outputs."
    )
    shown: int = Field(description="Number of those documents with at least two segment scores.")


class ArmScoreHistogram(FrozenFiniteResultModel):
    """Shares of segment scores in the bins of the report."""

    arm: str
    shares: list[float]


class PresentationAgreement(FrozenFiniteResultModel):
    """How far raters agree under one condition."""

    arm: str
    level: str = Field(description="segments, documents, or averaged: means of a document's segments.")
    documents: str
    n_units: int = Field(description="Units that at least two raters judged under this condition.")
    n_pairs: int
    alpha: float | None = Field(description="Krippendorff's α, interval metric.")
    kappa: float | None = Field(description="κ with the tolerance of the report; chance by the closed form.")
    absolute: float | None = Field(
        description="Mean absolute difference of two raters; null with too many pairs to hold at once."
    )


class DocumentSegmentCorrelation(FrozenFiniteResultModel):
    """Document scores against one summary of the segment scores under one condition."""

    arm: str
    documents: str
    part: str
    n: int
    pearson: float | None
    spearman: float | None
    kendall: float | None


class SameOutputComparison(FrozenFiniteResultModel):
    """Outputs judged under the first condition and under this one, each by the mean of its ratings there."""

    arm: str
    baseline: str
    n: int
    difference: float | None = Field(
        description="Mean of this condition minus that of the first, in the unit of the score."
    )
    pearson: float | None
    n_systems: int
    tau: float | None = Field(description="τ-b between the orders of the systems by these outputs.")


def measure_score_spreads(condition_name: str, rows: Ratings) -> Iterator[PresentationScoreSpread]:
    """Yield the score spreads of one condition."""
    return (
        PresentationScoreSpread(arm=condition_name, **asdict(one))
        for one in compute_score_spreads_by_document_length(rows)
    )


def choose_agreement_tolerance(scale: ScoreScale | None) -> float | None:
    """Return 15 % of the range on a slider, one step on a scale of few levels, and None on an unbounded scale."""
    if scale is None or not np.isfinite(scale.maximum - scale.minimum):
        return None
    wide = scale.maximum - scale.minimum
    if scale.step is None or wide / scale.step + 1 >= FINE:
        return SLIDER_TOLERANCE * wide / 100
    return scale.step


def _chance(scale: ScoreScale | None, tolerance: float | None) -> float | None:
    if scale is None or tolerance is None:
        return None
    wide = scale.maximum - scale.minimum
    step = scale.step or wide / 100
    levels, steps = round(wide / step) + 1, int(tolerance / step + 1e-9)
    return compute_chance_agreement_within_steps(levels, steps) if steps < levels - 1 else None


def measure_rater_agreement(
    condition_name: str, rows: Ratings, lengths: Codes, scale: ScoreScale | None
) -> Iterator[PresentationAgreement]:
    """Yield the agreement in one condition, by level and by length. lengths: segments of each document code."""
    chance, tolerance = _chance(scale, choose_agreement_tolerance(scale)), choose_agreement_tolerance(scale)
    for level in LEVELS:
        units = _units(level, rows).with_two_or_more_values()
        for documents, low, high in SETS:
            part = units.where(mask_lengths_within(lengths.astype(np.int64), low, high)[units.document][units.unit])
            if part.n_units:
                yield _agreement(
                    condition_name, level, documents, part, tolerance if chance is not None else None, chance
                )


def _units(level: Level, rows: Ratings) -> ValuesByUnit:
    make = {
        "segments": make_segment_units,
        "documents": make_document_units,
        "averaged": make_document_units_from_segments,
    }
    return make[level](rows)


def _agreement(
    name: str, level: Level, documents: str, units: ValuesByUnit, tolerance: float | None, chance: float | None
) -> PresentationAgreement:
    pairs = None if has_too_many_value_pairs(units) else list_value_pairs(units)
    kappa = None
    if tolerance is not None:
        kappa = number_or_none(
            float(tolerance_kappa(units, tolerance, chance=chance)(units.equal_document_weights())[0])
        )
    return PresentationAgreement(
        arm=name,
        level=level,
        documents=documents,
        n_units=units.n_units,
        n_pairs=count_value_pairs(units),
        alpha=number_or_none(float(krippendorff_alpha(units, "interval")(units.equal_document_weights())[0])),
        kappa=kappa,
        absolute=None if pairs is None else float(np.abs(pairs.first - pairs.second).mean()),
    )


def measure_document_segment_correlations(condition_name: str, rows: Ratings) -> Iterator[DocumentSegmentCorrelation]:
    """Yield the correlations in one condition, by summary, document length and bucket.

    Every summary is given over all, short and long documents (more than 20 segments, as published), the mean by length.
    """
    data = join_document_and_segment_scores(rows)
    for documents, low, high in (("long", LONG + 1, None) if one[0] == "long" else one for one in SETS):
        where = mask_lengths_within(data.length.astype(np.int64), low, high)
        if not where.any():
            continue
        for part in PARTS if documents in {"all", "short", "long"} else ("mean",):
            coefficients = correlate_document_with_segment_scores(data, part, where)
            yield DocumentSegmentCorrelation(arm=condition_name, documents=documents, part=part, **asdict(coefficients))


def compare_with_first_condition(
    condition_names: Sequence[str], rows: Sequence[Ratings]
) -> Iterator[SameOutputComparison]:
    """Compare each condition with the first, on the segments that both have for the same system."""
    means = [_mean_by_output(one) for one in rows]
    for name, here in zip(condition_names[1:], means[1:], strict=True):
        shared = sorted(means[0].keys() & here.keys())
        x, y = (np.array([each[key] for key in shared]) for each in (means[0], here))
        systems, code = np.unique([key[2] for key in shared], return_inverse=True)
        size = np.bincount(code) if shared else np.empty(0)
        by_system = [np.round(np.bincount(code, weights=v) / size, 10) for v in (x, y)] if shared else [x, y]
        yield SameOutputComparison(
            arm=name,
            baseline=condition_names[0],
            n=len(shared),
            difference=float((y - x).mean()) if shared else None,
            pearson=number_or_none(pearson(x, y)) if len(shared) > 1 else None,
            n_systems=len(systems),
            tau=number_or_none(kendall_tau(*by_system)) if len(systems) > 1 else None,
        )


def _mean_by_output(rows: Ratings) -> dict[tuple[str, int, str], float]:
    """Return the mean segment score of each output."""
    rows = rows.segment_ratings()
    sums: dict[tuple[str, int, str], list[float]] = {}
    for key, score in zip(list_output_addresses(rows), rows.score.tolist(), strict=True):
        sums.setdefault(key, []).append(score)
    return {key: sum(scores) / len(scores) for key, scores in sums.items()}
