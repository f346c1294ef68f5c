"""Rankings of ESA, side-by-side MQM, MQM of eight raters and DA+SQM over HTTP alone meet the figures.

So are normalized means and near-exact permutation p-values, by the options of a recipe. Figures: ../shared/expected,
under the conventions of its README.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import sqrt
from typing import Any

import pytest

from tests.golden.test_with_curl import Curl, serving_here
from tests.spine import SHARED, Spine, expected

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the public data of ../shared/data are not here"),
    pytest.mark.usefixtures("esa", "sxs", "zhen", "cal"),
]
SIGNED_RANK = (
    "recipe=wmt24-esa&normalize=none&aggregate=mean&test=signed_rank&unit=segment&alternative=two-sided"
    "&zero_method=wilcox&correction=false&method=asymptotic&adjust=none&clusters=wmt24"
)
DRAWS = 200_000
NAMES = {"raw": "none", "mean": "mean", "error": "error", "error_rate_mode": "error_rate", "z": "z"}
PROFILES = {"ted": "freitag2021", "sxs": "wmt24"}
FIGURES = {"ted": "mqm_ted_ende", "sxs": "sxs_mqm2023_ende"}
"""The data by the names that the files of figures give them."""
PLAIN = "normalize=none&test=none&clusters=none"


@pytest.fixture(scope="module")
def curl(published: Spine) -> Iterator[Curl]:
    with serving_here(published) as client:
        yield client


@pytest.mark.parametrize(
    "name", ["ESA-1", *(pytest.param(name, marks=pytest.mark.soak) for name in ("ESA-2", "ESAAI-1", "ESAAI-2"))]
)
def test_esa_rankings_are_met_with_the_documented_options(curl: Curl, name: str) -> None:
    theirs = expected("esa_rankings.json")[f"wmt23 en-de {name}"]
    ranking = curl.rank(f"esa-{name}", SIGNED_RANK)
    for ours, row in zip(ranking["systems"], theirs["ranking"], strict=True):
        assert (ours["system"], ours["n_segments"]) == (row["system"], row["n"])
        assert (ours["wins"], ours["losses"], ours["cluster"]) == (row["wins"], row["losses"], row["cluster"])
        assert ours["rank_range"] == row["rank_range"]
        assert ours["score"] == pytest.approx(row["mean"], abs=1e-9)
    assert len(ranking["pairs"]) == len(theirs["wilcoxon_two_sided_p"])
    for pair in ranking["pairs"]:
        their = theirs["wilcoxon_two_sided_p"][f"{pair['better']} | {pair['worse']}"]
        assert pair["p_value"] == pytest.approx(their, rel=1e-9)


@pytest.mark.parametrize(
    ("campaign", "profile", "theirs"),
    [
        ("sxs", "wmt24", lambda: expected("mqm_sxs2023.json")["ende"]["system_means"]["wmt24"]),
        ("sxs", "freitag2021", lambda: expected("mqm_sxs2023.json")["ende"]["system_means"]["google2021"]),
        ("zhen", "wmt24", lambda: expected("agreement_wmt23_zhen_8raters.json")["system_means"]),
    ],
)
def test_mqm_means_are_met(curl: Curl, campaign: str, profile: str, theirs: Any) -> None:
    ranking = curl.rank(campaign, f"scoring=spans:{profile}&{PLAIN}")
    assert {row["system"]: row["raw"] for row in ranking["systems"]} == pytest.approx(theirs(), abs=1e-9)


def test_plain_counts_are_met(curl: Curl) -> None:
    sxs = expected("datasets.json")["sxs_mqm2023_ende"]
    ranking = curl.rank("sxs", PLAIN)
    assert (len(ranking["systems"]), ranking["n_ratings"]) == (sxs["systems"], sxs["segment_ratings"])
    assert {row["n_segments"] for row in ranking["systems"]} == {sxs["segments"]}
    assert {row["n_documents"] for row in ranking["systems"]} == {sxs["documents"]}
    zhen = expected("datasets.json")["mqm_wmt23_zhen_calibration"]
    ranking = curl.rank("zhen", PLAIN)
    assert (len(ranking["systems"]), ranking["n_ratings"]) == (zhen["systems"], zhen["segment_ratings"])
    cal = expected("datasets.json")["da_sqm_wmt22_calibration"]
    campaigns = json.loads(curl("GET", "campaigns?limit=100"))["items"]
    pairs = [one["key"] for one in campaigns if one["series"] == "cal"]
    assert len(pairs) == cal["language_pairs"]


@pytest.mark.parametrize("theirs", NAMES)
@pytest.mark.parametrize("campaign", PROFILES)
def test_normalized_means_are_met(curl: Curl, campaign: str, theirs: str) -> None:
    figures = expected("normalisation_significance.json")[FIGURES[campaign]]
    query = f"scoring=spans:{PROFILES[campaign]}&normalize={NAMES[theirs]}&test=none&clusters=none&rank_sets=false"
    ranking = curl.rank(campaign, query)
    assert ranking["n_ratings"] == figures["ratings"]
    ours = {row["system"]: row["score"] for row in ranking["systems"]}
    assert ours == pytest.approx(figures["normalised_system_means"][theirs], abs=1e-9)


@pytest.mark.parametrize("theirs", ["raw", "z"])
def test_permutation_p_values_are_met(curl: Curl, theirs: str) -> None:
    figures = expected("normalisation_significance.json")["sxs_mqm2023_ende"]["permutation_p"][theirs]
    ranking = curl.rank("sxs", near_exact("sxs", theirs))
    assert len(ranking["pairs"]) == len(figures["pairs"])
    for pair in ranking["pairs"]:
        p = figures["pairs"][" | ".join(sorted((pair["better"], pair["worse"])))]
        assert pair["p_value"] == pytest.approx(p, abs=4 * sqrt(p * (1 - p) / DRAWS) + 2 / DRAWS)


@pytest.mark.parametrize("theirs", ["raw", "z"])
def test_five_documents_are_too_few_to_be_tested_by_documents(curl: Curl, theirs: str) -> None:
    """Below six documents no pair is tested, so these exact figures are met by the statistics alone (tests/stats)."""
    figures = expected("normalisation_significance.json")["mqm_ted_ende"]["permutation_p"][theirs]
    ranking = curl.rank("ted", near_exact("ted", theirs))
    assert figures["documents"] == 5
    assert len(ranking["pairs"]) == len(figures["pairs"])
    assert {(pair["documents_common"], pair["testable"], pair["p_value"]) for pair in ranking["pairs"]} == {
        (5, False, None)
    }


def near_exact(campaign: str, theirs: str) -> str:
    """The options of near-exact p-values by documents."""
    query = f"scoring=spans:{PROFILES[campaign]}&normalize={NAMES[theirs]}&permutations={DRAWS}&adjust=none"
    return f"{query}&clusters=none&rank_sets=false&alternative=two-sided"
