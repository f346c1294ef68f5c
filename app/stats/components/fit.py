"""Fit the mixed model: variance components by REML, system means adjusted for who rated what, tendencies of raters.

y = μ_system + document + segment + document × system + segment × system + rater + rater × system + rater × document
+ rater × segment + rater × document × system + e: systems fixed, all else random, independent and normal.

Sources: PB-1 of the methods; decisions, §10; Henderson 1984 (estimates and predictions); Bates et al. 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np
from scipy import optimize

from app.domain.errors import Invalid
from app.stats.aggregate import Indices
from app.stats.components.layout import ModelLayout, layout
from app.stats.components.likelihood import Solution, solve
from app.stats.components.observations import Observations, observations
from app.stats.components.terms import RESIDUAL, OmittedTerm, identify
from app.stats.ratings import Bools, Floats, Ratings

LOWEST, HIGHEST = -9.0, 9.0
"""Bounds of log(σ²/σ²_e); a component at the lower one is 0."""

MOST_RATERS = 3_000
MOST_TOGETHER = 1_500
"""Combinations of rater and system in one document, or ratings of one segment: their matrix is dense."""

_SMALL = -5.0  # below this a component is tried at the bound: near 0 the criterion is too flat to get there
_WORSE = 1e-3
_RESTART = 0.02  # ratio from which a component that was 0 is looked for again


class NothingToModel(Invalid):
    """These ratings cannot be taken apart."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Levels of a term that spans documents. predicted: BLUPs; error: standard errors of prediction. Shape (n,)."""

    predicted: Floats
    error: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The fitted model, in the unit of the scores.

    components: variance of each term of the model and of `residual`. left_out: terms that are not in it, and why.
    at_bound: terms whose variance is 0 because it fell to the lower bound. means: adjusted mean of each system, shape
    (S,); covariance: of those, new documents and new raters, shape (S, S). raters: severity of each rater, None where
    not estimated. rater_system: of the rows of `pairs` (system and rater), None where not estimated. converged: whether
    the optimum was found.
    """

    rows: Observations
    components: dict[str, float]
    left_out: tuple[OmittedTerm, ...]
    at_bound: tuple[str, ...]
    means: Floats
    covariance: Floats
    raters: Estimates | None
    rater_system: Estimates | None
    pairs: Indices
    criterion: float
    converged: bool

    @property
    def terms(self) -> tuple[str, ...]:
        """The random terms of the model, without the residual."""
        return tuple(term for term in self.components if term != RESIDUAL)

    def contrast(self, first: int, second: int) -> tuple[float, float]:
        """Difference of two adjusted means, and its standard error."""
        c = self.covariance
        variance = c[first, first] + c[second, second] - 2 * c[first, second]
        return float(self.means[first] - self.means[second]), float(np.sqrt(max(variance, 0.0)))

    def typical_error(self) -> float:
        """Root of the mean variance of all contrasts; 0 with one system."""
        n = len(self.means)
        if n < 2:
            return 0.0
        spread = (n * np.trace(self.covariance) - self.covariance.sum()) * 2 / (n * (n - 1))
        return float(np.sqrt(max(spread, 0.0)))


def fit(ratings: Ratings) -> Fit:
    """Fit the model to segment ratings that an analysis uses.

    Terms that the design cannot tell apart are left out and listed.

    Raises
    ------
    NothingToModel
        There are no ratings, no more ratings than systems, too many raters (of all, or of one document), or the scores
        of no system vary.
    """
    return fit_rows(observations(ratings))


def fit_rows(rows: Observations) -> Fit:
    """The same from rows that are laid out already. Raises NothingToModel."""
    _check(rows)
    known = identify(rows)
    arranged = layout(rows, known.terms)
    start = known.start
    scale = start[-1] if start[-1] > 0 else max(float(start.max()), 1.0)
    x = np.clip(np.log(np.maximum(start[:-1] / scale, 0.01)), LOWEST + 1, HIGHEST - 1)
    x, converged = _optimum(arranged, rows.score, known.terms, x)
    low = x < _SMALL
    if low.any():
        x, converged = _at_the_bound(arranged, rows.score, known.terms, (x, converged), low)
    at_bound = tuple(term for term, value in zip(known.terms, x, strict=True) if value <= LOWEST + 1e-6)
    solution = solve(arranged, rows.score, _ratios(known.terms, x))
    return _fit_from_solution(rows, arranged, solution, (known.left_out, at_bound), _ratios(known.terms, x), converged)


def refit(fitted: Fit, arranged: ModelLayout, score: Floats) -> dict[str, float]:
    """The components of other scores on the same rows, by the same terms; `arranged` is their layout."""
    residual = fitted.components[RESIDUAL]
    start = [max(fitted.components[term] / residual, _RESTART) for term in fitted.terms]
    x = np.clip(np.log(start), LOWEST + 1, HIGHEST - 1)
    x, _ = _optimum(arranged, score, fitted.terms, x, tolerance=1e-7)
    ratios = _ratios(fitted.terms, x)
    variance = solve(arranged, score, ratios).residual
    low = LOWEST + 1e-6
    components = {t: 0.0 if at <= low else ratios[t] * variance for t, at in zip(fitted.terms, x, strict=True)}
    return {**components, RESIDUAL: variance}


def _check(rows: Observations) -> None:
    if not len(rows):
        raise NothingToModel("there are no ratings")
    if len(rows) <= len(rows.systems):
        raise NothingToModel("there are no more ratings than systems")
    if len(rows.raters) > MOST_RATERS:
        raise NothingToModel(f"there are {len(rows.raters):,} raters; the model holds at most {MOST_RATERS:,}")
    largest = _largest_block(rows)
    if largest > MOST_TOGETHER:
        what = f"one document or segment has {largest:,} combinations of rater and system"
        raise NothingToModel(f"{what}; at most {MOST_TOGETHER:,} are held")
    count = np.bincount(rows.system)
    within = rows.score - (np.bincount(rows.system, weights=rows.score) / count)[rows.system]
    if np.abs(within).max() <= 1e-9 * max(1.0, abs(rows.centre)):
        raise NothingToModel("each system has constant ratings: there is no variance to decompose")


def _largest_block(rows: Observations) -> int:
    """Ratings of the segment with most, or combinations of rater and system of the document with most."""
    cells = np.unique(np.stack((rows.document, rows.system, rows.rater), axis=1), axis=0)
    in_document = int(np.bincount(cells[:, 0]).max()) if rows.documents_known else 0
    return max(in_document, int(np.bincount(rows.segment).max()))


def _ratios(terms: tuple[str, ...], x: Floats) -> dict[str, float]:
    return {term: exp(value) for term, value in zip(terms, x, strict=True)}


def _optimum(
    arranged: ModelLayout, score: Floats, terms: tuple[str, ...], x: Floats, *, tolerance: float = 1e-11
) -> tuple[Floats, bool]:
    """Minimize the criterion from x, within the bounds; tolerance: relative, of the criterion."""
    if not terms:
        return x, True

    def criterion(at: Floats) -> tuple[float, Floats]:
        solution = solve(arranged, score, _ratios(terms, at))
        return solution.criterion, np.array([solution.gradient[term] for term in terms])

    bounds = [(LOWEST, HIGHEST)] * len(terms)
    options = {"ftol": tolerance, "gtol": 1e-4, "maxiter": 300}
    optimum = optimize.minimize(criterion, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(optimum.x, dtype=np.float64), bool(optimum.success)


def _at_the_bound(
    arranged: ModelLayout, score: Floats, terms: tuple[str, ...], optimum: tuple[Floats, bool], low: Bools
) -> tuple[Floats, bool]:
    """Put small components at the bound where that is no worse, and look again from there; else what was `found`."""
    x, _ = optimum
    tried = np.where(low, LOWEST, x)
    before = solve(arranged, score, _ratios(terms, x)).criterion
    if solve(arranged, score, _ratios(terms, tried)).criterion > before + _WORSE:
        return optimum
    return _optimum(arranged, score, terms, tried)


def _fit_from_solution(
    rows: Observations,
    arranged: ModelLayout,
    solution: Solution,
    notes: tuple[tuple[OmittedTerm, ...], tuple[str, ...]],
    ratios: dict[str, float],
    converged: bool,
) -> Fit:
    left_out, at_bound = notes
    n = arranged.n_systems
    variance = solution.residual
    components = {term: 0.0 if term in at_bound else ratio * variance for term, ratio in ratios.items()}
    spanning: dict[str, Estimates] = {}
    at, errors = n, np.sqrt(np.maximum(np.diag(solution.inverse) * variance, 0.0))
    for term, size in arranged.sizes.items():
        some = slice(at, at + size)
        spanning[term] = Estimates(solution.solution[some], errors[some])
        at += size
    return Fit(
        rows=rows,
        components={**components, RESIDUAL: variance},
        left_out=left_out,
        at_bound=at_bound,
        means=solution.solution[:n] + rows.centre,
        covariance=solution.inverse[:n, :n] * variance,
        raters=spanning.get("rater"),
        rater_system=spanning.get("rater_system"),
        pairs=arranged.pairs,
        criterion=solution.criterion,
        converged=converged,
    )
