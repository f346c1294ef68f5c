"""What grouping and balance are worth: the same raters judge small campaigns under two designs, in pairs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import pytest
from scipy.stats import binomtest, kendalltau

from app.design.compile import compile_plan
from app.design.design_inputs import DocumentToPlan, Rater, System, TestSet
from app.design.parse import parse_design
from app.domain.recipe import NAMED
from app.simulation import (
    CampaignForSimulation,
    OutputForSimulation,
    RaterModelVariances,
    RaterTraits,
    make_rater_model_template,
)
from app.stats.ranking.ranking import rank_systems
from tests.load.on_paper import rate

SYSTEMS = tuple(f"S{n}" for n in range(8))
RATERS = tuple(f"r{n}" for n in range(5))
DOCUMENTS, SEGMENTS = 20, (3, 4, 5)
APART = 1.5  # points between neighbours in the planted order
CAMPAIGNS = 40
PSXS: Mapping[str, object] = {"grouping": "psxs", "overlap": None}
NONE: Mapping[str, object] = {"grouping": "none", "overlap": None}
UNEVEN: Mapping[str, object] = {"grouping": "psxs", "overlap": None, "balance": {"entropy": 0.7}}

# Raters who do not differ: what is left is chance, which no design can balance.
ALIKE = RaterModelVariances(rater=0, rater_system=0, rater_document=0, rater_segment=0, rater_document_system=0)


@dataclass(frozen=True)
class Compared:
    """Campaigns in pairs. lower, higher: where the second design has the lower, higher tau; interval: of the share."""

    lower: int
    higher: int
    tied: int
    first: float
    second: float
    interval: tuple[float, float]

    def told(self) -> dict[str, object]:
        """As figures for the page."""
        share = self.lower / max(self.lower + self.higher, 1)
        return {**self.__dict__, "share_lower": round(share, 3), "interval": [round(x, 3) for x in self.interval]}


def tau(design: Mapping[str, object], seed: int, alike: bool) -> float:
    """Kendall's tau-b of a ranking to the planted qualities. Texts, raters and their draws depend on the seed alone."""
    rng = np.random.default_rng(seed)
    lengths = {f"d{n:02}": int(rng.choice(SEGMENTS)) for n in range(DOCUMENTS)}
    places = [(s, d, p) for s in SYSTEMS for d, segments in lengths.items() for p in range(1, segments + 1)]
    texts = {(s, d, p): (f"Source {d} {p}", f"Text {s} {d} {p}") for s, d, p in places}
    outputs = {(d, s): tuple(f"{s}{d}{p}" for p in range(1, n + 1)) for d, n in lengths.items() for s in SYSTEMS}
    documents = tuple(DocumentToPlan(d, (10,) * n) for d, n in lengths.items())
    qualities = {s: 60.0 + APART * (n - (len(SYSTEMS) - 1) / 2) for n, s in enumerate(SYSTEMS)}
    planted = make_rater_model_template(
        CampaignForSimulation("c", "da", {}, "source"),
        (OutputForSimulation(s, d, p, texts[s, d, p][1]) for s, d, p in places),
        RATERS,
        seed=seed,
        qualities=qualities,
        components=ALIKE if alike else None,
    )
    if alike:
        planted = planted.model_copy(update={"raters": dict.fromkeys(RATERS, RaterTraits())})
    systems, raters = [System(s) for s in SYSTEMS], [Rater(r) for r in RATERS]
    plan = compile_plan(parse_design(dict(design)), TestSet(documents, outputs), systems, raters, seed)
    ranking = rank_systems(rate(plan, planted, texts), NAMED["srp-paper"])
    pairs = [(qualities[one.system], one.score) for one in ranking.systems]
    return float(kendalltau(*zip(*pairs, strict=True)).statistic)


def compare(first: Mapping[str, object], second: Mapping[str, object], n: int, *, alike: bool = False) -> Compared:
    """Rank n campaigns under both designs."""
    found = [(tau(first, seed, alike), tau(second, seed, alike)) for seed in range(1, n + 1)]
    lower, higher = (sum(b < a for a, b in found), sum(b > a for a, b in found))
    tested = binomtest(lower, max(lower + higher, 1))
    interval = tested.proportion_ci(0.95, method="exact")
    means = fmean(a for a, _ in found), fmean(b for _, b in found)
    return Compared(lower, higher, n - lower - higher, *means, (float(interval.low), float(interval.high)))


@pytest.mark.parametrize("campaigns", [20, pytest.param(CAMPAIGNS, marks=pytest.mark.soak)])
def test_without_grouping_the_planted_order_is_recovered_less_well_in_more_than_half_of_the_campaigns(
    campaigns: int,
) -> None:
    found = compare(PSXS, NONE, campaigns)

    sys.stdout.write(json.dumps({"psxs, none": found.told()}) + "\n")
    assert found.interval[0] > 0.5
    assert found.second < found.first


@pytest.mark.soak
def test_raters_who_are_alike_need_no_grouping() -> None:
    """The control: what the test above finds comes from the raters' differences."""
    found = compare(PSXS, NONE, CAMPAIGNS, alike=True)

    assert found.interval[0] < 0.5 < found.interval[1]


@pytest.mark.soak
def test_what_imbalance_does_is_stated_as_found() -> None:
    """It may be nil or reversed; what is asserted is only that there is something to state."""
    found = {
        "psxs even, uneven": compare(PSXS, UNEVEN, 5 * CAMPAIGNS),
        "psxs, none": compare(PSXS, NONE, 5 * CAMPAIGNS),
    }

    sys.stdout.write(json.dumps({name: one.told() for name, one in found.items()}) + "\n")
    assert found["psxs, none"].interval[0] > 0.5
    assert found["psxs even, uneven"].lower + found["psxs even, uneven"].higher > 0
