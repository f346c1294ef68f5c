"""The vectorized studies, tests and SRP against loops that follow the definition."""

from __future__ import annotations

import numpy as np
import pytest

from app.design.simulate import simulate_rater_assignments
from app.stats.ratings import Ratings
from app.stats.stability.multiply_rated_documents import extract_multiply_rated_documents
from app.stats.stability.srp import compare_studies, compute_pooled_srp, find_better_of_pairs
from app.stats.stability.studies import (
    compute_normalized_document_sums,
    gather_study_ratings,
    make_full_data_study,
    sum_ratings_over_segments,
)
from app.stats.stability.study_significance import (
    SignificanceRule,
    compute_permutation_p_values,
    find_significant_claims,
    sample_document_signs,
)
from tests.stats.stability import naive
from tests.stats.stability.worlds import made_up

METHODS = ("none", "mean", "center", "error", "error_rate", "z")


@pytest.mark.parametrize("grouping", ["psxs", "system_balanced", "none"])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_studies_claims_and_srp_are_those_of_the_loops(grouping: str, k: int, method: str) -> None:
    data = extract_multiply_rated_documents(made_up(len(grouping) + k))
    rng = np.random.default_rng(7)
    documents = np.array([0, 1, 3, 4, 6, 7, 8, 10])
    n_systems = len(data.systems)
    raters = simulate_rater_assignments(
        rng,
        grouping=grouping,
        bucket_of_document=data.bucket[documents],
        n_systems=n_systems,
        pools=data.pools,
        n_raters=len(data.raters),
        studies=4,
        ratings=k,
    )
    (piece,) = sample_document_signs(rng, 1, 200, len(documents))
    signs = piece.unpack(0)
    found = gather_study_ratings(sum_ratings_over_segments(data), documents, raters)
    sums = compute_normalized_document_sums(found, method)
    means = sums.sum(axis=1) / found.n_segments.sum()
    signed = -sums.transpose(0, 2, 1)[:, None]
    made = find_significant_claims(
        signed, compute_permutation_p_values(signed, [piece], exact=False, rule=SignificanceRule()), SignificanceRule()
    )[:, 0]

    slow = [naive.study_scores(data, documents.tolist(), study.tolist(), method) for study in raters]
    slow_means = [naive.system_means(study, n_systems) for study in slow]
    slow_claims = [naive.significant(study, documents.tolist(), n_systems, signs.tolist()) for study in slow]

    assert means == pytest.approx(np.array(slow_means), abs=1e-10)
    pairs = list(zip(*np.triu_indices(n_systems, k=1), strict=True))
    assert [{p if c > 0 else p[::-1] for p, c in zip(pairs, row, strict=True) if c} for row in made] == slow_claims
    assert any(slow_claims)
    assert compute_pooled_srp([compare_studies(means, made, find_better_of_pairs(means, -1))]) == naive.srp(
        slow_means, slow_claims
    )


def constant(rater: str, value: float) -> Ratings:
    """A made-up campaign in which one rater gave the same score throughout."""
    given = made_up(3)
    score = np.where(given.rater == given.labels.raters.index(rater), value, given.score)
    return given.with_scores(score).in_canonical_order()


@pytest.mark.parametrize("value", [0.0, 0.3])
@pytest.mark.parametrize("method", METHODS)
def test_raters_who_gave_one_score_throughout_are_as_in_the_loops(value: float, method: str) -> None:
    data = extract_multiply_rated_documents(constant("r1", value))
    documents = np.arange(len(data.documents))
    pools = [data.pools[b] for b in data.bucket]
    raters = np.array([[[[pool[(s + d) % 3]] for s in range(4)] for d, pool in enumerate(pools)]])
    found = gather_study_ratings(sum_ratings_over_segments(data), documents, raters)
    means = compute_normalized_document_sums(found, method).sum(axis=1)[0] / found.n_segments.sum()
    slow = naive.study_scores(data, documents.tolist(), raters[0].tolist(), method)
    assert means == pytest.approx(np.array(naive.system_means(slow, 4)), abs=1e-10)
    if method == "z":
        assert found.constant_score_rater_mask[0, data.raters.index("r1")]


@pytest.mark.parametrize("method", METHODS)
def test_the_full_data_are_the_study_in_which_everybody_rates_everything(method: str) -> None:
    data = extract_multiply_rated_documents(made_up(5, pools=((0, 1, 2), (2, 3))))
    found = make_full_data_study(sum_ratings_over_segments(data))
    raters = [[data.pools[b].tolist()] * len(data.systems) for b in data.bucket]
    slow = naive.study_scores(data, range(len(data.documents)), raters, method)
    means = compute_normalized_document_sums(found, method).sum(axis=1)[0] / found.n_segments.sum()
    assert means == pytest.approx(np.array(naive.system_means(slow, 4)), abs=1e-10)
