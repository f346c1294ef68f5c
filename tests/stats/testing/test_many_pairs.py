"""Many pairs of systems, and many draws: the same figures in little memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from app.stats.aggregate import ScoreMatrix
from app.stats.ranking import influence
from app.stats.testing import common_segments, permutation, resampling
from app.stats.testing.common_segments import (
    CommonSegmentsByPair,
    iterate_pair_differences_in_batches,
    reduce_pairs_to_common_segments,
)


def panel(systems: int, segments: int, *, missing: float = 0.0) -> ScoreMatrix:
    """Every segment is a document."""
    rng = np.random.default_rng(systems)
    score = rng.normal(size=(systems, segments)).round(1)
    present = rng.random(score.shape) >= missing
    at = np.arange(segments, dtype=np.int32)
    return ScoreMatrix(
        score=np.where(present, score, 0.0),
        present=present,
        systems=np.arange(systems, dtype=np.int32),
        n=np.full(systems, segments, dtype=np.int32),
        segments=at,
        document=at,
        starts=at,
    )


def peak_of(compute: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        compute()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_pairs_of_many_systems_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """4,950 pairs on 10,000 documents are 400 MB for each of a dozen arrays."""
    for module, limit in ((common_segments, "_CHUNK"), (permutation, "_DIFFERENCES")):
        monkeypatch.setattr(module, limit, 10_000)
    given, kept = panel(40, 1_000), list[CommonSegmentsByPair]()
    assert (
        peak_of(lambda: kept.append(reduce_pairs_to_common_segments(given, 1, unit="document"))) < 3e6
    )  # one has 6.2 MB
    (shared,) = kept
    assert peak_of(lambda: shared.blocks[0].sum_differences(squared=True)) < 1e6
    sizes = [pairs.size for pairs, _, _ in iterate_pair_differences_in_batches(shared.blocks)]
    assert sizes == [256, 256, 256, 12]


def test_differences_without_each_document_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """190 pairs on 100,000 documents were seven arrays of 150 MB; what is kept is one."""
    given, kept = panel(40, 1_000), list[np.ndarray]()
    keys = [f"d{i}" for i in range(1_000)]
    at_once = influence.leave_out_each_document(given, 1, keys, paired=True).without
    monkeypatch.setattr(influence, "_HELD", 50_000)
    peak = peak_of(lambda: kept.append(influence.leave_out_each_document(given, 1, keys, paired=True).without))
    assert kept[0].tolist() == at_once.tolist()
    assert peak < 4.5 * at_once.nbytes


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_pairs_some_at_a_time_are_those_at_once(missing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    given = panel(12, 40, missing=missing)
    at_once = reduce_pairs_to_common_segments(given, 1, unit="document")
    (whole,) = iterate_pair_differences_in_batches(at_once.blocks)
    monkeypatch.setattr(common_segments, "_CHUNK", 100)
    monkeypatch.setattr(common_segments, "_PAIRS_AT_ONCE", 7)
    monkeypatch.setattr(permutation, "_DIFFERENCES", 100)
    in_parts = reduce_pairs_to_common_segments(given, 1, unit="document")
    parts = [np.concatenate(one) for one in zip(*iterate_pair_differences_in_batches(in_parts.blocks), strict=True)]
    assert in_parts.difference.tolist() == at_once.difference.tolist()
    assert in_parts.precision.error.tolist() == at_once.precision.error.tolist()
    assert in_parts.precision.degrees.tolist() == at_once.precision.degrees.tolist()
    for mine, theirs in zip(parts, whole, strict=True):
        assert mine.tolist() == theirs.tolist()
    for block in in_parts.blocks:
        apart = block.differences()
        assert block.sum_differences() == pytest.approx(apart.sum(axis=1))
        assert block.sum_differences(squared=True) == pytest.approx((apart**2).sum(axis=1))


def test_a_million_draws_are_counted_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recipe may ask for as many: 105 pairs of 15 systems had 840 MB, three times over."""
    monkeypatch.setattr(resampling, "_CHUNK", 10_000)
    sums = np.random.default_rng(1).normal(size=(60, 10)) + np.linspace(-1, 1, 60)[:, None]
    weights = np.ones((60, 10))
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    peak = peak_of(lambda: kept.append(resampling.compute_bootstrap_p_values(sums, weights, draws=40_000, seed=3)))
    assert peak < 10e6  # all draws have 19 MB
    drawn = np.round(resampling.draw_bootstrap_ratios(sums, weights, draws=40_000, seed=3), 10)
    assert kept[0][0].tolist() == ((1 + (drawn <= 0).sum(axis=1)) / 40_001).tolist()
    assert kept[0][1].tolist() == ((1 + (drawn >= 0).sum(axis=1)) / 40_001).tolist()
