"""Do the intervals of the mixed model hold what they say? Simulated; figures are in docs/reports/components.md."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from app.reports.components.lines import list_system_contrasts
from app.stats.components.fit import fit_variance_components
from tests.stats.components.worlds import crossed

NOISE = {
    "rater": 0.8,
    "doc": 0.3,
    "segment": 1.0,
    "doc_system": 0.2,
    "segment_system": 0.5,
    "rater_system": 0.1,
    "rater_doc": 0.2,
    "rater_segment": 0.4,
    "rater_doc_system": 0.1,
    "residual": 1.0,
}


def covered(runs: int, *, first: int, ratings: int, raters: int) -> dict[str, float]:
    """Share of intervals of neighbouring systems that hold the true difference, 1, and what else there is to see."""
    hits, normal, off, said = [], [], [], []
    for run in range(runs):
        world = crossed(
            first + run, documents=24, systems=3, raters=raters, ratings=ratings, segments=4, variance=NOISE
        )
        found = fit_variance_components(world)
        lines = {(one.better, one.worse): one for one in list_system_contrasts(found, 1)}
        reach = float(special.ndtri(0.975))
        for better, worse in (("s01", "s00"), ("s02", "s01")):
            line = lines.get((better, worse)) or lines[worse, better]
            sign = 1 if (line.better, line.worse) == (better, worse) else -1
            hits.append(line.interval[0] <= sign <= line.interval[1])
            normal.append(abs(line.difference - sign) <= reach * line.error)
            off.append(sign * line.difference - 1)
            said.append(line.error)
    return {
        "t": float(np.mean(hits)),
        "normal": float(np.mean(normal)),
        "bias": float(np.mean(off)),
        "error": float(np.std(off)),
        "said": float(np.sqrt(np.mean(np.square(said)))),
    }


def test_a_few_intervals_cover_as_they_should() -> None:
    found = covered(8, first=1000, ratings=2, raters=8)
    assert 0.85 <= found["t"] <= 1.0
    assert abs(found["bias"]) < 4 * found["error"] / np.sqrt(8)


@pytest.mark.soak
@pytest.mark.parametrize(("ratings", "raters"), [(1, 8), (2, 8), (2, 4)])
def test_intervals_of_differences_cover_at_least_near_95_percent(ratings: int, raters: int) -> None:
    found = covered(400, first=5000, ratings=ratings, raters=raters)
    print(ratings, raters, found)  # noqa: T201  (the figures)
    assert found["t"] >= 0.935
    assert 0.9 <= found["normal"] <= found["t"]
    assert found["said"] == pytest.approx(found["error"], rel=0.12)
    assert abs(found["bias"]) < 0.05
