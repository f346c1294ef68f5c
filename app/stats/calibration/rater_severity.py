"""Severity as a rater trait: how far mean scores on the same items spread, and whether they persist in split halves.

Source: Knowles & Lo 2024 (annotators of WMT22 on identical items).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.agreement.pairs import pearson
from app.stats.agreement.units import ValuesByUnit
from app.stats.plain_values import number_or_none
from app.stats.ratings import Codes, Floats

SPLITS = 200


@dataclass(frozen=True, slots=True)
class RaterSeveritySpread:
    """Raters' mean scores on the items that all of them judged.

    n_raters, n_items, n_documents: size of that data. lowest, highest, sd: of the raters' means (n − 1). split_half:
    Pearson's r between their means on two halves of the documents, averaged over random splits; None below two
    documents or three raters.
    """

    n_raters: int
    n_items: int
    n_documents: int
    lowest: float | None
    highest: float | None
    sd: float | None
    split_half: float | None


def estimate_rater_severity_spread(
    units: ValuesByUnit, *, rng: np.random.Generator, splits: int = SPLITS
) -> RaterSeveritySpread:
    """Estimate how far raters differ on the items that all of them judged.

    An item that any rater lacks is left out for all raters, so that no rater's mean covers easier items.
    """
    present = np.unique(units.rater)
    shared = units.where((units.n_values_by_unit() == present.size)[units.unit])
    if not shared.n_units:
        return RaterSeveritySpread(present.size, 0, 0, None, None, None, None)
    means = _weighted_row_means(shared.value.reshape(shared.n_units, present.size), np.ones(shared.n_units))
    documents = np.unique(shared.document)
    sd = float(means.std(ddof=1)) if means.size > 1 else float("nan")
    return RaterSeveritySpread(
        n_raters=present.size,
        n_items=shared.n_units,
        n_documents=documents.size,
        lowest=float(means.min()),
        highest=float(means.max()),
        sd=number_or_none(sd),
        split_half=_split_half(shared, documents, present.size, rng, splits),
    )


def _weighted_row_means(grid: Floats, weight: Floats) -> Floats:
    return np.asarray(weight @ grid / weight.sum(), dtype=np.float64)


def _split_half(
    shared: ValuesByUnit, documents: Codes, n_raters: int, rng: np.random.Generator, splits: int
) -> float | None:
    if documents.size < 2 or n_raters < 3:
        return None
    grid, halves = shared.value.reshape(shared.n_units, n_raters), []
    for _ in range(splits):
        half = rng.permutation(documents)[: documents.size // 2]
        own = np.isin(shared.document, half)
        r = pearson(
            _weighted_row_means(grid, own.astype(np.float64)), _weighted_row_means(grid, (~own).astype(np.float64))
        )
        halves.append(r)
    held = [r for r in halves if np.isfinite(r)]
    return float(np.mean(held)) if held else None
