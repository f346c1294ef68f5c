"""ESA, side-by-side MQM, MQM of eight raters and DA+SQM over HTTP alone: one import, several campaigns, the figures.

Figures: ../shared/expected, under the conventions of its README.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.golden.test_with_curl import Curl, send, serving
from tests.spine import SHARED, expected, fresh

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the public data of ../shared/data are not here"),
]
SIGNED_RANK = (
    "recipe=wmt24-esa&normalize=none&aggregate=mean&test=signed_rank&unit=segment&alternative=two-sided"
    "&zero_method=wilcox&correction=false&method=asymptotic&adjust=none&clusters=wmt24"
)
PLAIN = "normalize=none&test=none&clusters=none"


@pytest.fixture(scope="module")
def curl(postgres: Any, migrated_template: str) -> Iterator[Curl]:
    with fresh(postgres, migrated_template) as spine, serving(spine, workers=1) as client:
        esa = [f"esa_wmt23_ende/{name}.tsv.gz" for name in ("annotations", "texts")]
        send(client, "esa", "esa", "table", esa, {"map": "esa-annotations", "split": "protocol"})
        send(client, "sxs", "mqm", "table", ["sxs_mqm2023_ende/ratings.tsv.gz"], {"map": "sxs-mqm"})
        send(client, "zhen", "mqm", "table", ["mqm_wmt23_zhen_calibration/ratings.tsv.gz"], {"map": "mqm-spans"})
        cal = [f"da_sqm_wmt22_calibration/{name}.csv.gz" for name in ("calibration", "mapping")]
        send(client, "cal", "da_sqm", "wmt-da-sqm", cal, {"mapping": "mapping.csv", "split": "language_pair"})
        yield client


@pytest.mark.parametrize("name", ["ESA-1", "ESA-2", "ESAAI-1", "ESAAI-2"])
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
