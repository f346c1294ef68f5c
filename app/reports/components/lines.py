"""A fitted variance component model as lines of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
import scipy

from app.reports.components.view import (
    AdjustedMeanLine,
    DecisionStudyLine,
    RaterSeverityLine,
    RaterSystemEffectLine,
    SystemContrastLine,
    VarianceComponentLine,
)
from app.stats.aggregate import average_ratings_per_segment, make_score_matrix, round_scores
from app.stats.components import degrees_of_freedom
from app.stats.components.bootstrap import compute_variance_component_interval
from app.stats.components.fit import RandomEffects, VarianceComponentsFit
from app.stats.components.generalizability import (
    DecisionStudyReliability,
    assign_confounded_variance_to_systems,
    compute_mean_raters_per_item,
    compute_variance_shares,
    estimate_reliability,
    estimate_system_variance,
)
from app.stats.components.terms import NAMES, RESIDUAL, TERMS
from app.stats.ratings import Floats, Ratings
from app.stats.testing.adjust import holm


def list_variance_components(
    fitted: VarianceComponentsFit, draws: Sequence[Mapping[str, float]]
) -> list[VarianceComponentLine]:
    """List every term, whether or not the model contains it; intervals are given if studies were drawn."""
    of_all, out = compute_variance_shares(fitted), {one.term: one.why for one in fitted.left_out}
    between = estimate_system_variance(fitted)
    lines = [_line("system", between, of_all["system"], None)] if len(fitted.means) > 1 else []
    for term in (*TERMS, RESIDUAL):
        if term in fitted.components:
            span = compute_variance_component_interval(draws, term) if draws else None
            lines.append(_line(term, fitted.components[term], of_all[term], span))
        else:
            lines.append(_line(term, None, None, None, out.get(term)))
    return lines


def _line(
    term: str, variance: float | None, share: float | None, span: tuple[float, float] | None, why: str | None = None
) -> VarianceComponentLine:
    return VarianceComponentLine(term=term, name=NAMES[term], variance=variance, share=share, interval=span, why=why)


def list_adjusted_system_means(fitted: VarianceComponentsFit, ratings: Ratings) -> list[AdjustedMeanLine]:
    """List the adjusted means, best first; equal means share the better rank."""
    matrix = make_score_matrix(average_ratings_per_segment(ratings), ratings.labels)
    raw = dict(zip((ratings.labels.systems[i] for i in matrix.systems), matrix.system_means(), strict=True))
    sign = ratings.better_sign
    means = round_scores(fitted.means)
    count = np.bincount(fitted.rows.system)
    errors = np.sqrt(np.maximum(np.diag(fitted.covariance), 0.0))
    names = fitted.rows.systems
    return [
        AdjustedMeanLine(
            system=names[i],
            rank=1 + int((sign * means > sign * means[i]).sum()),
            mean=float(fitted.means[i]),
            raw=float(raw[names[i]]),
            error=float(errors[i]),
            n_ratings=int(count[i]),
        )
        for i in sorted(range(len(names)), key=lambda i: (-sign * means[i], names[i]))
    ]


def list_system_contrasts(fitted: VarianceComponentsFit, sign: int) -> list[SystemContrastLine]:
    """List every pair once, with t tests that use Satterthwaite's degrees of freedom."""
    names, n = fitted.rows.systems, len(fitted.means)
    order = sorted(range(n), key=lambda i: (-sign * float(round_scores(fitted.means)[i]), names[i]))
    contrasts = [(i, j, *fitted.contrast(i, j)) for at, i in enumerate(order) for j in order[at + 1 :]]
    if not contrasts:
        return []
    differences = np.array([sign * d for *_, d, _ in contrasts])
    error = np.array([e for *_, e in contrasts])
    t = np.divide(np.abs(differences), error, out=np.full(differences.shape, np.inf), where=error > 0)
    of = degrees_of_freedom.compute_satterthwaite_degrees(fitted)
    own = np.array([of[i, j] for i, j, *_ in contrasts])
    p = 2 * scipy.special.stdtr(own, -t)
    reach = error * scipy.special.stdtrit(own, 0.975)
    return [
        SystemContrastLine(
            better=names[i],
            worse=names[j],
            difference=float(d),
            error=float(e),
            interval=(float(d - r), float(d + r)),
            degrees=float(nu),
            p_value=float(one),
            p_adjusted=float(adjusted),
        )
        for (i, j, *_), d, e, r, nu, one, adjusted in zip(
            contrasts, differences, error, reach, own, p, holm(p), strict=True
        )
    ]


def list_rater_severities(fitted: VarianceComponentsFit) -> list[RaterSeverityLine]:
    """List the severities of raters, lowest scores first."""
    effects = fitted.raters
    if effects is None:
        return []
    count = np.bincount(fitted.rows.rater, minlength=len(fitted.rows.raters))
    lows, highs = _spans(effects)
    return [
        RaterSeverityLine(
            rater=fitted.rows.raters[i],
            severity=float(effects.predicted[i]),
            interval=(float(lows[i]), float(highs[i])),
            n_ratings=int(count[i]),
        )
        for i in sorted(range(len(count)), key=lambda i: (float(effects.predicted[i]), fitted.rows.raters[i]))
    ]


def _spans(estimates: RandomEffects) -> tuple[Floats, Floats]:
    reach = float(scipy.special.ndtri(0.975)) * estimates.error
    return estimates.predicted - reach, estimates.predicted + reach


def list_rater_system_effects(fitted: VarianceComponentsFit) -> list[RaterSystemEffectLine]:
    """List the effects of every rater on every system that the rater judged."""
    effects = fitted.rater_system
    if effects is None:
        return []
    names, raters = fitted.rows.systems, fitted.rows.raters
    return [
        RaterSystemEffectLine(rater=raters[r], system=names[s], tendency=float(value), error=float(error))
        for (s, r), value, error in zip(fitted.pairs, effects.predicted, effects.error, strict=True)
    ]


def estimate_study_reliability(fitted: VarianceComponentsFit) -> DecisionStudyLine:
    """Estimate the reliability of the present study, as if every document had the mean number of raters."""
    rows = fitted.rows
    decision_study = estimate_reliability(
        assign_confounded_variance_to_systems(fitted, fitted.components),
        estimate_system_variance(fitted),
        documents=max(rows.mean_sampled_units_per_system, 1),
        segments=rows.n_segments / max(rows.n_sampled_units, 1),
        ratings=max(1, round(compute_mean_raters_per_item(fitted))),
        raters=len(rows.raters),
    )
    return make_decision_study_line(decision_study)


def make_decision_study_line(reliability: DecisionStudyReliability) -> DecisionStudyLine:
    """Return reliability in the form in which the report shows it."""
    return DecisionStudyLine(**asdict(reliability))
