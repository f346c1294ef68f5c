"""Robustness of published direct assessment: every figure equals one that is computed anew from changed raw scores.

Data: wmt21-news-systems, humaneval/facebook-wikipedia-2021 (hi-bn) and humaneval/newstest2021-toen (cs-en).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from app.stats.ratings import Ratings, ScoreScale
from app.stats.robustness.score_changes import GROUPS
from tests.stats.robustness.test_score_changes import check_against_twin
from tests.stats.test_golden_da import SHARED, campaign

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="the public data are not beside the repository"),
]
OF_SYSTEMS = ("references", "lowest", "highest", "degraded", "degraded_reference_rows", "inflated", "system")


@cache
def ratings(path: str) -> Ratings:
    return replace(campaign(path, documents=True).ratings, scale=ScoreScale(0.0, 100.0))


def hi_bn() -> Ratings:
    return ratings("da_wikipedia2021_hi-bn/ad-latest.csv.gz")


def cs_en() -> Ratings:
    return ratings("da_newstest2021_cs-en/ad-good-raw-recovered.tsv.gz")


def test_hindi_bengali_equals_its_slow_twin() -> None:
    groups = ("lowest", "highest", "inflated", "system", "rater", "domain")
    assert check_against_twin(hi_bn(), set(), groups, every=3) > 0


def test_czech_english_equals_its_slow_twin() -> None:
    assert check_against_twin(cs_en(), {"HUMAN.0"}, OF_SYSTEMS, every=5) > 0


def test_czech_english_without_some_raters_equals_its_slow_twin() -> None:
    assert check_against_twin(cs_en(), {"HUMAN.0"}, ("rater",), every=18) > 0


@pytest.mark.soak
def test_every_change_there_is_equals_its_slow_twin() -> None:
    """Each system, rater, document and domain, not some of them."""
    assert check_against_twin(cs_en(), {"HUMAN.0"}, GROUPS) > 0
    assert check_against_twin(hi_bn(), set(), GROUPS) > 0
