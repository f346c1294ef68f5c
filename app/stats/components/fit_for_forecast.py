"""Variance components for the forecast of a plan: fitted to existing judgments, or given as values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from app.stats.components.fit import ModelNotEstimable, fit_variance_components
from app.stats.components.generalizability import (
    compute_mean_raters_per_item,
    estimate_system_variance,
    make_planning_components,
    make_planning_components_from_fit,
)
from app.stats.components.terms import RESIDUAL, TERMS
from app.stats.planning.forecast_components import ForecastVarianceComponents
from app.stats.ratings import Ratings

MOST_ROWS = 5_000
"""Most ratings used for a fit while a user waits for a plan; larger campaigns use a sample of documents."""

FEWEST_RATINGS = 100
RATED_ONCE = ("components from outputs rated once: rater variance is partly attributed to documents and outputs",)


def parse_forecast_variance_components(value: object) -> ForecastVarianceComponents | None:
    """Parse variances by term, with optional `system` and `source`; None if the value is not a mapping.

    If the mapping is invalid, the result has no components but a reason.
    """
    if not isinstance(value, Mapping):
        return None
    names = {*TERMS, RESIDUAL, "system"}
    variances = {name: float(v) for name, v in value.items() if name in names and _is_variance(v)}
    if RESIDUAL not in variances or len(variances) < len([name for name in value if name != "source"]):
        return ForecastVarianceComponents(
            None, why="the setting components must contain variances by name, `residual` among them"
        )
    source = value.get("source")
    return ForecastVarianceComponents(
        make_planning_components(variances, source=source if isinstance(source, str) else "given"),
        variances.get("system"),
    )


def _is_variance(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12


def fit_forecast_variance_components(rows: Ratings, campaign: str) -> ForecastVarianceComponents | None:
    """Fit components to a campaign's ranked rows; None if these are too few or the model is not estimable."""
    if len(rows) < FEWEST_RATINGS:
        return None
    part, n_documents = sample_whole_documents(rows, MOST_ROWS)
    try:
        model = fit_variance_components(part)
    except ModelNotEstimable:
        return None
    source = f"{campaign}, own judgments" + ("" if part is rows else f" on {n_documents:,} documents")
    notes = RATED_ONCE if compute_mean_raters_per_item(model) < 1 + 1e-9 else ()
    components = make_planning_components_from_fit(model, source=source)
    return ForecastVarianceComponents(components, estimate_system_variance(model), notes=notes, pilot_ratings=rows)


def sample_whole_documents(rows: Ratings, most: int) -> tuple[Ratings, int]:
    """Sample whole documents evenly until about `most` ratings remain; return their rows and their number."""
    codes = np.unique(rows.document)
    if len(rows) <= most or codes.size < 4:
        return rows, int(codes.size)
    step = -(-len(rows) // most)
    documents = codes[:: min(step, codes.size // 2)]
    return rows.where(np.isin(rows.document, documents)), int(documents.size)
