"""Ratings for the tests of agreement: fixtures of the field, and random ones with holes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.stats.agreement.units import ValuesByUnit, make_segment_units
from app.stats.ratings import Floats, Ratings, ScoreScale

TOLERANCES = (0, 5, 10, 15, 20, 25, 30)
F9 = ([70, 80], [50, 90], [33, 35, 60], [100, 100], [20, 60])
SHROUT_FLEISS = ([9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7])
GWET_A = (1, 2, 3, 4, 5, 3, 2, 4, 5, 1, 3, 4)
GWET_B = (1, 3, 3, 4, 4, 2, 2, 5, 5, 2, 3, 3)
FLEISS_1971 = (
    *((0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1)),
    *((7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7)),
)


def rated(
    items: Sequence[Sequence[float | None]], *, per_document: int = 1, scale: ScoreScale | None = None
) -> Ratings:
    """One row of values an item, one column a rater, None where a rater did not rate it."""
    rows = [(i, f"r{j}", v) for i, row in enumerate(items) for j, v in enumerate(row) if v is not None]
    return Ratings.from_columns(
        system=["A"] * len(rows),
        document=[f"d{i // per_document:04}" for i, _, _ in rows],
        position=[1 + i % per_document for i, _, _ in rows],
        rater=[r for _, r, _ in rows],
        score=[float(v) for _, _, v in rows],
        higher_is_better=True,
        scale=scale,
    )


def units(items: Sequence[Sequence[float | None]], *, per_document: int = 1) -> ValuesByUnit:
    return make_segment_units(rated(items, per_document=per_document))


def random_items(
    seed: int, *, n: int = 40, raters: int = 4, levels: int = 6, missing: float = 0.25
) -> list[list[float | None]]:
    """Integer scores from 0 that raters partly share, with holes."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=n)
    items: list[list[float | None]] = []
    for i in range(n):
        drawn = (true[i] + rng.normal(size=raters) + 2) * levels / 4
        values: list[float | None] = [float(np.clip(round(x), 0, levels - 1)) for x in drawn]
        items.append([v if rng.random() > missing else None for v in values])
    return items


def matrix(items: Sequence[Sequence[float | None]]) -> Floats:
    """Items × raters, NaN where there is none."""
    return np.array([[np.nan if v is None else v for v in row] for row in items], dtype=np.float64)
