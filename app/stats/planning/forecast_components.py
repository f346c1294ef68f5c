"""The variance components with which a plan is forecast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.stats.planning.power_and_cost import VarianceComponents
from app.stats.ratings import Ratings


@dataclass(frozen=True, slots=True)
class ForecastVarianceComponents:
    """Components, and the variance between systems (None if unknown), or the reason why there are none.

    pilot_ratings: the judgments of the named pilot, whose documents can be resampled. pilot_report: what a plan reports
    about the pilot.
    """

    components: VarianceComponents | None
    between_systems: float | None = None
    why: str | None = None
    notes: tuple[str, ...] = ()
    pilot_ratings: Ratings | None = None
    pilot_report: Mapping[str, object] | None = None
