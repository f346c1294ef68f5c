"""WMT21 direct assessment: the published figures from the public ratings, straight through the kernels.

Sources: wmt21-news-systems, humaneval/facebook-wikipedia-2021 and humaneval/newstest2021-toen (official_*), and the
figures that an independent implementation computed on them (expected/da_*.json).
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from app.domain.recipe import NAMED
from app.stats.normalize import compute_moments_per_rater
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import Ranking
from app.stats.ratings import COLUMNS, RatingRole, Ratings

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"
WMT_DA = NAMED["wmt-da"]
ROLES = {
    "SYSTEM": RatingRole.RATING,
    "REPEAT": RatingRole.REPEAT,
    "REF": RatingRole.REFERENCE,
    "BAD_REF": RatingRole.DEGRADED,
}

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="the public data are not beside the repository"),
]


def table(path: str) -> list[list[str]]:
    """Rows of a published file: separated by any white space, names sometimes in quotes."""
    file = SHARED / "data" / path
    text = gzip.decompress(file.read_bytes()).decode() if path.endswith(".gz") else file.read_text()
    return [[field.strip('"') for field in line.split()] for line in text.splitlines() if line.strip()]


@dataclass(frozen=True)
class Campaign:
    """Ratings with the published segment name of each position."""

    ratings: Ratings
    segments: dict[tuple[str, int], str]


@cache
def campaign(path: str, *, documents: bool) -> Campaign:
    """One segment is one sid; its document is the part before the dot, where there is one."""
    rows = table(path)[1:]
    names = sorted({row[9] for row in rows})
    number = {sid: i + 1 for i, sid in enumerate(names)}
    document = [row[9].rsplit(".", 1)[0] if documents else "unknown" for row in rows]
    seen: dict[tuple[str, ...], int] = {}
    nth = []
    for row in rows:
        seen[row[1], row[6], row[9]] = seen.get((row[1], row[6], row[9]), 0) + 1
        nth.append(seen[row[1], row[6], row[9]])
    ratings = Ratings.from_columns(
        system=[row[6] for row in rows],
        document=document,
        position=[number[row[9]] for row in rows],
        rater=[row[1] for row in rows],
        role=[ROLES[row[8]] for row in rows],
        nth=nth,
        score=[float(row[10]) for row in rows],
        higher_is_better=True,
        documents_known=documents,
    )
    return Campaign(ratings, {(d, number[row[9]]): row[9] for d, row in zip(document, rows, strict=True)})


def segment_scores(given: Campaign, ranking: Ranking) -> dict[tuple[str, str], tuple[float, float, int]]:
    found = ranking.segments
    return {
        (found.systems[s], given.segments[found.documents[d], int(p)]): (float(raw), float(z), int(n))
        for s, d, p, raw, z, n in zip(
            found.system, found.document, found.position, found.raw, found.score, found.n, strict=True
        )
    }


def published_clusters(path: str) -> list[tuple[str, int]]:
    """System and number of its cluster, in published order."""
    number, result = 1, []
    for row in table(path)[1:]:
        result.append((row[7], number))
        number += row[6] == "True"
    return result


WIKIPEDIA = ["bn-hi", "hi-bn"]


@cache
def wikipedia(pair: str) -> Campaign:
    return campaign(f"da_wikipedia2021_{pair}/ad-latest.csv.gz", documents=True)


def expected(pair: str) -> dict[str, object]:
    return json.loads((SHARED / "expected" / "da_wikipedia2021.json").read_text())[pair]


@pytest.mark.parametrize("pair", WIKIPEDIA)
def test_wikipedia_worker_moments_are_met(pair: str) -> None:
    ratings = wikipedia(pair).ratings
    moments = compute_moments_per_rater(ratings)
    for name, worker in expected(pair)["workers"].items():
        i = ratings.labels.raters.index(name)
        assert (moments.mean[i], moments.sd[i]) == pytest.approx((worker["mean"], worker["sd_ddof1"]), abs=1e-9)
        assert moments.n[i] == worker["n"]


@pytest.mark.parametrize("pair", WIKIPEDIA)
def test_wikipedia_scores_counts_and_wins_are_met(pair: str) -> None:
    rows = rank_systems(wikipedia(pair).ratings, WMT_DA).systems
    theirs = expected(pair)["systems"]
    assert [row.system for row in rows] == [their["system"] for their in theirs]
    for row, their in zip(rows, theirs, strict=True):
        assert row.score == pytest.approx(their["z"], abs=1e-9)
        assert row.score == pytest.approx(their["published"]["z"], abs=3e-7)
        assert row.raw == pytest.approx(their["raw"], abs=1e-9)
        assert (row.n_segments, row.n_ratings) == (their["n_segments"], their["published"]["n_all"])
        assert (row.wins, row.losses, list(row.rank_range)) == (their["wins"], their["losses"], their["rank_range"])


@pytest.mark.parametrize("pair", WIKIPEDIA)
def test_wikipedia_p_values_are_met_in_both_directions(pair: str) -> None:
    theirs = expected(pair)["p_values"]
    for row in rank_systems(wikipedia(pair).ratings, WMT_DA).pairs:
        assert row.p_value == pytest.approx(theirs[row.better][row.worse], abs=1e-9)
        assert row.p_reverse == pytest.approx(theirs[row.worse][row.better], abs=1e-9)


@pytest.mark.parametrize("pair", WIKIPEDIA)
def test_wikipedia_clusters_are_the_published_ones(pair: str) -> None:
    rows = rank_systems(wikipedia(pair).ratings, WMT_DA).systems
    published = published_clusters(f"da_wikipedia2021_{pair}/official_clusters.csv")
    assert [(row.system, row.cluster) for row in rows] == published


@pytest.mark.parametrize("pair", WIKIPEDIA)
@pytest.mark.parametrize(
    ("rule", "name"),
    [
        ("wmt21", "official: wins over ANY system == number of lower-ranked systems"),
        ("paper", "knowles2021: significantly better than every lower-ranked system"),
        ("wmt22", "make_rankings: running minimum of wins in the table == number of lower-ranked systems"),
        ("strict", "all systems above the line significantly better than all below"),
    ],
)
def test_wikipedia_clusters_by_each_rule_are_met(pair: str, rule: str, name: str) -> None:
    rows = rank_systems(wikipedia(pair).ratings, replace(WMT_DA, clusters=rule)).systems
    assert [row.cluster for row in rows] == expected(pair)["cluster_of_each_system"][name]


@pytest.mark.parametrize("pair", WIKIPEDIA)
def test_wikipedia_segment_scores_are_the_published_ones(pair: str) -> None:
    given = wikipedia(pair)
    found = segment_scores(given, rank_systems(given.ratings, WMT_DA))
    rows = table(f"da_wikipedia2021_{pair}/official_seg_scores.csv.gz")[1:]
    assert found.keys() == {(system, sid) for system, sid, *_ in rows}
    for system, sid, raw, z, n in rows:
        # published z used worker figures of 7 digits
        assert found[system, sid][:2] == (pytest.approx(float(raw), abs=1e-9), pytest.approx(float(z), abs=5e-6))
        assert found[system, sid][2] == int(n)


def test_the_published_reversal_of_hi_bn_is_found() -> None:
    # Online-B.5 is significantly better than TRANSSION.3, which has the higher mean z
    pair = next(
        p
        for p in rank_systems(wikipedia("hi-bn").ratings, WMT_DA).pairs
        if (p.better, p.worse) == ("TRANSSION.3", "Online-B.5")
    )
    assert (pair.significant, pair.significant_reverse) == (False, True)
    # no common segment says anything about their order
    assert (pair.n_common, pair.order_conflict) == (0, False)


def test_wikipedia_systems_share_no_segments_and_recommended_says_what_it_did() -> None:
    ranking = rank_systems(wikipedia("bn-hi").ratings, NAMED["recommended"])
    assert ranking.recipe.test == "welch"
    assert {pair.n_common for pair in ranking.pairs} == {0}
    assert any(warning.startswith("unpaired design") for warning in ranking.warnings)


def to_english() -> dict[str, object]:
    return json.loads((SHARED / "expected" / "da_toen.json").read_text())["2021 cs-en"]


def recovered() -> Campaign:
    return campaign("da_newstest2021_cs-en/ad-good-raw-recovered.tsv.gz", documents=False)


def standardized() -> Campaign:
    return campaign("da_newstest2021_cs-en/ad-good-stnd-redup.csv.gz", documents=False)


def test_newstest_scores_counts_wins_order_and_clusters_are_met_from_raw_ratings() -> None:
    rows = rank_systems(recovered().ratings, WMT_DA).systems
    raw = {row["system"]: row["raw"] for row in to_english()["from_published_segment_scores"]["systems"]}
    theirs = to_english()["from_ratings"]["systems"]
    assert [row.system for row in rows] == [their["system"] for their in theirs]
    for row, their in zip(rows, theirs, strict=True):
        assert row.raw == pytest.approx(raw[row.system], abs=1e-9)
        assert row.score == pytest.approx(their["z"], abs=1e-7)
        assert (row.n_segments, row.wins, row.losses) == (their["n_segments"], their["wins"], their["losses"])
        assert row.n_documents is None
    published = published_clusters("da_newstest2021_cs-en/official_clusters.csv")
    assert [(row.system, row.cluster) for row in rows] == published


def test_newstest_scores_are_met_from_standardized_ratings() -> None:
    given = standardized()
    rows = rank_systems(given.ratings, replace(WMT_DA, normalize="none")).systems
    for row, their in zip(rows, to_english()["from_ratings"]["systems"], strict=True):
        assert row.system == their["system"]
        assert row.score == pytest.approx(their["z"], abs=1e-12)
        assert (row.n_segments, row.wins, row.losses) == (their["n_segments"], their["wins"], their["losses"])


def test_newstest_p_values_are_near_the_published_ones() -> None:
    published = table("da_newstest2021_cs-en/official_wilcoxon_pvalues.csv")
    p = {
        (row[0], worse): float(cell)
        for row in published[1:]
        for worse, cell in zip(published[0], row[1:], strict=True)
        if cell != "0.12"  # the files' mark for "not significant"
    }
    found = {(pair.better, pair.worse): pair for pair in rank_systems(recovered().ratings, WMT_DA).pairs}
    assert len(p) == to_english()["from_ratings"]["published_significant_pairs"]
    assert {key for key, pair in found.items() if pair.significant} == set(p)
    for key, value in p.items():
        assert found[key].p_value == pytest.approx(value, rel=0.01)


def test_newstest_segment_scores_are_the_published_ones() -> None:
    given = recovered()
    found = segment_scores(given, rank_systems(given.ratings, WMT_DA))
    rows = table("da_newstest2021_cs-en/official_seg_scores.csv.gz")[1:]
    assert found.keys() == {(system, sid) for system, sid, *_ in rows}
    for system, sid, raw, z, n in rows:
        assert found[system, sid][:2] == (pytest.approx(float(raw), abs=1e-9), pytest.approx(float(z), abs=5e-6))
        assert found[system, sid][2] == int(n)


def test_two_shuffled_imports_give_the_same_ranking_to_the_byte() -> None:
    ratings = recovered().ratings
    texts = set()
    for seed in (1, 2):
        order = np.random.default_rng(seed).permutation(len(ratings))
        shuffled = replace(ratings, **{name: getattr(ratings, name)[order] for name in COLUMNS})
        texts.add(json.dumps(rank_systems(shuffled, WMT_DA).as_json()))
    assert len(texts) == 1
