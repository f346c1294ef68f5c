"""SRP and its neighbours on cases small enough to count by hand."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from app.design.entropy import normalized_entropy
from app.stats.stability.srp import (
    compare_studies,
    compute_pooled_srp,
    estimate_srp_monte_carlo_error,
    find_better_of_pairs,
    mark_stable_study_pairs,
)
from app.stats.stability.study_significance import (
    Claims,
    SignificanceRule,
    SignPatternBatch,
    can_enumerate_all_signs,
    compute_permutation_p_values,
    find_significant_claims,
    iterate_all_document_signs,
    sample_document_signs,
)

# A worked example; lower is better. Pairs (A, B), (A, C), (B, C).
MEANS = np.array([[1.0, 2, 3], [1, 3, 2], [1, 2, 2]])
CLAIMS: Claims = np.array([[1, 1, 1], [1, 1, 0], [0, 0, 0]], dtype=np.int8)


def test_the_worked_example_has_an_srp_of_four_sixths() -> None:
    order = find_better_of_pairs(MEANS, -1)
    matrix = mark_stable_study_pairs(CLAIMS, order)
    assert not matrix[0, 1]
    assert not matrix[0, 2], "a tie is not stable"
    assert matrix[1:].all()
    group = compare_studies(MEANS, CLAIMS, order)
    assert (group.stable, group.n_pairs, compute_pooled_srp([group])) == (4, 6, 4 / 6)


def test_turning_scores_round_changes_nothing_but_the_flag() -> None:
    assert (find_better_of_pairs(-MEANS, 1) == find_better_of_pairs(MEANS, -1)).all()


def test_entropies_of_the_paper() -> None:
    """The least entropy that the buckets of the paper allow."""
    load = np.array([[78, 78, 25, 0, 0, 0, 0], [3, 3, 1, 0, 0, 0, 0]])
    assert normalized_entropy(load) == pytest.approx([0.513357, 0.516079], abs=1e-6)
    assert normalized_entropy(np.array([[1, 1, 0, 0, 0, 0]])) == pytest.approx([0.386853], abs=1e-6)


def studies(seed: int, n: int, systems: int = 6) -> tuple[np.ndarray, Claims]:
    rng = np.random.default_rng(seed)
    means = np.round(np.arange(systems) * 0.4 + rng.normal(size=(n, systems)), 1)
    order = find_better_of_pairs(means, -1)
    return means, (order * (rng.random(order.shape) < 0.5)).astype(np.int8)


def test_kendall_pearson_retained_and_both_significant_are_those_of_plain_loops() -> None:
    means, made = studies(1, 12)
    means[3] = means[3, 0]  # a study without any difference: no rank correlation with it
    order = find_better_of_pairs(means, -1)
    group = compare_studies(means, made, order)
    taus, pearsons, retained, both = [], [], 0, 0
    for a in range(12):
        for b in range(12):
            if a == b:
                continue
            retained += int((made[a] * order[b] > 0).sum())
            both += int(((made[a] == 0) | (made[a] == made[b])).all())
            if a < b and 3 not in (a, b):
                taus.append(stats.kendalltau(means[a], means[b]).statistic)
                pearsons.append(np.corrcoef(means[a], means[b])[0, 1])
    assert group.retained == pytest.approx(retained)
    assert group.both == both
    assert (group.tau[1], group.pearson[1]) == (len(taus), len(taus))
    assert group.tau[0] == pytest.approx(sum(taus))
    assert group.pearson[0] == pytest.approx(sum(pearsons))


def test_a_group_larger_than_what_is_held_at_once_is_counted_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    means, made = studies(2, 23)
    whole = compare_studies(means, made, find_better_of_pairs(means, -1))
    monkeypatch.setattr("app.stats.stability.srp._ROWS", 5)
    pieces = compare_studies(means, made, find_better_of_pairs(means, -1))
    assert (pieces.stable, pieces.both, pieces.retained) == (whole.stable, whole.both, whole.retained)
    assert (pieces.each == whole.each).all()


def test_the_error_of_one_group_is_the_jackknife_over_its_studies() -> None:
    means, made = studies(3, 15)
    matrix = mark_stable_study_pairs(made, find_better_of_pairs(means, -1)).astype(float)
    np.fill_diagonal(matrix, 0)
    without = []
    for b in range(15):
        left = np.delete(np.delete(matrix, b, axis=0), b, axis=1)
        without.append(left.sum() / (14 * 13))
    expected = np.sqrt(14 / 15 * ((np.array(without) - np.mean(without)) ** 2).sum())
    assert estimate_srp_monte_carlo_error(
        [compare_studies(means, made, find_better_of_pairs(means, -1))]
    ) == pytest.approx(expected)


def test_the_error_of_ten_groups_is_that_between_them_and_of_fewer_never_below_the_jackknife() -> None:
    groups = []
    for seed in range(10):
        means, made = studies(seed, 8)
        groups.append(compare_studies(means, made, find_better_of_pairs(means, -1)))
    each = np.array([group.stable / group.n_pairs for group in groups])
    assert estimate_srp_monte_carlo_error(groups) == pytest.approx(each.std(ddof=1) / np.sqrt(10))
    alike = [groups[0]] * 5  # no difference between groups, yet each is of few studies
    assert estimate_srp_monte_carlo_error(alike) > 0.01


def test_few_documents_are_enumerated_and_give_the_exact_p() -> None:
    """Document sums −3, −2, −3, 1, −3 give p = 4/32 two-sided and 2/32 one-sided."""
    sums = np.zeros((1, 1, 2, 5))
    sums[0, 0, 0] = [3.0, 2, 3, -1, 3]
    assert can_enumerate_all_signs(5, 500)
    assert not can_enumerate_all_signs(9, 500)
    two = compute_permutation_p_values(sums, iterate_all_document_signs(5), exact=True, rule=SignificanceRule())
    assert two.first.item() == 4 / 32
    one = compute_permutation_p_values(
        sums, iterate_all_document_signs(5), exact=True, rule=SignificanceRule(two_sided=False)
    )
    assert (one.first.item(), one.second.item()) == (2 / 32, 31 / 32)
    assert find_significant_claims(sums, one, SignificanceRule(alpha=0.07, two_sided=False)).item() == 1
    assert (
        find_significant_claims(
            -sums,
            compute_permutation_p_values(
                -sums, iterate_all_document_signs(5), exact=True, rule=SignificanceRule(two_sided=False)
            ),
            SignificanceRule(0.07),
        ).item()
        == -1
    )


def test_permutations_in_several_pieces_count_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    sums = rng.normal(size=(3, 2, 5, 30))
    (piece,) = sample_document_signs(rng, 3, 700, 30)
    signs = np.stack([piece.unpack(study) for study in range(3)])
    assert signs.shape == (3, 700, 30)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs.mean()) < 0.02
    for rule in (SignificanceRule(), SignificanceRule(two_sided=False), SignificanceRule(plus_one=False)):
        whole = compute_permutation_p_values(sums, [piece], exact=False, rule=rule)
        monkeypatch.setattr("app.stats.stability.study_significance._CACHE_BYTES", 1)
        pieces = compute_permutation_p_values(
            sums, [SignPatternBatch.pack(signs[:, :123]), SignPatternBatch.pack(signs[:, 123:])], exact=False, rule=rule
        )
        assert (whole.first == pieces.first).all()
        assert (whole.second == pieces.second).all()


@pytest.mark.parametrize("documents", [11, 12, 13])
def test_counts_are_right_for_as_many_permutations_as_are_counted_at_once_and_more(documents: int) -> None:
    """Of 2^D patterns all reach a difference of nothing, and two a sum whose terms have one sign."""
    sums = np.zeros((2, 1, 3, documents))
    sums[:, :, 0] = 1.0
    p = compute_permutation_p_values(sums, iterate_all_document_signs(documents), exact=True, rule=SignificanceRule())
    assert p.first.tolist() == [[[2 / 2**documents, 2 / 2**documents, 1.0]]] * 2
    p = compute_permutation_p_values(
        sums, iterate_all_document_signs(documents), exact=True, rule=SignificanceRule(two_sided=False)
    )
    assert p.first.tolist() == [[[1 / 2**documents, 1 / 2**documents, 1.0]]] * 2
    assert p.second.tolist() == [[[1.0, 1.0, 1.0]]] * 2


def test_many_permutations_of_many_documents_are_never_held_all_at_once() -> None:
    sums, rng = np.random.default_rng(1).normal(size=(50, 1, 4, 1000)), np.random.default_rng(2)
    tracemalloc.start()
    try:
        found = compute_permutation_p_values(
            sums, sample_document_signs(rng, 50, 1000, 1000), exact=False, rule=SignificanceRule()
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.first.shape == (50, 1, 6)
    assert 50 * 1000 * 1000 * 8 == 400_000_000, "what all signs would take"
    assert peak < 150_000_000
