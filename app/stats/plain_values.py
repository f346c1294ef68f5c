"""From arrays to the plain values of a report: what is missing is None, never NaN."""

from __future__ import annotations

import numpy as np

Interval = tuple[float, float]


def interval_or_none(low: float, high: float) -> Interval | None:
    """An interval, None where an end is missing."""
    return (float(low), float(high)) if np.isfinite(low) and np.isfinite(high) else None


def number_or_none(value: float) -> float | None:
    """A plain number, None for a missing one."""
    return float(value) if np.isfinite(value) else None
