"""Plain values of a report from arrays: a missing value is None, never NaN."""

from __future__ import annotations

import numpy as np

Interval = tuple[float, float]


def interval_or_none(low: float, high: float) -> Interval | None:
    """Return an interval, or None if an end is missing."""
    return (float(low), float(high)) if np.isfinite(low) and np.isfinite(high) else None


def number_or_none(value: float) -> float | None:
    """Return a plain number, or None if it is missing."""
    return float(value) if np.isfinite(value) else None
