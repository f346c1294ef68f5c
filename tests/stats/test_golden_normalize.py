"""Normalized means and document permutation on two public MQM data sets, against an independent implementation.

Source: expected/normalisation_significance.json, computed on TED 2021 en-de (weights freitag2021) and on the
side-by-side MQM of WMT23 en-de (weights wmt24), both of wmt-mqm-human-evaluation.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from app.domain.recipe import Recipe
from app.stats.aggregate import average_ratings_per_segment, make_score_matrix
from app.stats.normalize import compute_moments_per_rater, normalize_ratings
from app.stats.ranking.ranking import rank_systems
from app.stats.ratings import Ratings
from app.stats.scoring import PROFILES, sum_error_weights, weigh_error
from app.stats.testing.common_segments import list_all_system_pairs, reduce_pairs_to_common_segments
from app.stats.testing.permutation import count_extreme_permuted_sums

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="the public data are not beside the repository"),
]

DATA = {
    "mqm_ted_ende": ("mqm_ted_ende.tsv.gz", "freitag2021", "doc_id"),
    "sxs_mqm2023_ende": ("ratings.tsv.gz", "wmt24", "docSegId"),
}
METHODS = {"raw": "none", "mean": "mean", "error": "error", "error_rate_mode": "error_rate", "z": "z"}


@cache
def ratings(name: str) -> Ratings:
    file, profile, position = DATA[name]
    lines = gzip.decompress((SHARED / "data" / name / file).read_bytes()).decode().splitlines()
    header = lines[0].split("\t")
    weights: dict[tuple[str, str, int, str], list[float]] = defaultdict(list)
    errors: dict[tuple[str, str, int, str], int] = defaultdict(int)
    for line in lines[1:]:
        row = dict(zip(header, line.split("\t"), strict=False))
        key = (row["system"], row["doc"], int(row[position]), row["rater"])
        weights[key].append(weigh_error(PROFILES[profile], row["severity"], row["category"])[0])
        errors[key] += row["severity"] in {"Major", "Minor"}
    keys = list(weights)
    return Ratings.from_columns(
        system=[k[0] for k in keys],
        document=[k[1] for k in keys],
        position=[k[2] for k in keys],
        rater=[k[3] for k in keys],
        score=[sum_error_weights(weights[k]) for k in keys],
        n_errors=[errors[k] for k in keys],
        higher_is_better=False,
    )


def expected(name: str) -> dict[str, dict[str, dict[str, object]]]:
    return json.loads((SHARED / "expected" / "normalisation_significance.json").read_text())[name]


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("method", METHODS)
def test_normalized_system_means_are_met(name: str, method: str) -> None:
    recipe = Recipe(name="means", normalize=METHODS[method], test="none")
    found = {row.system: row.score for row in rank_systems(ratings(name), recipe).systems}
    theirs = expected(name)["normalised_system_means"][method]
    assert found == pytest.approx(theirs, abs=1e-9)
    assert list(found) == sorted(theirs, key=theirs.__getitem__)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("method", ["raw", "z"])
def test_document_permutation_agrees(name: str, method: str) -> None:
    given = ratings(name)
    scored = normalize_ratings(given, METHODS[method], moments=compute_moments_per_rater(given)).scored
    laid = make_score_matrix(average_ratings_per_segment(scored), given.labels)
    first, second = list_all_system_pairs(len(laid.systems))
    shared = reduce_pairs_to_common_segments(laid, -1, unit="document")
    counts = count_extreme_permuted_sums(
        shared.blocks, first.size, laid.n_documents, permutations=200_000, seed=1, two_sided=True
    )
    theirs = expected(name)["permutation_p"][method]
    names = [given.labels.systems[code] for code in laid.systems]
    p = np.array([theirs["pairs"][f"{names[i]} | {names[j]}"] for i, j in zip(first, second, strict=True)])
    if theirs["kind"] == "exhaustive":
        assert counts.exact.all()
        assert counts.p_values(plus_one=True) == pytest.approx(p, abs=1e-12)
    else:
        # both sides are drawn, so the difference has twice the variance of one
        bound = 4 * np.sqrt(2 * p * (1 - p) / 200_000) + 1 / 200_001
        assert (np.abs(counts.p_values(plus_one=True) - p) <= bound).all()
    assert first.size == len(theirs["pairs"]) == len(names) * (len(names) - 1) // 2
