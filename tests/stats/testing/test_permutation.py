"""Sign permutation: the worked example, exact enumeration and sampling beside slow twins."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.stats.testing import permutation
from app.stats.testing.permutation import (
    PairsWithSameSegments,
    PermutationCounts,
    cap_number_of_permutations,
    count_extreme_permuted_sums,
)

# Differences A − B of the segments of five documents; the expected values were computed with independent code.
F4 = [[-1, -2], [0, -1, -1], [-3], [1, 0], [-2, -2, 1]]


def one_pair(differences: list[float]) -> PairsWithSameSegments:
    sums = np.array([differences, [0.0] * len(differences)])
    return PairsWithSameSegments(sums, np.array([0]), np.array([1]), np.array([0]), np.arange(len(differences)))


def flips(
    differences: list[float], *, permutations: int = 10_000, exact: bool = True, seed: int = 1, two_sided: bool = True
) -> PermutationCounts:
    block = one_pair([float(d) for d in differences])
    return count_extreme_permuted_sums(
        [block],
        1,
        len(differences),
        permutations=permutations,
        seed=seed,
        two_sided=two_sided,
        enumerate_small=exact,
    )


def test_the_worked_example_f4_is_met_by_documents() -> None:
    sums = [float(sum(document)) for document in F4]
    assert flips(sums).exact[0]
    assert flips(sums).p_values(plus_one=True)[0] == 0.125
    assert flips(sums, two_sided=False).reverse_p_values(plus_one=True)[0] == 0.0625


def test_the_worked_example_f4_has_another_p_with_segments_as_the_wrong_unit() -> None:
    counts = flips([float(d) for document in F4 for d in document])
    assert counts.p_values(plus_one=True)[0] == 0.07421875


SUMS = st.lists(st.integers(-50, 50).map(lambda n: n / 10), min_size=1, max_size=9)


@settings(max_examples=60, deadline=None)
@given(SUMS)
def test_enumeration_agrees_with_its_slow_twin(sums: list[float]) -> None:
    observed = sum(sums)
    tolerance = 1e-9 * max(1, abs(observed))
    permuted = [sum(s * d for s, d in zip(signs, sums, strict=True)) for signs in product((1, -1), repeat=len(sums))]
    counts, one_sided = flips(sums), flips(sums, two_sided=False)
    assert counts.total[0] == 2 ** len(sums)
    assert one_sided.beyond[0] == sum(p >= observed - tolerance for p in permuted)
    assert one_sided.reverse[0] == sum(p <= observed + tolerance for p in permuted)
    assert counts.beyond[0] == sum(abs(p) >= abs(observed) - tolerance for p in permuted)
    assert counts.reverse is None
    assert np.isnan(counts.reverse_p_values(plus_one=True)).all()


@settings(max_examples=30, deadline=None)
@given(SUMS, st.integers(0, 2**63 - 1))
def test_sampling_agrees_with_its_slow_twin(sums: list[float], seed: int) -> None:
    counts = flips(sums, permutations=300, exact=False, seed=seed)
    observed = sum(sums)
    found = 0
    for pattern in np.concatenate(list(permutation.sample_sign_patterns(len(sums), 300, seed, 64))):
        permuted = sum(d if keep else -d for keep, d in zip(pattern, sums, strict=True))
        found += abs(permuted) >= abs(observed) - 1e-9 * max(1, abs(observed))
    assert counts.beyond[0] == found
    assert counts.p_values(plus_one=True)[0] == (found + 1) / 301
    assert counts.p_values(plus_one=False)[0] == found / 300


def test_sampling_comes_near_the_enumerated_p() -> None:
    sums = [3.0, -1.0, 2.5, 4.0, -0.5, 1.0, 2.0, 3.5, -2.0, 1.5]
    exact, drawn = flips(sums), flips(sums, permutations=200_000, exact=False)
    p = exact.beyond[0] / exact.total[0]
    assert drawn.beyond[0] / 200_000 == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / 200_000))


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 5), st.integers(10, 14), st.integers(0, 1000))
def test_pairs_tested_together_get_what_they_get_alone(n_systems: int, n_units: int, seed: int) -> None:
    sums = np.round(np.random.default_rng(seed).normal(size=(n_systems, n_units)), 1)
    first, second = np.triu_indices(n_systems, k=1)
    block = PairsWithSameSegments(sums, first, second, np.arange(first.size), np.arange(n_units))
    together = count_extreme_permuted_sums([block], first.size, n_units, permutations=500, seed=seed, two_sided=False)
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        apart = (sums[i] - sums[j]).tolist()
        alone = flips(apart, permutations=500, seed=seed, two_sided=False)
        assert together.beyond[pair] == alone.beyond[0]
        assert together.reverse[pair] == alone.reverse[0]


def own_segments(rng: np.random.Generator, units: list[int]) -> list[PairsWithSameSegments]:
    """A block for each pair, on so many units of its own: what systems give that each miss other segments."""
    blocks = []
    for pair, n in enumerate(units):
        held = np.sort(rng.choice(40, size=n, replace=False))
        sums = np.zeros((2, 40))
        sums[:, held] = np.round(rng.normal(size=(2, n)), 1)
        blocks.append(PairsWithSameSegments(sums, np.array([0]), np.array([1]), np.array([pair]), held))
    return blocks


@pytest.mark.parametrize("two_sided", [True, False])
def test_pairs_with_segments_of_their_own_count_together_as_each_alone(two_sided: bool) -> None:
    blocks = own_segments(np.random.default_rng(8), [40, 3, 12, 5, 39, 5, 1, 40, 12])
    whole = PairsWithSameSegments(
        np.round(np.random.default_rng(9).normal(size=(4, 40)), 1),
        *np.triu_indices(4, 1),
        np.arange(9, 15),
        np.arange(40),
    )
    how = {"permutations": 600, "seed": 11, "two_sided": two_sided}
    together = count_extreme_permuted_sums([*blocks, whole], 15, 40, **how)
    for block in (*blocks, whole):
        alone = count_extreme_permuted_sums([block], 15, 40, **how)
        for name in ("beyond", "reverse", "total", "exact"):
            ours, theirs = getattr(together, name), getattr(alone, name)
            assert (ours is None) == (theirs is None) == (name == "reverse" and two_sided)
            assert ours is None or ours[block.pair].tolist() == theirs[block.pair].tolist()


@pytest.mark.parametrize("units", [40, 7])
def test_the_work_grows_with_what_is_computed_and_not_with_the_number_of_blocks(
    units: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    compare = permutation._compare
    monkeypatch.setattr(permutation, "_compare", lambda *given: (calls.append(1), compare(*given)))
    blocks = own_segments(np.random.default_rng(8), [units] * 400)
    count_extreme_permuted_sums(blocks, 400, 40, permutations=500, seed=1, two_sided=True)
    assert len(calls) < 10


def test_blocks_of_few_units_are_enumerated_beside_sampled_ones() -> None:
    rng = np.random.default_rng(5)
    many = rng.normal(size=(2, 40))
    few = np.where(np.arange(40) < 4, many, 0.0)
    ends = (np.array([0]), np.array([1]))
    blocks = [
        PairsWithSameSegments(many, *ends, np.array([0]), np.arange(40)),
        PairsWithSameSegments(few, *ends, np.array([1]), np.arange(4)),
    ]
    counts = count_extreme_permuted_sums(blocks, 2, 40, permutations=1000, seed=3, two_sided=True)
    assert counts.exact.tolist() == [False, True]
    assert counts.total.tolist() == [1000, 16]
    assert counts.beyond[1] == flips((few[0] - few[1])[:4].tolist()).beyond[0]


@pytest.mark.parametrize("units", [9, 70])
def test_the_chunk_size_changes_nothing(units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sums = np.random.default_rng(2).normal(size=units).tolist()
    whole = flips(sums, permutations=1000)
    monkeypatch.setattr(permutation, "_CHUNK_BYTES", 8 * units * 37)
    monkeypatch.setattr(permutation, "_CACHE_BYTES", 8)
    again = flips(sums, permutations=1000)
    assert (again.beyond.tolist(), again.total.tolist()) == (whole.beyond.tolist(), whole.total.tolist())


@pytest.mark.parametrize("units", [63, 64, 65, 500])
def test_tiles_of_units_change_nothing(units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(units)
    first, second = np.triu_indices(4, k=1)
    several = PairsWithSameSegments(rng.normal(size=(4, units)), first, second, np.arange(6), np.arange(units))
    alone = PairsWithSameSegments(
        rng.normal(size=(2, units)), np.array([0]), np.array([1]), np.array([6]), np.arange(units)
    )
    choices = {"permutations": 1500, "seed": 3, "two_sided": False}
    whole = count_extreme_permuted_sums([several, alone], 7, units, **choices)
    for name, value in (("_MOST_UNITS", 0), ("_TILE", 64), ("_TILE_ROWS", 200)):
        monkeypatch.setattr(permutation, name, value)
    tiled = count_extreme_permuted_sums([several, alone], 7, units, **choices)
    assert np.array_equal(tiled.beyond, whole.beyond)
    assert tiled.reverse is not None
    assert np.array_equal(tiled.reverse, whole.reverse)


def test_equal_systems_are_never_significant() -> None:
    counts = flips([0.0] * 30)
    assert counts.p_values(plus_one=True)[0] == 1.0


def test_p_is_uniform_when_there_is_no_difference() -> None:
    rng = np.random.default_rng(7)
    p = []
    for _ in range(400):
        counts = flips(rng.normal(size=10).tolist(), permutations=1024)
        p.append(float(counts.p_values(plus_one=True)[0]))
    # four standard errors of a share of .05 and .5 among 400
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.044)
    assert np.mean(np.array(p) <= 0.5) == pytest.approx(0.5, abs=0.1)


def test_more_hypotheses_need_more_permutations() -> None:
    assert cap_number_of_permutations(1, 0.05) == 10_000
    assert cap_number_of_permutations(105, 0.05) == 42_000
    assert cap_number_of_permutations(19_900, 0.05) == 1_000_000
