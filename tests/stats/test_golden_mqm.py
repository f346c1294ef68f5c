"""MQM of TED 2021 en-de: published system means and segment averages, straight through the kernels.

Sources: wmt-mqm-human-evaluation, ted/ende (official_*), and expected/mqm_ted.json.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from functools import cache
from math import fsum
from pathlib import Path

import pytest

from app.domain.recipe import NAMED
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import Ranking
from app.stats.ratings import Ratings

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="the public data are not beside the repository"),
]


def lines(path: str) -> list[str]:
    return gzip.decompress((SHARED / "data" / "mqm_ted_ende" / path).read_bytes()).decode().splitlines()


def weight(category: str, severity: str) -> float:
    """Freitag et al. 2021; TED has no non-translations beyond its Major errors of that name."""
    if severity == "Major":
        return 25.0 if category == "Non-translation!" else 5.0
    if severity == "Minor":
        return 0.1 if category == "Fluency/Punctuation" else 1.0
    return 0.0


@cache
def ted() -> tuple[Ratings, dict[tuple[str, int], int]]:
    """Ratings, and the global segment number of (talk, position)."""
    marked: dict[tuple[str, str, int, str], list[float]] = defaultdict(list)
    number = {}
    for line in lines("mqm_ted_ende.tsv.gz")[1:]:
        system, talk, position, seg_id, rater, _, _, category, severity, *_ = line.split("\t")
        marked[system, talk, int(position), rater].append(weight(category, severity))
        number[talk, int(position)] = int(seg_id)
    keys = list(marked)
    ratings = Ratings.from_columns(
        system=[k[0] for k in keys],
        document=[k[1] for k in keys],
        position=[k[2] for k in keys],
        rater=[k[3] for k in keys],
        score=[fsum(marked[k]) for k in keys],
        n_errors=[sum(w > 0 for w in marked[k]) for k in keys],
        higher_is_better=False,
    )
    return ratings, number


@cache
def ranking() -> Ranking:
    return rank_systems(ted()[0], NAMED["google-mqm"])


def test_all_fourteen_system_means_are_met() -> None:
    theirs = json.loads((SHARED / "expected" / "mqm_ted.json").read_text())["ende"]["systems_ranked"]
    assert [row.system for row in ranking().systems] == [their["system"].replace("ref.A", "ref") for their in theirs]
    for row, their in zip(ranking().systems, theirs, strict=True):
        assert row.score == pytest.approx(their["mqm"], abs=1e-9)
        assert row.raw == row.score
        assert (row.n_segments, row.n_documents, row.n_ratings) == (529, 5, 529)


def test_all_published_segment_averages_are_met() -> None:
    found = ranking().segments
    number = ted()[1]
    ours = {
        (found.systems[s], number[found.documents[d], int(p)]): float(score)
        for s, d, p, score in zip(found.system, found.document, found.position, found.score, strict=True)
    }
    published = {}
    for line in lines("official_avg_seg_scores.tsv.gz")[1:]:
        system, score, seg_id = line.split()
        if score != "None":
            published[system.replace("ref-A", "ref"), int(seg_id)] = -float(score)
    assert len(published) == 7406
    assert ours.keys() == published.keys()
    assert max(abs(ours[key] - published[key]) for key in ours) < 1e-9


def test_marot_says_which_claims_the_data_support() -> None:
    assert ranking().n_ratings == 7406
    assert ranking().smallest_p == 1 / 10_001
    assert (
        "segments of one document are tested as independent, so p-values may be too small; test whole documents instead"
    ) in ranking().warnings
    assert (
        "5 documents: p-values of a document-level test cannot go below 0.0625; judge more documents"
        in ranking().warnings
    )
    first = ranking().pairs[0]
    assert (first.better, first.worse, first.n_common, first.documents_common) == ("ref", "Facebook-AI", 529, 5)
    assert first.difference == pytest.approx(1.0559546313799621 - 0.911531190926276, abs=1e-9)
    assert 0.05 < first.p_value < 0.2


def test_recommended_does_not_test_five_documents() -> None:
    result = rank_systems(ted()[0], NAMED["recommended"])
    assert not any(pair.testable or pair.significant for pair in result.pairs)
    assert result.documents_needed == 12  # 1 + log₂(91/.05) = 11.8
    assert (
        "91 of 91 pairs have fewer than 6 common documents, so they are not testable; have "
        "all systems judged on the same texts"
    ) in result.warnings
