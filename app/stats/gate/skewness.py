"""Bounds of a mean over skewed documents: Student's t or Hall's correction of it, whichever is more conservative.

A t-test assumes that the error of a mean is symmetric. If a few documents lie far below the rest, samples whose mean is
too good also have a standard error that is too small. Hall's transformation g(U) = U + γU²/3 + γ²U³/27 + γ/(6D) of
U = t/√D corrects this to first order. It is used only if it is more conservative, because few documents estimate
skewness badly. No test of the sampled documents accounts for failures that none of them shows: see `failures`.

Sources: Hall 1992 (Journal of the Royal Statistical Society B 54); Johnson 1978 (JASA 73), which has the same error
rate in simulations; Cochran 1977, §2.15 (how many documents the normal approximation needs).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
import scipy

from app.stats.ratings import Floats

COCHRAN = 25
"""Documents that a t-test needs per unit of squared skewness."""


def skewness(deviations: Floats) -> float:
    """Third moment of the documents' deviations from their mean, divided by SD cubed; 0 if there is no spread.

    >>> round(skewness(np.array([-3.0, 1.0, 1.0, 1.0])), 6)
    -1.154701
    """
    second = float((deviations * deviations).mean()) if deviations.size else 0.0
    return 0.0 if second <= 1e-24 else float((deviations**3).mean()) / float(second**1.5)


def compute_documents_for_skewness(skew: float) -> int:
    """Number of documents that a t-test needs at this skewness: 25 G² (Cochran 1977, §2.15).

    >>> compute_documents_for_skewness(-2.0), compute_documents_for_skewness(0.1)
    (100, 1)
    """
    return max(1, ceil(COCHRAN * skew * skew))


@dataclass(frozen=True, slots=True)
class SkewCorrectedMean:
    """A mean with its standard error and degrees of freedom, and the number and skewness of its documents."""

    mean: float
    error: float
    degrees: float
    documents: int
    skew: float

    def lower_bound(self, alpha: float) -> float:
        """One-sided lower bound at alpha."""
        t = float(scipy.special.stdtrit(self.degrees, 1 - alpha))
        return self.mean - self.error * max(t, self._invert_transform(t))

    def upper_bound(self, alpha: float) -> float:
        """One-sided upper bound at alpha."""
        t = float(scipy.special.stdtrit(self.degrees, 1 - alpha))
        return self.mean + self.error * max(t, -self._invert_transform(-t))

    def p_value_above(self, border: float) -> float:
        """Return the smallest alpha at which the lower bound is above the border."""
        t = (self.mean - border) / self.error
        return float(scipy.special.stdtr(self.degrees, -min(t, self._transform_t(t))))

    def p_value_below(self, border: float) -> float:
        """Return the smallest alpha at which the upper bound is below the border."""
        t = (self.mean - border) / self.error
        return float(scipy.special.stdtr(self.degrees, max(t, self._transform_t(t))))

    def _transform_t(self, t: float) -> float:
        """Apply Hall's transformation T to t."""
        g, root = self.skew, sqrt(self.documents)
        if abs(g) < 1e-9:
            return t
        return root * (((1 + g * t / root / 3) ** 3 - 1) / g + g / (6 * self.documents))

    def _invert_transform(self, t: float) -> float:
        """Return the value that Hall's transformation maps to t."""
        g, root = self.skew, sqrt(self.documents)
        if abs(g) < 1e-9:
            return t
        return root * 3 / g * (float(np.cbrt(1 + g * (t / root - g / (6 * self.documents)))) - 1)
