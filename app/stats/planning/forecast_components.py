"""The variance components that a plan is forecast with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.stats.planning.planning import VarianceComponents
from app.stats.ratings import Ratings


@dataclass(frozen=True, slots=True)
class ForecastVarianceComponents:
    """Components, and the variance between systems (None where unknown), or why there are none.

    pilot_ratings: the judgments of the pilot that was named, whose documents can be drawn again. pilot_report: what a
    plan says of the pilot.
    """

    components: VarianceComponents | None
    between_systems: float | None = None
    why: str | None = None
    notes: tuple[str, ...] = ()
    pilot_ratings: Ratings | None = None
    pilot_report: Mapping[str, object] | None = None
