"""Bounds of a mean whose documents are skewed: Student's t, or Hall's correction of it, whichever is more careful.

A t-test takes the error of a mean to be symmetric. Where few documents lie far below the rest, means that are too good
come with errors that are too small. Hall's transformation g(U) = U + γU²/3 + γ²U³/27 + γ/(6D) of U = t/√D undoes that
to first order. It is taken only where it is the more careful of the two, since the skewness of few documents is known
badly. No test of the documents at hand allows for failures of which none was seen: see `tail`.

Sources: Hall 1992 (Journal of the Royal Statistical Society B 54); Johnson 1978 (JASA 73), which errs as often in
simulations; Cochran 1977, §2.15 (how many documents the normal approximation takes).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
import scipy

from app.stats.ratings import Floats

COCHRAN = 25
"""Documents that a t-test takes for each unit of squared skewness."""


def skewness(deviations: Floats) -> float:
    """Third moment of the documents' deviations from their mean over the spread cubed; 0 without any spread.

    >>> round(skewness(np.array([-3.0, 1.0, 1.0, 1.0])), 6)
    -1.154701
    """
    second = float((deviations * deviations).mean()) if deviations.size else 0.0
    return 0.0 if second <= 1e-24 else float((deviations**3).mean()) / float(second**1.5)


def documents_needed_at_skewness(skew: float) -> int:
    """Documents that a t-test takes at this skewness: 25 G² (Cochran 1977, §2.15).

    >>> documents_needed_at_skewness(-2.0), documents_needed_at_skewness(0.1)
    (100, 1)
    """
    return max(1, ceil(COCHRAN * skew * skew))


@dataclass(frozen=True, slots=True)
class SkewCorrectedMean:
    """A mean with its error and degrees of freedom, and the skewness of its D documents."""

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
        """The smallest alpha at which the lower bound is above the border."""
        t = (self.mean - border) / self.error
        return float(scipy.special.stdtr(self.degrees, -min(t, self._transform_t(t))))

    def p_value_below(self, border: float) -> float:
        """The smallest alpha at which the upper bound is below the border."""
        t = (self.mean - border) / self.error
        return float(scipy.special.stdtr(self.degrees, max(t, self._transform_t(t))))

    def _transform_t(self, t: float) -> float:
        """Hall's T of t."""
        g, root = self.skew, sqrt(self.documents)
        if abs(g) < 1e-9:
            return t
        return root * (((1 + g * t / root / 3) ** 3 - 1) / g + g / (6 * self.documents))

    def _invert_transform(self, t: float) -> float:
        """The t of which Hall's T is this."""
        g, root = self.skew, sqrt(self.documents)
        if abs(g) < 1e-9:
            return t
        return root * 3 / g * (float(np.cbrt(1 + g * (t / root - g / (6 * self.documents)))) - 1)
