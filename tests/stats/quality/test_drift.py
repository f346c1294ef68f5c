"""Drift of raters: chances that hold for honest ones, whoever they are compared with, and the way it is told."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.quality.drift import estimate_drift, fit_least_squares_trend
from app.stats.quality.levels import estimate_rater_levels_and_residuals
from app.stats.quality.panel import compute_rater_item_means
from app.stats.quality.report import RaterQualityReport, make_rater_quality_report
from app.stats.ratings import Ratings
from tests.stats.components.worlds import needs_public_data, side_by_side
from tests.stats.quality.worlds import Design, world

SMALL = Design(raters=8, documents=48, segments=3, systems=3, controls=0, repeats=0)
SIDE_BY_SIDE = Design(raters=10, documents=100, segments=5, systems=10, overlap=3, controls=0, repeats=0)


def accused(found: RaterQualityReport) -> set[str]:
    return {one.rater for one in found.raters if "drift" in one.beyond}


def honest(seeds: range, protocol: str, design: Design) -> tuple[int, int]:
    """Raters who are accused, and all whose drift was looked at."""
    reports = [
        make_rater_quality_report(w.ratings, w.events) for w in (world(seed, protocol, design) for seed in seeds)
    ]
    looked_at = sum(one.drift is not None for report in reports for one in report.raters)
    return sum(len(accused(report)) for report in reports), looked_at


def at_most(share: float, n: int) -> float:
    """Three standard errors above a share of n."""
    return n * share + 3 * np.sqrt(n * share * (1 - share))


def test_a_constant_offset_is_no_drift_and_a_moving_one_is() -> None:
    noise = np.random.default_rng(3).standard_normal(40)
    moving = noise + np.linspace(0, 3, 40)
    steady, found, back = estimate_drift(noise + 9), estimate_drift(moving), estimate_drift(-moving)
    assert steady is not None
    assert found is not None
    assert back is not None
    assert (found.either < 0.001, steady.either > 0.01) == (True, True)
    assert found.slope == pytest.approx(fit_least_squares_trend(np.linspace(0, 1, 40), moving / moving.std(ddof=1))[0])
    assert (found.side, back.side, back.slope) == (1, -1, pytest.approx(-(found.slope or 0)))
    assert (found.n, back.either) == (40, pytest.approx(found.either, abs=0.005))


@pytest.mark.parametrize(("n", "known"), [(9, False), (10, True), (11, True)])
def test_nothing_is_said_below_ten_documents(n: int, known: bool) -> None:
    assert (estimate_drift(np.random.default_rng(1).standard_normal(n)) is not None) is known
    assert estimate_drift(np.zeros(n)) is None


def test_chances_are_those_of_all_orders() -> None:
    """Of ten documents, three of which stand out at the end: the slope by the 120 places of three."""
    values = np.array([0.0] * 7 + [1.0] * 3)
    found = estimate_drift(values)
    assert found is not None
    assert found.p_value == pytest.approx(2 / 120, abs=0.006)


def drifting(sign: int, *, higher: bool) -> Ratings:
    """Four raters of the same 20 documents of two segments; the last moves by one point a document."""
    rng = np.random.default_rng(8)
    truth = rng.integers(40, 60, (20, 2))
    given = np.stack([truth + rng.integers(-2, 3, (20, 2)) for _ in range(4)]).astype(float)
    given[3] += sign * np.arange(20)[:, None]
    places = [(r, d, s) for r in range(4) for d in range(20) for s in range(2)]
    return Ratings.from_columns(
        system=["s"] * len(places),
        document=[f"d{d:02}" for _, d, _ in places],
        position=[s + 1 for _, _, s in places],
        rater=[f"r{r}" for r, _, _ in places],
        task=[f"t{d:02}" for _, d, _ in places],
        score=given.ravel(),
        higher_is_better=higher,
    )


@pytest.mark.parametrize(("sign", "higher", "way"), [(1, True, 1), (-1, True, -1), (1, False, -1), (-1, False, 1)])
def test_a_report_tells_who_drifts_and_which_way(sign: int, higher: bool, way: int) -> None:
    """Lenient is a higher score or a lower penalty; the slope is that of the documents' means beside the others'."""
    ratings = drifting(sign, higher=higher)
    found = {one.rater: one for one in make_rater_quality_report(ratings).raters}
    table = ratings.score.reshape(20, 2, 4).mean(axis=1)  # canonical: document, segment, rater
    beside = (table[:, 3] - table[:, :3].mean(axis=1)) * (1 if higher else -1)
    moved = found["r3"].drift
    assert moved is not None
    assert moved.slope == pytest.approx(fit_least_squares_trend(np.linspace(0, 1, 20), beside / beside.std(ddof=1))[0])
    assert np.sign(moved.slope) == moved.side == moved.direction == way
    (flag,) = found["r3"].flags
    assert flag.startswith(f"more {'lenient' if way > 0 else 'severe'} over the course of 20 documents")
    assert {name: one.beyond for name, one in found.items()} == {"r0": (), "r1": (), "r2": (), "r3": ("drift",)}


def test_a_partners_level_is_no_drift() -> None:
    """A rater beside a lenient partner first and a severe one after that: the others' levels are taken out."""
    places = [("a", d) for d in range(24)] + [("b", d) for d in range(12)] + [("c", d) for d in range(12, 24)]
    places += [("b", d) for d in range(24, 36)] + [("c", d) for d in range(24, 36)]
    noise = np.random.default_rng(2).normal(0, 1, len(places))
    level = {"a": 0.0, "b": 8.0, "c": -8.0}
    ratings = Ratings.from_columns(
        system=["s"] * len(places),
        document=[f"d{d:02}" for _, d in places],
        position=[1] * len(places),
        rater=[who for who, _ in places],
        task=[f"t{d:02}" for _, d in places],
        score=50 + np.array([level[who] for who, _ in places]) + noise,
        higher_is_better=True,
    )
    found = estimate_rater_levels_and_residuals(compute_rater_item_means(ratings), 3)
    assert found.of_rater - found.of_rater[0] == pytest.approx([0, 8, -8], abs=1.2)
    assert accused(make_rater_quality_report(ratings)) == set()


def test_levels_are_those_of_least_squares_with_an_effect_an_item() -> None:
    ratings = world(5, "esa", Design(raters=5, documents=12, segments=2, controls=0, repeats=0)).ratings
    cells = compute_rater_item_means(ratings)
    design = np.zeros((cells.item.size, cells.item.max() + 1 + 5))
    design[np.arange(cells.item.size), cells.item] = 1
    design[np.arange(cells.item.size), cells.item.max() + 1 + cells.rater] = 1
    plain = np.linalg.lstsq(design, cells.score, rcond=None)[0][-5:]
    found = estimate_rater_levels_and_residuals(cells, 5)
    assert found.of_rater == pytest.approx(plain - plain.mean(), abs=1e-6)
    assert abs(np.nansum(found.residual)) < 1e-6


@pytest.mark.parametrize("protocol", ["esa", "mqm"])
def test_honest_raters_are_accused_no_more_often_than_said(protocol: str) -> None:
    """1 % of raters, as the flag says: whole documents are permuted, because segments of one resemble each other."""
    flagged, n = honest(range(6), protocol, SMALL)
    assert n == 48
    assert flagged <= at_most(0.01, n)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.soak)])
def test_a_rater_who_moves_by_an_sd_is_found_and_nobody_else(seed: int) -> None:
    moved = world(seed, "esa", SIDE_BY_SIDE, kinds={3: "drift"}, drift=18.0)
    assert accused(make_rater_quality_report(moved.ratings, moved.events)) == {"r003"}


@pytest.mark.soak
@pytest.mark.parametrize("protocol", ["esa", "da", "mqm", "xsts"])
def test_honest_raters_of_200_campaigns_are_accused_no_more_often_than_said(protocol: str) -> None:
    flagged, n = honest(range(50), protocol, SMALL)
    assert flagged <= at_most(0.01, n)


@pytest.mark.soak
def test_a_drift_of_one_sd_over_30_documents_is_found_in_four_of_five() -> None:
    """One SD of what a rater gives to an output beside the others; ten systems side by side."""
    hits, others, n = 0, 0, 50
    for seed in range(n):
        cells = compute_rater_item_means(world(seed, "esa", SIDE_BY_SIDE).ratings)
        sd = float(np.nanstd(estimate_rater_levels_and_residuals(cells, SIDE_BY_SIDE.raters).residual))
        moved = world(seed, "esa", SIDE_BY_SIDE, kinds={3: "drift"}, drift=sd)
        found = accused(make_rater_quality_report(moved.ratings, moved.events))
        hits, others = hits + ("r003" in found), others + len(found - {"r003"})
    assert hits >= 0.8 * n
    assert others <= at_most(0.01, 9 * n)


class TestPublicData:
    """Side-by-side MQM of ten professional raters, nine documents each: too few to say anything of drift."""

    pytestmark = needs_public_data

    def test_no_professional_rater_is_accused(self) -> None:
        found = make_rater_quality_report(side_by_side()).raters
        assert len(found) == 10
        assert [one.rater for one in found if one.drift is not None or "drift" in one.beyond] == []

    def test_nor_were_nine_documents_enough(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("app.stats.quality.drift.MIN_DOCUMENTS", 9)
        found = [one.drift for one in make_rater_quality_report(side_by_side()).raters]
        assert [one.n for one in found if one is not None] == [9] * 10
        assert min(one.either for one in found if one is not None) > 0.05
