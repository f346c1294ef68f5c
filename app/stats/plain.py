"""From arrays to the plain values of a report: what is missing is None, never NaN."""

from __future__ import annotations

import numpy as np

from app.stats.result import Interval


def around(value: float, width: float) -> Interval | None:
    """value ± width, None where either is missing."""
    return (float(value - width), float(value + width)) if np.isfinite(value) and np.isfinite(width) else None


def number(value: float) -> float | None:
    """A plain number, None for a missing one."""
    return float(value) if np.isfinite(value) else None
