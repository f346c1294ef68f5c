"""Errors by document: plain matrices, clubSandwich, worked values, and what the intervals hold in uneven worlds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.stats import intervals
from app.stats.inference import by_document
from tests.stats.inference.matrices import cr2

LENGTHS = st.lists(st.integers(0, 7), min_size=2, max_size=9).filter(lambda n: sum(x > 0 for x in n) > 1)


@settings(max_examples=60, deadline=None)
@given(LENGTHS, st.integers(0, 10_000), st.sampled_from([0.0, 0.02, 0.4, 1.0]))
def test_errors_and_degrees_are_those_of_plain_matrices(lengths: list[int], seed: int, correlation: float) -> None:
    n = np.array(lengths)
    document = np.repeat(np.arange(n.size), n).astype(float)
    score = np.random.default_rng(seed).normal(size=document.size) + document % 3
    sums = np.bincount(document.astype(int), weights=score, minlength=n.size)
    found = by_document.estimate_ratio_precision(sums, n)
    error, degrees = cr2(score, document, np.ones((document.size, 1)), np.ones(1), correlation)
    assert float(found.error) == pytest.approx(error, rel=1e-10)
    assert float(by_document.compute_document_degrees_of_freedom(n, correlation)) == pytest.approx(degrees, rel=1e-10)
    assert float(found.degrees) == float(by_document.compute_document_degrees_of_freedom(n, by_document.CORRELATION))


def test_rows_with_their_own_lengths_stand_side_by_side() -> None:
    rng = np.random.default_rng(5)
    counts = rng.integers(0, 5, size=(4, 3, 8))
    counts[..., :2] = 2
    sums = np.where(counts > 0, rng.normal(size=counts.shape), 0.0)
    found = by_document.estimate_ratio_precision(sums, counts)
    for at in np.ndindex(4, 3):
        alone = by_document.estimate_ratio_precision(sums[at], counts[at])
        held = by_document.estimate_ratio_precision(sums[at][counts[at] > 0], counts[at][counts[at] > 0])
        assert (found.error[at], found.degrees[at]) == pytest.approx((float(alone.error), float(alone.degrees)))
        assert (found.error[at], found.degrees[at]) == pytest.approx((float(held.error), float(held.degrees)))
        assert found.documents[at] == int(held.documents)


def test_equal_documents_have_one_degree_less_than_there_are_and_the_usual_error() -> None:
    sums = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    found = by_document.estimate_ratio_precision(sums, np.full(5, 7))
    assert float(found.degrees) == pytest.approx(4)
    assert float(found.error) == pytest.approx(float(np.std(sums / 7, ddof=1) / np.sqrt(5)))
    assert float(found.effective) == pytest.approx(5)


@pytest.mark.parametrize("scale", [1 / 7, 1 / 1000])
def test_weights_of_any_scale_below_one_have_the_same_degrees(scale: float) -> None:
    n = np.array([4.0, 2.0, 1.0, 9.0, 1.0])
    assert by_document.compute_document_degrees_of_freedom(n * scale) == pytest.approx(
        by_document.compute_document_degrees_of_freedom(n)
    )


def test_one_document_says_nothing_of_others() -> None:
    found = by_document.estimate_ratio_precision(np.array([[3.0, 0.0], [3.0, 1.0]]), np.array([[4, 0], [4, 1]]))
    assert np.isnan(found.error[0])
    assert found.degrees.tolist() == [0.0, pytest.approx(1.0)]
    assert np.isnan(intervals.compute_interval_half_widths(found, 0.05)[0])


def test_effective_documents_and_the_largest_share_are_those_of_the_worked_example() -> None:
    n = np.array([60] + [3] * 19)
    assert float(by_document.compute_effective_document_count(n)) == pytest.approx(117**2 / (3600 + 19 * 9))
    assert float(by_document.compute_largest_document_share(n)) == pytest.approx(60 / 117)
    assert float(by_document.compute_effective_document_count(np.zeros(3))) == 0.0
    assert float(by_document.compute_largest_document_share(np.zeros(3))) == 0.0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 8))
def test_a_difference_over_own_segments_is_a_contrast_of_two_means(seed: int, documents: int) -> None:
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 5, size=(2, documents))
    n[:, :2] = rng.integers(1, 5, size=(2, 2))
    document = np.concatenate([np.repeat(np.arange(documents), row) for row in n]).astype(float)
    system = np.repeat([0, 1], n.sum(axis=1))
    score = rng.normal(size=document.size)
    sums = np.array([np.bincount(document[system == s].astype(int), score[system == s], documents) for s in (0, 1)])
    design = np.eye(2)[system]
    error, _ = cr2(score, document, design, np.array([1.0, -1.0]), 0.0)
    found = by_document.estimate_difference_precision((sums[0], sums[1]), (n[0], n[1]))
    assert float(found.error) == pytest.approx(error, rel=1e-10)
    # Degrees weigh the two variances as they were found; with these in the model the matrices say the same.
    variances = [
        float((by_document.compute_document_influences(x, m) ** 2).sum()) for x, m in zip(sums, n, strict=True)
    ]
    scale = np.where(system == 0, variances[0] * n[0].sum(), variances[1] * n[1].sum())
    trace = [_trace(m) for m in n]
    scale = scale / np.where(system == 0, trace[0], trace[1])
    _, degrees = _scaled(document, design, scale, system)
    assert float(found.degrees) == pytest.approx(max(1.0, degrees), rel=1e-8)


def _trace(n: np.ndarray) -> float:
    """Expected corrected variance under the working model of unit variance, in units of 1/N."""
    document = np.repeat(np.arange(n.size), n).astype(float)
    gram = _gram(document, np.ones((document.size, 1)), np.ones(1), np.ones(document.size), np.zeros(document.size))
    return float(np.trace(gram) * n.sum())


def _scaled(document: np.ndarray, design: np.ndarray, scale: np.ndarray, system: np.ndarray) -> tuple[None, float]:
    gram = _gram(document, design, np.array([1.0, -1.0]), scale, system)
    return None, float(np.trace(gram) ** 2 / (gram * gram).sum())


def _gram(
    document: np.ndarray, design: np.ndarray, contrast: np.ndarray, scale: np.ndarray, system: np.ndarray
) -> np.ndarray:
    bread = np.linalg.inv(design.T @ design)
    hat = design @ bread @ design.T
    maker = np.eye(document.size) - hat
    pulls = []
    for one in np.unique(document):
        here = np.flatnonzero(document == one)
        values, vectors = np.linalg.eigh(np.eye(here.size) - hat[np.ix_(here, here)])
        root = vectors @ np.diag(np.where(values > 1e-12, np.maximum(values, 1e-300) ** -0.5, 0.0)) @ vectors.T
        pulls.append(maker[here].T @ (root @ (design[here] @ (bread @ contrast))))
    same = (document[:, None] == document[None, :]) & (system[:, None] == system[None, :])
    rho = by_document.CORRELATION
    sigma = np.where(same, rho, 0.0) + (1 - rho) * np.eye(document.size)
    return np.array(pulls) @ (sigma * np.sqrt(scale[:, None] * scale[None, :])) @ np.array(pulls).T


def test_on_complete_data_the_error_of_two_scores_is_that_of_their_differences() -> None:
    rng = np.random.default_rng(3)
    sums, counts = rng.normal(size=(2, 9)), rng.integers(1, 9, size=9)
    paired = by_document.estimate_ratio_precision(sums[0] - sums[1], counts)
    found = by_document.estimate_difference_precision((sums[0], sums[1]), (counts, counts))
    assert float(found.error) == pytest.approx(float(paired.error))
    assert float(found.degrees) == pytest.approx(float(paired.degrees))
    assert float(found.effective) == pytest.approx(float(paired.effective))
    assert int(found.documents) == 9


def test_without_common_documents_variances_add_and_degrees_are_welchs() -> None:
    sums = np.array([[1.0, 4.0, 2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 5.0, 3.0, 9.0]])
    counts = np.array([[2, 2, 2, 0, 0, 0], [0, 0, 0, 2, 2, 2]])
    found = by_document.estimate_difference_precision((sums[0], sums[1]), (counts[0], counts[1]))
    a, b = (np.var(x[x > 0] / 2, ddof=1) / 3 for x in sums)
    assert float(found.error) == pytest.approx(float(np.sqrt(a + b)))
    assert float(found.degrees) == pytest.approx(float((a + b) ** 2 / ((a * a + b * b) / 2)))


WORLDS = {
    "60 of 117": np.array([60.0] + [3.0] * 19),
    "100 of 138": np.array([100.0] + [2.0] * 19),
    "two giants": np.array([50.0, 50.0] + [3.0] * 14),
    "lognormal": None,
}


def coverage(world: str, within: float, *, campaigns: int, lengths: int, seed: int) -> float:
    """Share of 95 % intervals that hold the true mean; `within`: share of the variance that documents have."""
    rng = np.random.default_rng(seed)
    held = 0.0
    for _ in range(lengths):
        fixed = WORLDS[world]
        n = np.maximum(1, np.round(rng.lognormal(1.5, 1.0, 30))) if fixed is None else fixed
        noise = rng.normal(size=(2, campaigns // lengths, n.size))
        sums = np.sqrt(within) * n * noise[0] + np.sqrt((1 - within) * n) * noise[1]
        reach = intervals.compute_interval_half_widths(by_document.estimate_ratio_precision(sums, n), 0.05)
        held += float((np.abs(sums.sum(axis=1) / n.sum()) <= reach).mean())
    return held / lengths


@pytest.mark.parametrize("world", WORLDS)
def test_intervals_hold_what_they_promise_where_documents_are_uneven(world: str) -> None:
    """With D − 1 degrees and no correction: .91, .77, .40 and .77."""
    for within in (0.0, 0.2, 1.0):
        assert coverage(world, within, campaigns=4_000, lengths=40, seed=20) >= 0.935


@pytest.mark.soak
@pytest.mark.parametrize("world", WORLDS)
def test_intervals_hold_what_they_promise_in_many_campaigns(world: str) -> None:
    for within in (0.0, 0.05, 0.2, 0.5, 1.0):
        assert coverage(world, within, campaigns=100_000, lengths=500, seed=21) >= 0.94
