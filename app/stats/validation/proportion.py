"""How often something happened among simulated campaigns, with exact bounds.

Source: Clopper & Pearson 1934 (Biometrika 26).
"""

from __future__ import annotations

from dataclasses import dataclass

import scipy

CONFIDENCE = 0.99
"""Of each one-sided bound: of a hundred promises that are just kept one is called broken."""


def proportion_lower_bound(successes: float, n: int, confidence: float = CONFIDENCE) -> float:
    """One-sided lower bound of a probability, of which `successes` of `n` cases came true; 0 of none.

    successes : may be a sum of shares between 0 and 1: these vary no more than cases that come true with the same
    chance.

    >>> round(proportion_lower_bound(10, 100, 0.95), 4)
    0.0553
    """
    return 0.0 if successes <= 0 else float(scipy.special.betaincinv(successes, n - successes + 1, 1 - confidence))


def proportion_upper_bound(successes: float, n: int, confidence: float = CONFIDENCE) -> float:
    """One-sided upper bound, as `proportion_lower_bound`; 1 where all came true.

    >>> round(proportion_upper_bound(0, 100, 0.95), 4)
    0.0295
    """
    return 1.0 if successes >= n else float(scipy.special.betaincinv(successes + 1, n - successes, confidence))


@dataclass(frozen=True, slots=True)
class Proportion:
    """Cases of which `found` (or a sum of shares) came true among `n`, at least one."""

    found: float
    n: int

    @property
    def rate(self) -> float:
        """Their share."""
        return self.found / self.n

    @property
    def low(self) -> float:
        """One-sided lower bound of the probability."""
        return proportion_lower_bound(self.found, self.n)

    @property
    def high(self) -> float:
        """One-sided upper bound."""
        return proportion_upper_bound(self.found, self.n)

    def may_be_at_most(self, promised: float) -> bool:
        """Whether the cases leave it open, or show, that the probability is no larger than promised."""
        return self.low <= promised

    def may_be_at_least(self, promised: float) -> bool:
        """Whether they leave it open, or show, that it is no smaller."""
        return self.high >= promised
