"""Links of campaigns: lines that were planted, their error by repetition, and when there is no link."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.calibration.campaign_linking import (
    FEWEST,
    CampaignLinkAnchors,
    fit_scale_link,
    percentile_interval_of_draws,
)


def world(
    rng: np.random.Generator, n: int = 120, *, slope: float = 1.0, up: float = 0.0, kind: float = 0.0
) -> CampaignLinkAnchors:
    document = np.arange(n, dtype=np.int32) // 3
    true = rng.normal(0, 1, n) + rng.normal(0, 0.3, document.max() + 1)[document]
    human = np.arange(n) % 4 == 0
    base = true + rng.normal(0, 0.3, n) + kind * human
    return CampaignLinkAnchors(base, (true - up) / slope + rng.normal(0, 0.3 / slope, n), document, human)


def test_the_planted_line_is_inside_its_interval_as_often_as_it_says() -> None:
    inside = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        found = fit_scale_link(world(rng, up=0.4), "mean", draws=300, level=0.95, rng=rng)
        bounds = percentile_interval_of_draws(found.intercepts, 0.95)
        assert bounds is not None
        inside += bounds[0] <= 0.4 <= bounds[1]
    assert 0.89 <= inside / 200 <= 0.99


def test_the_spread_is_linked_too_where_that_is_asked() -> None:
    rng = np.random.default_rng(1)
    given = world(rng, n=3000, slope=2.0, up=0.5)
    found = fit_scale_link(given, "mean_sigma", draws=50, level=0.95, rng=rng)
    assert found.slope == pytest.approx(2.0, abs=0.1)
    assert found.slope == pytest.approx(given.base.std() / given.other.std())
    assert found.intercept == pytest.approx(given.base.mean() - found.slope * given.other.mean())


def test_anchors_whose_kinds_part_or_that_are_few_link_nothing() -> None:
    rng = np.random.default_rng(2)
    assert fit_scale_link(world(rng), "mean", draws=300, level=0.95, rng=rng).why is None
    parted = fit_scale_link(world(rng, kind=1.0), "mean", draws=300, level=0.95, rng=rng)
    assert parted.by_kind == pytest.approx(1.0, abs=0.2)
    assert (parted.why or "").endswith("no single line links the campaigns")
    few = fit_scale_link(world(rng, n=FEWEST - 1), "mean", draws=300, level=0.95, rng=rng)
    assert "fewer than 20" in (few.why or "")


def test_no_anchor_and_constant_anchors_are_told() -> None:
    rng, none = np.random.default_rng(3), np.empty(0)
    empty = CampaignLinkAnchors(none, none, none.astype(np.int32), none.astype(np.bool_))
    assert fit_scale_link(empty, "mean", draws=10, level=0.95, rng=rng).why == "no item is judged in both campaigns"
    flat = CampaignLinkAnchors(np.ones(30), np.ones(30), np.arange(30, dtype=np.int32), np.zeros(30, dtype=np.bool_))
    assert "constant scores" in (fit_scale_link(flat, "mean_sigma", draws=10, level=0.95, rng=rng).why or "")
    assert fit_scale_link(flat, "mean", draws=10, level=0.95, rng=rng).intercept == 0.0
