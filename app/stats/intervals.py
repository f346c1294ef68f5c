"""Intervals of scores and differences that treat documents as the sampled units.

A score is a ratio: sum of the segment scores over the number of segments, both random with the documents. Its
linearized deviation in document D is e_D = X_D − n_D·θ̂ (Cochran 1977, §6.3), and
SE = √(Σe²/(D(D−1)))/n̄ with t on D − 1 degrees of freedom.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from app.stats.aggregate import Indices, Panel
from app.stats.ratings import Floats

POWER = 0.8


def t_quantile(probability: float, degrees: Floats | Indices) -> Floats:
    """Quantile of Student's t, NaN without degrees of freedom; shape of `degrees`."""
    usable = np.where(degrees > 0, degrees, 1).astype(np.float64)
    return np.asarray(np.where(degrees > 0, special.stdtrit(usable, probability), np.nan), dtype=np.float64)


def deviations(sums: Floats, counts: Indices | Floats) -> Floats:
    """ψ_D = (X_D − n_D·θ̂)/n̄ with n̄ = N/D over the documents where n_D > 0; shapes (…, D), 0 elsewhere."""
    total = counts.sum(axis=-1, keepdims=True)
    theta = sums.sum(axis=-1, keepdims=True) / total
    documents = (counts > 0).sum(axis=-1, keepdims=True)
    return np.asarray((sums - counts * theta) * documents / total, dtype=np.float64)


def standard_errors(sums: Floats, counts: Indices | Floats) -> Floats:
    """Standard error of Σsums/Σcounts for each row; NaN below two documents."""
    psi = deviations(sums, counts)
    return _spread(psi, (counts > 0).sum(axis=-1))


def unpaired_standard_error(
    sums: tuple[Floats, Floats], counts: tuple[Indices | Floats, Indices | Floats]
) -> tuple[float, int]:
    """Standard error of the difference of two scores over the union of their documents, and their number.

    Each system's deviations are scaled to the union, as for rank sets, so documents that both have enter paired.
    """
    either = (counts[0] > 0) | (counts[1] > 0)
    documents = int(either.sum())
    psi = [
        deviations(x[either], n[either]) * documents / max(int((n > 0).sum()), 1)
        for x, n in zip(sums, counts, strict=True)
    ]
    return float(_spread(psi[0] - psi[1], np.asarray(documents))), documents


def _spread(psi: Floats, documents: Indices) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (psi * psi).sum(axis=-1) / (documents * (documents - 1))
    return np.asarray(np.where(documents > 1, np.sqrt(variance), np.nan), dtype=np.float64)


def half_widths(errors: Floats, documents: Indices, alpha: float) -> Floats:
    """Half the width of the two-sided 1 − α interval."""
    return errors * t_quantile(1 - alpha / 2, documents - 1)


def minimum_detectable(errors: Floats, documents: Indices, alpha: float) -> Floats:
    """The difference that this design finds with 80 % power: (t_{1−α/2} + t_{.8})·SE, α already divided by m.

    A property of the design, not the power of a test that was made.
    """
    return errors * (t_quantile(1 - alpha / 2, documents - 1) + t_quantile(POWER, documents - 1))


def relative(panel: Panel) -> tuple[Floats, Floats] | None:
    """Each system minus the mean of all systems on the segments that all have: document sums and weights.

    The value is Σsums/Σweights. None where no segment has all systems. Shapes (S, D), (S, D).
    """
    shared = np.asarray(panel.present.all(axis=0))
    if not shared.any():
        return None
    centred = np.where(shared, panel.score - panel.score.mean(axis=0), 0.0)
    weights = panel.weights(shared)
    sums = np.add.reduceat(centred * weights, panel.starts, axis=1)
    counts = np.add.reduceat(weights, panel.starts)
    return sums, np.broadcast_to(counts, sums.shape)
