"""How often an event occurred among simulated campaigns, with exact bounds.

Source: Clopper & Pearson 1934 (Biometrika 26).
"""

from __future__ import annotations

from dataclasses import dataclass

import scipy

CONFIDENCE = 0.99
"""Confidence of each one-sided bound: of a hundred promises that are just kept, one is reported as broken."""


def compute_proportion_lower_bound(successes: float, n: int, confidence: float = CONFIDENCE) -> float:
    """One-sided lower bound of a probability after `successes` in `n` cases; 0 without successes.

    successes : may be a sum of shares between 0 and 1, which vary no more than events with the same probability.

    >>> round(compute_proportion_lower_bound(10, 100, 0.95), 4)
    0.0553
    """
    return 0.0 if successes <= 0 else float(scipy.special.betaincinv(successes, n - successes + 1, 1 - confidence))


def compute_proportion_upper_bound(successes: float, n: int, confidence: float = CONFIDENCE) -> float:
    """One-sided upper bound, as `compute_proportion_lower_bound`; 1 if all cases are successes.

    >>> round(compute_proportion_upper_bound(0, 100, 0.95), 4)
    0.0295
    """
    return 1.0 if successes >= n else float(scipy.special.betaincinv(successes + 1, n - successes, confidence))


@dataclass(frozen=True, slots=True)
class Proportion:
    """Number of successes `found` (or a sum of shares) among `n` cases, at least one."""

    found: float
    n: int

    @property
    def rate(self) -> float:
        """Share of successes."""
        return self.found / self.n

    @property
    def lower_bound(self) -> float:
        """One-sided lower bound of the probability."""
        return compute_proportion_lower_bound(self.found, self.n)

    @property
    def upper_bound(self) -> float:
        """One-sided upper bound of the probability."""
        return compute_proportion_upper_bound(self.found, self.n)

    def is_consistent_with_at_most(self, promised: float) -> bool:
        """Return whether the cases are consistent with a probability no larger than promised."""
        return self.lower_bound <= promised

    def is_consistent_with_at_least(self, promised: float) -> bool:
        """Return whether the cases are consistent with a probability no smaller than promised."""
        return self.upper_bound >= promised
