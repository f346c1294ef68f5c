"""The raters of the demo campaign: six simulated raters with different habits, and a guest."""

from __future__ import annotations

from collections.abc import Mapping

from app.simulation import RaterTraits

TEMPERS: Mapping[str, RaterTraits] = {
    "rater-1": RaterTraits(attention=0.90, leniency=0.0, taste=0.05, seconds=22.0),
    "rater-2": RaterTraits(attention=0.80, leniency=9.0, taste=0.02, seconds=15.0),
    "rater-3": RaterTraits(attention=0.95, leniency=-9.0, taste=0.20, seconds=31.0),
    "rater-4": RaterTraits(attention=0.85, leniency=5.0, taste=0.08, seconds=18.0),
    "rater-5": RaterTraits(attention=0.75, leniency=2.0, taste=0.03, seconds=12.0),
    "rater-6": RaterTraits(attention=0.92, leniency=-6.0, taste=0.12, seconds=26.0),
}
GUEST = "guest"  # not simulated: anybody who tries the demo can judge as this rater
