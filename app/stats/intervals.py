"""Intervals of scores and differences that treat documents as the sampled units.

A score is a ratio: the sum of the segment scores over the number of segments. Both depend on the sampled documents. The
standard error and the degrees of freedom of Student's t come from `inference.by_document`.
"""

from __future__ import annotations

import numpy as np
import scipy

from app.stats.aggregate import Indices, ScoreMatrix
from app.stats.inference.by_document import EstimatePrecision
from app.stats.ratings import Floats

POWER = 0.8


def t_quantile(probability: float, degrees: Floats | Indices) -> Floats:
    """Quantile of Student's t, NaN without degrees of freedom; has the shape of `degrees`."""
    usable = np.where(degrees > 0, degrees, 1).astype(np.float64)
    return np.asarray(np.where(degrees > 0, scipy.special.stdtrit(usable, probability), np.nan), dtype=np.float64)


def compute_interval_half_widths(precision: EstimatePrecision, alpha: float) -> Floats:
    """Half the width of the two-sided 1 − α intervals."""
    return precision.error * t_quantile(1 - alpha / 2, precision.degrees)


def compute_minimum_detectable_difference(precision: EstimatePrecision, alpha: float) -> Floats:
    """The difference that this design detects with 80 % power: (t_{1−α/2} + t_{.8})·SE; α is already divided by m.

    This is a property of the design, not the power of a test that was carried out.
    """
    return precision.error * (t_quantile(1 - alpha / 2, precision.degrees) + t_quantile(POWER, precision.degrees))


def center_document_sums_across_systems(panel: ScoreMatrix) -> tuple[Floats, Floats] | None:
    """Document sums and weights of each system minus the mean of all systems, on segments that all systems share.

    The relative score is Σsums/Σweights. Shapes (S, D), (S, D); None if no segment has all systems.
    """
    shared = np.asarray(panel.present.all(axis=0))
    if not shared.any():
        return None
    centred = np.where(shared, panel.score - panel.score.mean(axis=0), 0.0)
    weights = panel.segment_weights(shared)
    sums = np.add.reduceat(centred * weights, panel.starts, axis=1)
    counts = np.add.reduceat(weights, panel.starts)
    return sums, np.broadcast_to(counts, sums.shape)
