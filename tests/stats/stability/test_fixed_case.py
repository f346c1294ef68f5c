"""Fifteen studies with given assignments and signs: a test without random numbers.

Source: expected/srp_fixed_case_ende.json, computed by straightforward loops on the side-by-side MQM of WMT23 en-de.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.stats.ratings import Floats
from app.stats.stability.srp import compare_studies, compute_pooled_srp, find_better_of_pairs, mark_stable_study_pairs
from app.stats.stability.studies import (
    StudyBatch,
    compute_normalized_document_sums,
    gather_study_ratings,
    sum_ratings_over_segments,
)
from app.stats.stability.study_significance import (
    SignificanceRule,
    SignPatternBatch,
    compute_permutation_p_values,
    find_significant_claims,
)
from tests.stats.stability.worlds import expected, needs_public_data, side_by_side_arrays

pytestmark = needs_public_data
GROUPINGS = ("psxs", "system", "none")
METHODS = {"raw": "none", "mean": "mean", "error": "error", "error_rate_mode": "error_rate", "z": "z"}


def studies_of(case: dict[str, Any], fixed: dict[str, Any]) -> StudyBatch:
    data = side_by_side_arrays()
    documents = np.array([data.documents.index(name) for name in fixed["documents"]])
    raters = np.empty((len(case["studies"]), len(documents), len(data.systems), 1), dtype=np.int64)
    for e, study in enumerate(case["studies"]):
        for d, document in enumerate(fixed["documents"]):
            given = study[document]
            for s, system in enumerate(data.systems):
                raters[e, d, s, 0] = data.raters.index(given if isinstance(given, str) else given[system])
    return gather_study_ratings(sum_ratings_over_segments(data), documents, raters)


@pytest.fixture(scope="module")
def fixed() -> dict[str, Any]:
    return dict(expected("srp_fixed_case_ende.json"))


@pytest.fixture(scope="module")
def signs(fixed: dict[str, Any]) -> Floats:
    return np.array([[1.0 if c == "+" else -1.0 for c in row] for row in fixed["permutation_signs"]])


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_every_study_has_the_means_p_values_claims_and_stability_of_the_loops(
    grouping: str, fixed: dict[str, Any], signs: Floats
) -> None:
    case, systems, rule = fixed["cases"][grouping], fixed["systems"], SignificanceRule()
    found = studies_of(case, fixed)
    assert list(side_by_side_arrays().systems) == systems
    first, second = np.triu_indices(len(systems), k=1)
    assert len(case["expected"]) >= 2
    for name, theirs in case["expected"].items():
        sums = compute_normalized_document_sums(found, METHODS[name])
        means = sums.sum(axis=1) / found.n_segments.sum()
        by_name = [dict(zip(systems, map(float, row), strict=True)) for row in means]
        for ours, wanted in zip(by_name, theirs["means"], strict=True):
            assert ours == pytest.approx(wanted, abs=1e-12)
        signed = -sums.transpose(0, 2, 1)[:, None]
        p = compute_permutation_p_values(signed, [SignPatternBatch.pack(signs[None])], exact=False, rule=rule)
        for row, wanted in zip(p.first[:, 0], theirs["p_values"], strict=True):
            ours = {f"{systems[i]} | {systems[j]}": float(x) for i, j, x in zip(first, second, row, strict=True)}
            assert ours == pytest.approx(wanted, abs=1e-12)
        made = find_significant_claims(signed, p, rule)[:, 0]
        for row, wanted in zip(made, theirs["significant_pairs"], strict=True):
            ours_pairs = {
                (systems[i], systems[j]) if c > 0 else (systems[j], systems[i])
                for i, j, c in zip(first, second, row, strict=True)
                if c
            }
            assert ours_pairs == {tuple(pair) for pair in wanted}
        order = find_better_of_pairs(means, -1)
        matrix = mark_stable_study_pairs(made, order).astype(int)
        assert matrix.tolist() == theirs["sr_matrix"]
        assert compute_pooled_srp([compare_studies(means, made, order)]) == pytest.approx(theirs["srp"], abs=1e-15)
