"""Campaigns as repetitions of one measurement: how much each system's score varies from campaign to campaign."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from app.reports.kit import text_formatting
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.reports.kit.table import Table
from app.reports.kit.table_making import make_table
from app.stats.agreement.units import ValuesByUnit
from app.stats.plain_values import number_or_none
from app.stats.ratings import ScoreScale
from app.stats.reproducibility import compute_cv_star


class SystemVariationOverCampaigns(FrozenFiniteResultModel):
    """One system, measured in several campaigns on the same units."""

    system: str
    n_campaigns: int
    n_units: int = Field(description="Units of the system that all of these campaigns have.")
    scores: dict[str, float] = Field(description="Mean over these units, by campaign.")
    cv: float | None = Field(description="CV* in percent; null if the mean is at the lower end of the scale.")


def compute_system_variation_over_campaigns(
    units: ValuesByUnit, systems: Sequence[str], scale: ScoreScale | None
) -> list[SystemVariationOverCampaigns]:
    """Return a line for every system that at least two campaigns judged on the same units.

    The campaigns are the raters of the units. systems: the system names that the codes of the units refer to. The list
    is empty if the scores have no lower end that could be shifted to 0.
    """
    if scale is None and (units.value < 0).any():
        return []
    minimum = 0.0 if scale is None else scale.minimum
    lines = (_line(units, code, name, minimum) for code, name in enumerate(systems))
    return [line for line in lines if line is not None]


def _line(units: ValuesByUnit, code: int, name: str, minimum: float) -> SystemVariationOverCampaigns | None:
    mine = units.where((units.system == code)[units.unit])
    campaigns = np.unique(mine.rater)
    shared = mine.where((mine.n_values_by_unit() == campaigns.size)[mine.unit])
    if campaigns.size < 2 or not shared.n_units:
        return None
    means = shared.value.reshape(shared.n_units, campaigns.size).mean(axis=0)
    names = [units.raters[c] for c in campaigns.tolist()]
    return SystemVariationOverCampaigns(
        system=name,
        n_campaigns=int(campaigns.size),
        n_units=shared.n_units,
        scores=dict(zip(names, means.tolist(), strict=True)),
        cv=number_or_none(compute_cv_star(means, minimum=minimum)),
    )


def make_score_variation_table(variations: Sequence[SystemVariationOverCampaigns]) -> Table:
    """Make one row per system."""
    heads = ("System", "Campaigns", "Units", "Lowest", "Highest", "CV*")
    rows = [
        (
            *(one.system, str(one.n_campaigns), f"{one.n_units:,}"),
            *(text_formatting.format_number(end(one.scores.values()), 2) for end in (min, max)),
            "–" if one.cv is None else f"{one.cv:.1f} %",
        )
        for one in variations
    ]
    return make_table(heads, rows, 1)
