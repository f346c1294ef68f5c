"""Ranges of document lengths in segments, by which reports divide their figures.

Source: Grundkiewicz et al. 2021, Figs. 3 and 4.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.stats.ratings import Bools

LENGTHS: tuple[tuple[int, int | None], ...] = ((1, 5), (6, 10), (11, 15), (16, 20), (21, 25), (26, None))


def format_segment_count_range(low: int, high: int | None) -> str:
    """Format a range of numbers of segments.

    >>> format_segment_count_range(1, 5), format_segment_count_range(26, None)
    ('1–5', '26 and more')
    """
    return f"{low} and more" if high is None else f"{low}–{high}"


def mask_lengths_within(length: npt.NDArray[np.integer], low: int, high: int | None) -> Bools:
    """Mask of the lengths within a range; `high` None has no upper limit."""
    return np.asarray((length >= low) & (length <= (high if high is not None else np.iinfo(np.int64).max)))
