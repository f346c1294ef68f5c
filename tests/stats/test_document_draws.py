"""Draws in blocks: the same figures as all draws at once, in little memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from app.stats import document_draws
from app.stats.agreement import bootstrap, rankings
from app.stats.agreement.alpha import krippendorff_alpha
from app.stats.agreement.units import ValuesByUnit
from app.stats.calibration.calibration_lines import METHODS
from app.stats.calibration.campaign_linking import CampaignLinkAnchors, fit_scale_link
from app.stats.calibration.language_pairs import (
    CalibrationPairRatings,
    LanguagePairRatings,
    calibrate_systems,
    draw_language_pair_bootstrap,
)
from app.stats.calibration.score_prediction import fit_score_prediction
from app.stats.calibration.separation import estimate_system_gap
from app.stats.metrics import system_pair_p_values
from app.stats.metrics.system_pair_p_values import compute_system_pair_p_values
from app.stats.quality import change_within_tasks as within_tasks_module
from app.stats.quality.alike_raters import _count_closer_draws, _iterate_rater_pairs
from app.stats.quality.change_within_tasks import RaterJudgmentsInOrder, _orders_as_clear
from app.stats.quality.drift import _test_random_orders
from app.stats.quality.levels import estimate_rater_levels_and_residuals
from app.stats.quality.panel import RaterItemMeans
from app.stats.quality.repeats import _draws_as_far
from app.stats.ratings import Floats


def normal(size: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=size).round(2)


def judged_twice(documents: int, *, raters: int = 2, systems: int = 2) -> ValuesByUnit:
    """Documents of one segment; two raters judge all systems of each, other ones from document to document."""
    rng = np.random.default_rng(documents)
    first = rng.integers(0, raters - 1, documents)
    pair = np.stack((first, rng.integers(first + 1, raters)), axis=1)
    n = documents * systems
    quality = rng.normal(size=n) + np.tile(np.arange(systems), documents)
    return ValuesByUnit(
        unit=np.repeat(np.arange(n), 2).astype(np.int32),
        rater=np.repeat(pair, systems, axis=0).ravel().astype(np.int32),
        value=(np.repeat(quality, 2) + rng.normal(size=2 * n)).round(1),
        document=np.repeat(np.arange(documents), systems).astype(np.int32),
        system=np.tile(np.arange(systems), documents).astype(np.int32),
        place=np.repeat(np.arange(documents), systems).astype(np.int32),
        n_documents=documents,
        raters=tuple(f"r{i}" for i in range(raters)),
    )


def drift(documents: int) -> object:
    return _test_random_orders(normal(documents), np.linspace(-0.5, 0.5, documents), 0.5, 4_999, 1)


def repeats(n: int) -> object:
    return _draws_as_far(np.abs(normal(n)) + 0.05, np.abs(normal(4 * n, 1)), (1, 2))


def within_tasks(judgments: int) -> object:
    n = np.arange(judgments, dtype=np.int32)
    steps = RaterJudgmentsInOrder(n // np.int32(20), n // np.int32(2), n % 20 / 20, normal(judgments))
    return _orders_as_clear(steps, 2_000, (3, 4))


def alike_raters(documents: int) -> object:
    total, n = normal(3 * documents) ** 2, (np.arange(3 * documents) % 4 + 1).astype(np.float64)
    return _count_closer_draws(total[:documents] / 2, n[:documents], total, n, 9_999, (1, 2))


def link(documents: int) -> object:
    x, y = normal(2 * documents), normal(2 * documents, 1)
    anchors = CampaignLinkAnchors(x, x + y, np.repeat(np.arange(documents), 2).astype(np.int32), y < 0.3)
    linked = fit_scale_link(anchors, "mean_sigma", draws=501, level=0.9, rng=np.random.default_rng(1))
    return linked.slopes.tolist(), linked.intercepts.tolist(), linked.by_kind_interval


def bridge(documents: int) -> object:
    x, y = normal(2 * documents), normal(2 * documents, 1)
    document = np.repeat(np.arange(documents), 2).astype(np.int32)
    return fit_score_prediction(x, x + y, document, rng=np.random.default_rng(1), draws=501, level=0.9)


def separation(documents: int) -> object:
    units = judged_twice(documents)
    return estimate_system_gap(
        units.value[::2], units, 1, 0, sign=1, draws=501, level=0.9, rng=np.random.default_rng(1)
    )


def language_pairs(documents: int) -> object:
    units = judged_twice(documents)
    anchors = CalibrationPairRatings(units, np.arange(units.n_units) // 2, normal(units.n_units))
    pair = LanguagePairRatings("x", units, units.with_replaced_values(units.value + 2), anchors)
    drawn = draw_language_pair_bootstrap(pair, documents, draws=501, seed=1, number=0)
    return calibrate_systems(pair, 3.0, dict.fromkeys(METHODS), drawn)


def alpha(documents: int) -> object:
    units = judged_twice(documents)
    return bootstrap.bootstrap_distribution(krippendorff_alpha(units, "interval"), units, 501, seed=1).tolist()


def jackknife(documents: int) -> object:
    units = judged_twice(documents)
    return bootstrap.jackknife_interval(krippendorff_alpha(units, "interval"), units, 0.9)


CASES: dict[Callable[[int], object], tuple[int, float]] = {
    drift: (500, 20e6),
    repeats: (500, 40e6),
    within_tasks: (500, 8e6),
    alike_raters: (400, 32e6),
    link: (5_000, 20e6),
    bridge: (5_000, 20e6),
    separation: (5_000, 20e6),
    language_pairs: (5_000, 20e6),
    alpha: (5_000, 20e6),
    jackknife: (2_000, 32e6),
}
"""How many documents or judgments, and the bytes of one number for each of them in each draw."""


def hold(values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set how many values are held at once, in all modules that draw."""
    monkeypatch.setattr(document_draws, "_BLOCK", values)
    monkeypatch.setattr(within_tasks_module, "HELD", values)


@pytest.mark.parametrize("compute", CASES)
def test_large_campaigns_take_little_memory(compute: Callable[[int], object], monkeypatch: pytest.MonkeyPatch) -> None:
    size, at_once = CASES[compute]
    hold(1 << 15, monkeypatch)
    compute(60)  # imports what it needs
    tracemalloc.start()
    try:
        compute(size)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < max(at_once / 2, 4e6)


@pytest.mark.parametrize("compute", CASES)
def test_draws_in_blocks_are_those_at_once(compute: Callable[[int], object], monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = compute(60)
    hold(2_000, monkeypatch)
    assert repr(compute(60)) == repr(at_once)


def test_sums_over_drawn_documents_against_a_loop() -> None:
    own = normal(30), np.ones(30)
    first, second = document_draws.bootstrap_document_sums(np.random.default_rng(5), 30, 200, own)
    rng = np.random.default_rng(5)
    drawn = [rng.integers(0, 30, size=30) for _ in range(200)]
    assert first == pytest.approx([float(own[0][picked].sum()) for picked in drawn])
    assert second.tolist() == [30.0] * 200


def test_no_documents_or_no_draws_are_sums_of_nothing() -> None:
    rng = np.random.default_rng(0)
    (none,) = document_draws.bootstrap_document_sums(rng, 0, 3, [np.empty(0)])
    (undrawn,) = document_draws.bootstrap_document_sums(rng, 3, 0, [np.ones(3)])
    assert (none.tolist(), undrawn.tolist()) == ([0.0] * 3, [])


def test_rankings_of_many_raters_on_many_documents_take_little_memory() -> None:
    """All pairs of 100 raters on 100,000 documents were 8 GB."""
    units = judged_twice(20_000, raters=40)
    tracemalloc.start()
    try:
        tau = rankings.mean_tau_within_documents(units)(units.equal_document_weights())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0 < tau[0] < 1
    assert peak < 80e6  # a table of all pairs on all documents has 125 MB


def test_rankings_by_blocks_are_those_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    units = judged_twice(60, raters=5, systems=3)
    weights = np.random.default_rng(1).integers(0, 3, size=(7, 60)).astype(np.float64)
    at_once = rankings.mean_tau_within_documents(units)(weights), rankings.compare_rater_rankings(units)
    monkeypatch.setattr(rankings, "_HELD", 50)
    in_blocks = rankings.mean_tau_within_documents(units)(weights), rankings.compare_rater_rankings(units)
    np.testing.assert_allclose(in_blocks[0], at_once[0], rtol=1e-12)
    assert in_blocks[1] == at_once[1]


def panel_of_all(raters: int, items: int) -> RaterItemMeans:
    """Everybody judges every item."""
    n = raters * items
    item = np.repeat(np.arange(items), raters).astype(np.int32)
    rater = np.tile(np.arange(raters), items).astype(np.int32)
    return RaterItemMeans(item, rater, normal(n), normal(n), normal(n), np.full(n, raters - 1, dtype=np.int32))


def test_raters_who_all_judge_everything_take_little_memory() -> None:
    """100 raters of 10,000 outputs were 50 million pairs of judgments at once, twice."""
    cells = panel_of_all(40, 500)
    tracemalloc.start()
    try:
        levels = estimate_rater_levels_and_residuals(cells, 40)
        n_pairs = sum(first.size for _, first, _ in _iterate_rater_pairs(cells))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert np.isfinite(levels.residual).all()
    assert n_pairs == 500 * 40 * 39 // 2
    assert peak < 5e6  # all pairs have 390,000 entries of 16 bytes in either order


def test_pairs_of_systems_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    score, present = normal(15 * 4_000).reshape(15, -1), np.random.default_rng(2).random((15, 4_000)) < 0.9
    unit = np.arange(4_000) // 20
    at_once = compute_system_pair_p_values(score, present, unit, permutations=100)
    monkeypatch.setattr(system_pair_p_values, "_HELD", 20_000)
    tracemalloc.start()
    try:
        in_blocks = compute_system_pair_p_values(score, present, unit, permutations=100)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert in_blocks.p.tolist() == at_once.p.tolist()
    assert in_blocks.difference.tolist() == at_once.difference.tolist()
    assert peak < 3.3e6  # one number for each pair and segment


def test_blocks_have_all_draws() -> None:
    sizes = [list(document_draws.iterate_draw_block_sizes(1_000, size)) for size in (0, 1, 3_000, 10**7)]
    assert [sum(one) for one in sizes] == [1_000] * 4
    assert max(sizes[-1]) == 8
