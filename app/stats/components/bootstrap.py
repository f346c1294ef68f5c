"""How uncertain variance components are: parametric bootstrap.

Scores are drawn from the fitted model on the very rows of the data, and the model is fitted again.

It matters most for rater × system: a variance estimated from a handful of raters is itself uncertain.

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
"""Rows that are fitted again in all draws together, by default."""

FEWEST, MOST = 20, 100


def default_number_of_draws(n_rows: int) -> int:
    """How many draws a study of this size gets by default: enough for an interval, bounded in work.

    >>> default_number_of_draws(3120), default_number_of_draws(59_175), default_number_of_draws(200)
    (64, 20, 100)
    """
    return max(FEWEST, min(MOST, MOST_ROWS // max(n_rows, 1)))


@dataclass(frozen=True)
class ParametricBootstrap:
    """A fitted model, made ready once for any number of draws."""

    fitted: VarianceComponentsFit

    @cached_property
    def _refit(self) -> ModelRefitter:
        return ModelRefitter(self.fitted)

    @cached_property
    def _levels(self) -> dict[str, Indices]:
        drawn = [term for term in self.fitted.terms if self.fitted.components[term] > 0]
        return {term: encode_term_levels(self.fitted.rows, term) for term in drawn}

    def simulate_scores(self, rng: np.random.Generator) -> Floats:
        """Scores drawn from the model, all systems alike, shape (N,)."""
        components = self.fitted.components
        scores = rng.normal(0.0, np.sqrt(components[RESIDUAL]), len(self.fitted.rows))
        for term, level in self._levels.items():
            scores += rng.normal(0.0, np.sqrt(components[term]), int(level.max()) + 1)[level]
        return np.asarray(scores, dtype=np.float64)

    def simulate_component_estimates(self, rng: np.random.Generator) -> dict[str, float]:
        """The components that a new study of the same rows would estimate."""
        return self._refit.refit_components(self.simulate_scores(rng))


def variance_component_interval(
    draws: Sequence[Mapping[str, float]], term: str, *, level: float = 0.95
) -> tuple[float, float]:
    """Percentile interval of one component."""
    values = [draw[term] for draw in draws]
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
