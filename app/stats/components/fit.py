"""Fit the mixed model: variance components by REML, system means adjusted for who rated what, rater severity.

y = μ_system + document + segment + document × system + segment × system + rater + rater × system + rater × document
+ rater × segment + rater × document × system + e. Systems are fixed; all other terms are random, independent, normal.

Sources: Patterson & Thompson 1971 (REML); Henderson 1984 (estimates and predictions); Bates et al. 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.domain.errors import Invalid
from app.stats.aggregate import Indices
from app.stats.components.layout import ModelLayout, make_model_layout
from app.stats.components.likelihood import MixedModelEquations
from app.stats.components.observations import ModelObservations, make_model_observations
from app.stats.components.optimum import HIGHEST, LOWEST, RemlOptimum, minimize_reml
from app.stats.components.terms import RESIDUAL, OmittedTerm, select_identifiable_terms
from app.stats.ratings import Floats, Ratings

MOST_RATERS = 3_000
MOST_TOGETHER = 1_500
"""Most combinations of rater and system in one document, or ratings of one segment, because their matrix is dense."""

_SMALL = np.exp(-5.0)  # a component with a smaller ratio is tried at the bound
_WORSE = 1e-3
_CLOSE, _CLOSE_OF_DRAWS = 1e-8, 1e-4
"""How far above its minimum the criterion may end; for draws, whose spread is larger anyway, it may end further."""


class ModelNotEstimable(Invalid):
    """These ratings cannot be taken apart."""

    published = "NothingToModel"


@dataclass(frozen=True, slots=True, eq=False)
class RandomEffects:
    """Effects of the levels of a term that spans documents. predicted: BLUPs; error: of prediction. Shape (n,)."""

    predicted: Floats
    error: Floats


@dataclass(frozen=True, slots=True, eq=False)
class VarianceComponentsFit:
    """The fitted model, in score units.

    components: variance of each term of the model and of `residual`. left_out: terms not in the model, with reasons.
    at_bound: terms whose variance is 0 because it reached the lower bound. means: adjusted mean of each system, shape
    (S,). covariance: of the means, for new documents and new raters, shape (S, S). raters: severity of each rater, None
    if not estimated. rater_system: effects for the rows of `pairs` (system and rater), None if not estimated.
    converged: whether the optimum was found.
    """

    rows: ModelObservations
    components: dict[str, float]
    left_out: tuple[OmittedTerm, ...]
    at_bound: tuple[str, ...]
    means: Floats
    covariance: Floats
    raters: RandomEffects | None
    rater_system: RandomEffects | None
    pairs: Indices
    criterion: float
    converged: bool

    @property
    def terms(self) -> tuple[str, ...]:
        """The random terms of the model, without the residual."""
        return tuple(term for term in self.components if term != RESIDUAL)

    def contrast(self, first: int, second: int) -> tuple[float, float]:
        """Return the difference of two adjusted means and its standard error."""
        c = self.covariance
        variance = c[first, first] + c[second, second] - 2 * c[first, second]
        return float(self.means[first] - self.means[second]), float(np.sqrt(max(variance, 0.0)))

    def typical_contrast_error(self) -> float:
        """Square root of the mean variance of all contrasts; 0 with one system."""
        n = len(self.means)
        if n < 2:
            return 0.0
        spread = (n * np.trace(self.covariance) - self.covariance.sum()) * 2 / (n * (n - 1))
        return float(np.sqrt(max(spread, 0.0)))


def fit_variance_components(ratings: Ratings) -> VarianceComponentsFit:
    """Fit the model to the segment ratings of an analysis.

    Terms that the design cannot identify are left out and listed.

    Raises
    ------
    ModelNotEstimable
        There are no ratings, no more ratings than systems, too many raters, a document or segment too large for the
        model, or every system's scores are constant.
    """
    return fit_variance_components_to_rows(make_model_observations(ratings))


def fit_variance_components_to_rows(rows: ModelObservations) -> VarianceComponentsFit:
    """Fit the model to prepared rows, like `fit_variance_components`. Raises ModelNotEstimable."""
    _check(rows)
    known = select_identifiable_terms(rows)
    arranged = make_model_layout(rows, known.terms)
    start = known.start
    scale = start[-1] if start[-1] > 0 else max(float(start.max()), 1.0)
    ratios = np.clip(start[:-1] / scale, 0.01, HIGHEST / 2)
    reached = minimize_reml(
        MixedModelEquations(arranged, dict(zip(known.terms, ratios, strict=True))), rows.score, close=_CLOSE
    )
    reached = _at_the_bound(reached, rows.score)
    return _fit_from_optimum(rows, arranged, reached, known.left_out)


@dataclass(frozen=True)
class ModelRefitter:
    """A fitted model, prepared once for refitting to any number of other scores of the same rows."""

    fitted: VarianceComponentsFit

    @cached_property
    def _start(self) -> MixedModelEquations:
        fitted = self.fitted
        residual = fitted.components[RESIDUAL]
        ratios = {term: min(max(fitted.components[term] / residual, LOWEST), HIGHEST) for term in fitted.terms}
        return MixedModelEquations(make_model_layout(fitted.rows, fitted.terms), ratios)

    def refit_components(self, score: Floats) -> dict[str, float]:
        """Return the components of other scores for the same terms."""
        return _components(minimize_reml(self._start, score, close=_CLOSE_OF_DRAWS))


def _check(rows: ModelObservations) -> None:
    if not len(rows):
        raise ModelNotEstimable("there are no ratings")
    if len(rows) <= len(rows.systems):
        raise ModelNotEstimable("there are no more ratings than systems")
    if len(rows.raters) > MOST_RATERS:
        raise ModelNotEstimable(f"there are {len(rows.raters):,} raters; the model holds at most {MOST_RATERS:,}")
    largest = _largest_block(rows)
    if largest > MOST_TOGETHER:
        what = f"one document or segment has {largest:,} combinations of rater and system"
        raise ModelNotEstimable(f"{what}; at most {MOST_TOGETHER:,} are held")
    count = np.bincount(rows.system)
    within = rows.score - (np.bincount(rows.system, weights=rows.score) / count)[rows.system]
    if np.abs(within).max() <= 1e-9 * max(1.0, abs(rows.centre)):
        raise ModelNotEstimable("each system has constant ratings: there is no variance to decompose")


def _largest_block(rows: ModelObservations) -> int:
    """Largest number of ratings of a segment, or of combinations of rater and system in a document."""
    cells = np.unique(np.stack((rows.document, rows.system, rows.rater), axis=1), axis=0)
    in_document = int(np.bincount(cells[:, 0]).max()) if rows.documents_known else 0
    return max(in_document, int(np.bincount(rows.segment).max()))


def _at_the_bound(reached: RemlOptimum, score: Floats) -> RemlOptimum:
    """Fix small components at the bound and optimize again, unless the criterion gets worse by more than `_WORSE`."""
    ratios = reached.equations.ratios
    small = frozenset(term for term, ratio in ratios.items() if ratio < _SMALL)
    if not small:
        return reached
    tried = MixedModelEquations(reached.equations.layout, {t: LOWEST if t in small else r for t, r in ratios.items()})
    if tried.solve_and_evaluate(score).criterion > reached.solution.criterion + _WORSE:
        return reached
    return minimize_reml(tried, score, close=_CLOSE, held=small)


def _components(reached: RemlOptimum) -> dict[str, float]:
    ratios, variance = reached.equations.ratios, reached.solution.residual
    return {**{t: 0.0 if r <= LOWEST else r * variance for t, r in ratios.items()}, RESIDUAL: variance}


def _fit_from_optimum(
    rows: ModelObservations, arranged: ModelLayout, reached: RemlOptimum, left_out: tuple[OmittedTerm, ...]
) -> VarianceComponentsFit:
    n, solution = arranged.n_systems, reached.solution
    variance = solution.residual
    spanning: dict[str, RandomEffects] = {}
    at, errors = n, np.sqrt(np.maximum(np.diag(solution.inverse) * variance, 0.0))
    for term, size in arranged.sizes.items():
        some = slice(at, at + size)
        spanning[term] = RandomEffects(solution.solution[some], errors[some])
        at += size
    return VarianceComponentsFit(
        rows=rows,
        components=_components(reached),
        left_out=left_out,
        at_bound=tuple(term for term, ratio in reached.equations.ratios.items() if ratio <= LOWEST),
        means=solution.solution[:n] + rows.centre,
        covariance=solution.inverse[:n, :n] * variance,
        raters=spanning.get("rater"),
        rater_system=spanning.get("rater_system"),
        pairs=arranged.pairs,
        criterion=solution.criterion,
        converged=reached.converged,
    )
