"""How many raters are needed to detect a difference, given the documents: a plan's formula solved for the raters.

Source: `power_and_cost.compute_contrast_variance`, whose formula is solved here; docs/reports/planner.md writes it out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, sqrt

from app.stats.planning.power_and_cost import (
    ROUNDING,
    Grouping,
    StudyLayout,
    VarianceComponents,
    compute_contrast_variance,
    compute_detectable_difference,
)

MOST_RATERS = 1_000_000
"""Largest number of raters that is reported."""
_WITHOUT_END = 10**18
_SHARED: dict[Grouping, str] = {
    "psxs": "ratings of documents",
    "system_balanced": "ratings of outputs",
    "none": "ratings of outputs",
}


@dataclass(frozen=True, slots=True)
class RatersNeeded:
    """least: fewest raters that are enough, None if no number is. note: the reason, or a comment on the number."""

    least: int | None
    note: str | None = None


def compute_raters_needed(
    components: VarianceComponents,
    layout: StudyLayout,
    *,
    difference: float,
    systems: int,
    alpha: float = 0.05,
    power: float = 0.8,
) -> RatersNeeded:
    """Fewest raters for which the detectable difference is at most `difference`; alpha is split over all pairs.

    V = a + b/R in every grouping: a is V with infinitely many raters, b is rater × system less the terms that a
    grouping adds with 1 − 1/R. So R = b/(wanted − a). If b is not above 0, more raters do not lower V. There cannot be
    more raters than shares of the work: documents × ratings per item, and that many per system if its outputs are
    assigned separately. `layout.raters` does not matter.

    >>> c = VarianceComponents(0.36, 0, 0.64, 0.09, 0.25, 0, 0.16, 1.44)
    >>> compute_raters_needed(c, StudyLayout(60, 5, 6), difference=0.7, systems=2).least
    6
    """
    unit = compute_detectable_difference(1.0, alpha=alpha / (systems * (systems - 1) // 2), power=power)
    wanted, fewest = (difference / unit) ** 2, layout.ratings_per_item
    endless = compute_contrast_variance(components, replace(layout, raters=_WITHOUT_END))
    falling = compute_contrast_variance(components, replace(layout, raters=1)) - endless
    if falling <= 0:
        if endless + falling / fewest > wanted:
            return RatersNeeded(None, "more raters do not lower the standard error here")
        return RatersNeeded(fewest, "more raters raise the standard error here" if falling else None)
    rest = wanted - endless
    if rest <= 0:
        limit = f"differences up to {unit * sqrt(endless):.3g} are not detected"
        return RatersNeeded(None, f"with {layout.documents:,} documents no number of raters is enough: {limit}")
    shares = layout.documents * layout.ratings_per_item * (1 if layout.grouping == "psxs" else systems)
    falling *= 1 - ROUNDING
    if falling > shares * rest:
        return RatersNeeded(None, f"this requires more raters than there are {_SHARED[layout.grouping]} to share out")
    return RatersNeeded(max(fewest, ceil(falling / rest)))


def minimum_raters_for_unlimited_documents(
    components: VarianceComponents,
    layout: StudyLayout,
    *,
    difference: float,
    systems: int,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int | None:
    """Fewest raters for which some number of documents is enough: the floor 2σ²_rs/R is below the wanted variance.

    For a fixed panel, the raters of an item; None above a million. `layout.documents` and `.raters` do not matter.
    """
    unit = compute_detectable_difference(1.0, alpha=alpha / (systems * (systems - 1) // 2), power=power)
    wanted = (difference / unit) ** 2
    left = 0.0 if layout.fixed_panel else 2 * components.rater_system
    if left >= MOST_RATERS * wanted:
        return None
    return max(layout.ratings_per_item, int(left / wanted) + 1)
