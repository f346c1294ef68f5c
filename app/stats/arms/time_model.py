"""What makes judging take longer: a mixed model of log judgment time.

log seconds = condition + log words + marked errors + position in the document + position in the rater's work
+ rater + rater × condition + document + e; the last four are random. The model compares conditions as if raters,
documents, errors and practice were the same in all of them, and tests a difference against its spread over raters.

Source: Henderson 1984 and Patterson & Thompson 1971 (`app/stats/components/crossed.py`); the choice of terms is
explained in docs/reports/arms.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt
from typing import Final

import numpy as np
import scipy

from app.stats.aggregate import Indices
from app.stats.components.crossed import MixedModelFit, TooManyLevels, find_independent_columns, fit_crossed_model
from app.stats.plain_values import Interval, interval_or_none
from app.stats.rating_metadata import Micros
from app.stats.ratings import Bools, Codes, Floats, encode_column_combinations

COVARIATES: Final = ("words", "errors", "position", "practice")
FEWEST = 30
"""Fewest timed judgments for which a model is fitted."""
TEN, HUNDRED = 10.0, 100.0


@dataclass(frozen=True, slots=True)
class TimeModelObservations:
    """Timed judgments of segments, in any order; all of shape (n,).

    seconds: above 0. rater, document, condition: codes; condition 0 is the baseline. words: in the source. errors:
    marked. Both are NaN if unknown. position: of the segment in its document, from 1. at: time of submission.
    """

    seconds: Floats
    rater: Codes
    document: Codes
    condition: Codes
    words: Floats
    errors: Floats
    position: Codes
    at: Micros


@dataclass(frozen=True, slots=True)
class EffectOnLogSeconds:
    """One effect on log seconds. what: `condition` with its code, else a covariate and condition −1.

    estimate, error: on the log scale. For `words` the estimate is an exponent (1 means twice the words take twice the
    time); other covariates are per marked error, per ten segments further on, or per hundred earlier judgments.
    factor: exp(estimate), how many times as long judging takes. interval: of the factor, or of the exponent for
    `words`. degrees: of freedom, None for the normal distribution.
    """

    what: str
    condition: int
    estimate: float
    error: float
    factor: float
    interval: Interval | None
    p_value: float | None
    degrees: int | None


@dataclass(frozen=True, slots=True)
class JudgmentTimeModel:
    """A fitted model of log judgment time.

    sd: of each random term and of the residual, on the log scale. left_out: omitted terms, with reasons.
    n, raters, documents: numbers in the data. converged: whether the optimum was found.
    """

    effects: tuple[EffectOnLogSeconds, ...]
    sd: dict[str, float]
    left_out: tuple[tuple[str, str], ...]
    n: int
    raters: int
    documents: int
    converged: bool


def fit_time_model(judgments: TimeModelObservations, *, level: float = 0.95) -> JudgmentTimeModel | str:
    """Fit the time model; return the reason as text if it cannot be fitted.

    The model omits covariates that are unknown for a judgment, constant or determined by the others, and random terms
    that the data cannot separate. Contrasts of conditions use Student's t. Its degrees of freedom are the number of
    raters in several conditions − 1, or raters − conditions if fewer than two raters are. `words` uses Student's t
    with documents − 2 degrees of freedom; other covariates use the normal distribution.
    """
    if judgments.seconds.size < FEWEST:
        return f"fewer than {FEWEST} timed judgments"
    y = np.log(judgments.seconds)
    if np.ptp(y) <= 1e-9:
        return "every judgment took the same time"
    names, columns, left_out = _columns(judgments)
    kept = find_independent_columns(columns)
    left_out += [
        (_label(names[i]), "constant, or determined by the others") for i in range(len(names)) if i not in kept
    ]
    terms, more = _terms(judgments)
    try:
        fit = fit_crossed_model(y, columns[:, kept], terms)
    except TooManyLevels as error:
        return str(error)
    raters, documents = np.unique(judgments.rater).size, np.unique(judgments.document).size
    effects = [
        _effect(names[i], fit, place, _degrees(judgments, names[i][0], documents), level)
        for place, i in enumerate(kept.tolist())
        if names[i][0] != "intercept"
    ]
    sd = {term: sqrt(variance) for term, variance in fit.components.items()}
    return JudgmentTimeModel(tuple(effects), sd, (*left_out, *more), fit.n, raters, documents, fit.converged)


Named = tuple[str, int]


def _label(name: Named) -> str:
    return name[0] if name[1] < 0 else f"{name[0]} {name[1]}"


def _columns(judgments: TimeModelObservations) -> tuple[list[Named], Floats, list[tuple[str, str]]]:
    """Intercept, conditions, and centred covariates that are known for every judgment."""
    names: list[Named] = [("intercept", -1)]
    columns = [np.ones(judgments.seconds.size)]
    for code in np.unique(judgments.condition).tolist():
        if code:
            names.append(("condition", code))
            columns.append((judgments.condition == code).astype(np.float64))
    left_out = []
    for what, values in zip(COVARIATES, _covariates(judgments), strict=True):
        if np.isfinite(values).all():
            names.append((what, -1))
            columns.append(values - values.mean())
        else:
            left_out.append((what, "unknown for some judgments" if np.isfinite(values).any() else "not known"))
    return names, np.column_stack(columns), left_out


def _covariates(judgments: TimeModelObservations) -> tuple[Floats, Floats, Floats, Floats]:
    words = np.log(np.where(judgments.words > 0, judgments.words, np.nan))
    return words, judgments.errors, judgments.position / TEN, _practice(judgments.rater, judgments.at) / HUNDRED


def _practice(rater: Codes, at: Micros) -> Floats:
    """Number of judgments that the rater had made before each judgment."""
    order = np.lexsort((at, rater))
    starts = np.flatnonzero(np.diff(rater[order], prepend=-1))
    before = np.arange(rater.size) - np.repeat(starts, np.diff(starts, append=rater.size))
    practice = np.empty(rater.size)
    practice[order] = before
    return practice


def _terms(judgments: TimeModelObservations) -> tuple[dict[str, Indices], list[tuple[str, str]]]:
    """Random terms that the data can separate: two or more levels, a level with two judgments, and not confounded."""
    rater, document = (np.unique(codes, return_inverse=True)[1] for codes in (judgments.rater, judgments.document))
    cell = encode_column_combinations(judgments.rater, judgments.condition).astype(np.intp)
    n = judgments.seconds.size
    terms: dict[str, Indices] = {}
    left_out = []
    for name, codes in (("rater", rater), ("document", document), ("rater_condition", cell)):
        why = _reason_unfit(codes, n)
        if name == "rater_condition" and why is None and not _in_several_conditions(rater, judgments.condition).any():
            why = "no rater worked under two conditions"
        if name == "document" and why is None and _same_partition(document, rater):
            why = "confounded with raters: each rater has different documents, or all have the same single document"
        if why is None:
            terms[name] = codes.astype(np.intp)
        else:
            left_out.append((name, why))
    return terms, left_out


def _reason_unfit(codes: Indices, n: int) -> str | None:
    size = int(codes.max(initial=-1)) + 1
    if size < 2:
        return "fewer than two levels"
    return "every judgment has a level of its own" if size == n else None


def _in_several_conditions(rater: Indices, condition: Codes) -> Bools:
    """Whether each rater worked under two or more conditions."""
    pairs = np.unique(np.stack((rater, condition)), axis=1)
    return np.asarray(np.bincount(pairs[0]) > 1, dtype=np.bool_)


def _same_partition(document: Indices, rater: Indices) -> bool:
    """Whether documents and raters partition the judgments identically, so that the terms are redundant."""
    pairs = np.unique(np.stack((document, rater)), axis=1).shape[1]
    return bool(pairs == int(document.max()) + 1 == int(rater.max()) + 1)


def _degrees(judgments: TimeModelObservations, what: str, documents: int) -> int | None:
    if what == "words":
        return max(documents - 2, 0)
    if what != "condition":
        return None
    crossed = int(_in_several_conditions(np.unique(judgments.rater, return_inverse=True)[1], judgments.condition).sum())
    if crossed > 1:
        return crossed - 1
    return max(np.unique(judgments.rater).size - np.unique(judgments.condition).size, 0)


def _effect(name: Named, mixed: MixedModelFit, place: int, degrees: int | None, level: float) -> EffectOnLogSeconds:
    estimate, error = float(mixed.effects[place]), sqrt(max(float(mixed.covariance[place, place]), 0.0))
    interval, p = None, None
    if degrees is None or degrees > 0:
        upper = (1 + level) / 2
        quantile = scipy.special.ndtri(upper) if degrees is None else scipy.special.stdtrit(degrees, upper)
        ends = (estimate - float(quantile) * error, estimate + float(quantile) * error)
        interval = interval_or_none(*ends) if name[0] == "words" else interval_or_none(*(_exp(end) for end in ends))
        size = -abs(estimate) / error if error > 0 else -np.inf
        p = min(1.0, 2 * float(scipy.special.ndtr(size) if degrees is None else scipy.special.stdtr(degrees, size)))
    return EffectOnLogSeconds(name[0], name[1], estimate, error, _exp(estimate), interval, p, degrees)


def _exp(value: float) -> float:
    return exp(min(value, 700.0))
