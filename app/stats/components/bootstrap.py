"""Uncertainty of variance components by parametric bootstrap.

Scores are simulated from the fitted model for the rows of the data, and the model is fitted again.

This matters most for rater × system, because a variance estimated from a handful of raters is itself uncertain.

Source: Efron & Tibshirani 1993, §6.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.stats.aggregate import Indices
from app.stats.components.fit import ModelRefitter, VarianceComponentsFit
from app.stats.components.terms import RESIDUAL, encode_term_levels
from app.stats.ratings import Floats

MOST_ROWS = 200_000
"""Default limit on the rows refitted in all draws together."""

FEWEST, MOST = 20, 100


def choose_default_number_of_draws(n_rows: int) -> int:
    """Default number of draws for a study of this size: enough for an interval, with bounded work.

    >>> [choose_default_number_of_draws(n) for n in (3120, 59_175, 200)]
    [64, 20, 100]
    """
    return max(FEWEST, min(MOST, MOST_ROWS // max(n_rows, 1)))


@dataclass(frozen=True)
class ParametricBootstrap:
    """A fitted model, prepared once for any number of draws."""

    fitted: VarianceComponentsFit

    @cached_property
    def _refit(self) -> ModelRefitter:
        return ModelRefitter(self.fitted)

    @cached_property
    def _levels(self) -> dict[str, Indices]:
        drawn = [term for term in self.fitted.terms if self.fitted.components[term] > 0]
        return {term: encode_term_levels(self.fitted.rows, term) for term in drawn}

    def simulate_scores(self, rng: np.random.Generator) -> Floats:
        """Simulate scores from the model with equal system means, shape (N,)."""
        components = self.fitted.components
        scores = rng.normal(0.0, np.sqrt(components[RESIDUAL]), len(self.fitted.rows))
        for term, level in self._levels.items():
            scores += rng.normal(0.0, np.sqrt(components[term]), int(level.max()) + 1)[level]
        return np.asarray(scores, dtype=np.float64)

    def simulate_component_estimates(self, rng: np.random.Generator) -> dict[str, float]:
        """Simulate a new study with the same rows and return the components estimated from it."""
        return self._refit.refit_components(self.simulate_scores(rng))


def compute_variance_component_interval(
    draws: Sequence[Mapping[str, float]], term: str, *, level: float = 0.95
) -> tuple[float, float]:
    """Percentile interval of one component."""
    values = [draw[term] for draw in draws]
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
