"""The multiverse of published direct assessment: each universe equals the ranker alone on the raw ratings.

Data: wmt21-news-systems, humaneval/facebook-wikipedia-2021 (hi-bn) and humaneval/newstest2021-toen (cs-en).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from statistics import fmean

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, ttest_ind

from app.domain.recipe import NAMED, ExclusionTarget
from app.stats.multiverse.space import ExclusionChoice, MultiverseSpace
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import Ratings
from tests.stats.multiverse.test_universes import check_each_universe, made
from tests.stats.robustness.test_public_data import cs_en, hi_bn
from tests.stats.robustness.twin import plain, segment_means
from tests.stats.test_golden_da import SHARED

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="the public data are not beside the repository"),
]
BASE = replace(NAMED["wmt-da"], permutations=200)
EVERYTHING = ExclusionChoice("accepted", accepted_only=True)
WITHOUT_HUMAN = ExclusionChoice("without humans", accepted_only=True, exclude=(ExclusionTarget("system", "HUMAN.0"),))


def halves(rows: Ratings) -> DocumentTable:
    """Two made-up domains, so that tests by domain have something to combine."""
    n = len(rows.labels.documents)
    ones = np.ones(n, dtype=np.int32)
    return DocumentTable(tuple("ab"[i % 2] for i in range(n)), ("test",) * n, ones, ones)


def test_hindi_bengali_has_unpaired_universes_only() -> None:
    """Unbounded normalizations fail on a scale 0–100; 4 tests × 3 adjustments × none, center and z are left."""
    rows = hi_bn()
    assert check_each_universe(rows, halves(rows), MultiverseSpace(BASE, (EVERYTHING,)), every=3) == 4 * 3 * 3


def test_czech_english_universes_equal_the_ranker_alone() -> None:
    rows = cs_en()
    space = MultiverseSpace(BASE, (EVERYTHING, WITHOUT_HUMAN))
    assert check_each_universe(rows, halves(rows), space, every=37) == 2 * 3 * (15 * 3 + 1)


def p_values_by_library(values: dict[str, list[float]], test: str) -> list[float]:
    """Of every pair of systems, from means of segments by SciPy; nothing of the program's ranking."""
    by_test = {
        "rank_sum:segment": lambda a, b: mannwhitneyu(a, b, method="asymptotic").pvalue,
        "welch:segment": lambda a, b: ttest_ind(a, b, equal_var=False).pvalue,
    }
    return [by_test[test](values[a], values[b]) for a, b in combinations(sorted(values), 2)]


def claims_by_library(values: dict[str, list[float]], found: list[float], adjust: str) -> list[int]:
    """What a universe claims whose pairs have these p-values, adjusted by statsmodels."""
    from statsmodels.stats.multitest import multipletests

    pairs = list(combinations(sorted(values), 2))
    method = {"holm": "holm", "bh": "fdr_bh"}.get(adjust)
    adjusted = found if method is None else multipletests(found, method=method)[1]
    ahead = [1 if fmean(values[a]) > fmean(values[b]) else -1 for a, b in pairs]
    return [sign if p < BASE.alpha else 0 for sign, p in zip(ahead, adjusted, strict=True)]


def test_hindi_bengali_universes_claim_what_libraries_find_on_plain_rows() -> None:
    rows, checked = hi_bn(), 0
    for found in made(rows, halves(rows), MultiverseSpace(BASE, (EVERYTHING,), normalize=("none", "z"))):
        values = segment_means(plain(rows), set(), z=found.normalize == "z")
        assert sorted(values) == list(rows.labels.systems)
        p_values = {test: p_values_by_library(values, test) for test in ("rank_sum:segment", "welch:segment")}
        for (test, adjust), claims in zip(found.universes, found.claims.tolist(), strict=True):
            if test in p_values:
                assert claims == claims_by_library(values, p_values[test], adjust), (found.normalize, test, adjust)
                assert any(claims)
                checked += 1
    assert checked == 2 * 2 * 3


@pytest.mark.soak
def test_each_universe_of_czech_english_equals_the_ranker_alone() -> None:
    rows = cs_en()
    assert check_each_universe(rows, halves(rows), MultiverseSpace(BASE, (EVERYTHING, WITHOUT_HUMAN))) == 258
