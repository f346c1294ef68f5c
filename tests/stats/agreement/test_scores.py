"""Document scores beside those of segments, and the spread of scores, each against a loop."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from app.reports.document_scores import report as document_scores
from app.stats.agreement import score_distributions as spread
from app.stats.agreement.document_scores import (
    correlate_document_with_segment_scores,
    document_segment_score_pearson,
    join_document_and_segment_scores,
)
from app.stats.agreement.units import make_document_units_from_segments, make_segment_units
from app.stats.ratings import RatingLevel, Ratings, ScoreScale
from tests.stats.agreement.worlds import random_items, rated, units


def scored(documents: list[tuple[str, str, list[float], float | None]]) -> Ratings:
    """(document, rater, scores of its segments, score of the whole)."""
    rows = [(d, r, i + 1, s, 0) for d, r, found, _ in documents for i, s in enumerate(found)]
    rows += [(d, r, 1, whole, 1) for d, r, _, whole in documents if whole is not None]
    document, rater, position, score, kind = zip(*rows, strict=True)
    made = Ratings.from_columns(
        system=["A"] * len(rows),
        document=document,
        position=position,
        rater=rater,
        score=score,
        n_errors=kind,
        higher_is_better=True,
        scale=ScoreScale(0, 100),
    )
    whole = made.n_errors == 1
    return replace(
        made,
        kind=np.where(whole, RatingLevel.DOCUMENT, RatingLevel.SEGMENT).astype(np.int8),
        segment=np.where(whole, -1, made.segment).astype(np.int32),
    )


def made(seed: int, n: int = 30) -> list[tuple[str, str, list[float], float | None]]:
    rng = np.random.default_rng(seed)
    out: list[tuple[str, str, list[float], float | None]] = []
    for d in range(n):
        size = int(rng.integers(1, 25))
        for rater in ("x", "y"):
            scores = rng.integers(0, 101, size=size).astype(float).tolist()
            out.append((f"d{d:02}", rater, scores, float(np.mean(scores) + rng.normal(0, 5))))
    return out


SUMMARIES = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
    "first5": lambda s: np.mean(s[:5]),
    "last5": lambda s: np.mean(s[-5:]),
    "first": lambda s: s[0],
    "last": lambda s: s[-1],
}


@pytest.mark.parametrize("part", SUMMARIES)
def test_correlations_of_every_summary_are_those_of_scipy(part: str) -> None:
    documents = made(0)
    data = join_document_and_segment_scores(scored(documents))
    assert data.n_document_scores == len(documents)
    x = [whole for _, _, _, whole in documents]
    y = [SUMMARIES[part](scores) for _, _, scores, _ in documents]
    found = correlate_document_with_segment_scores(data, part, np.ones(data.n_document_scores, dtype=np.bool_))
    assert found.pearson == pytest.approx(stats.pearsonr(x, y).statistic)
    assert found.spearman == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.kendall == pytest.approx(stats.kendalltau(x, y).statistic)
    of = document_segment_score_pearson(data, part, np.ones(data.n_document_scores, dtype=np.bool_))
    assert of(np.ones((1, data.n_documents)))[0] == pytest.approx(found.pearson)


def test_a_document_whose_segments_are_not_all_scored_is_left_out_and_counted() -> None:
    data = join_document_and_segment_scores(
        scored([("d", "x", [1.0, 2.0], 1.5), ("d", "y", [1.0], 1.0), ("e", "x", [3.0], None)])
    )
    assert (data.n_document_scores, data.incomplete, data.alone) == (1, 1, 0)
    alone = join_document_and_segment_scores(scored([("d", "x", [1.0], 1.0), ("d", "y", [], 2.0)]))
    assert (alone.n_document_scores, alone.alone) == (1, 1)


def test_means_of_segments_are_of_what_the_rater_gave_a_whole_score_too() -> None:
    rows = [("d", "x", [1.0, 2.0], 1.5), ("e", "x", [3.0], None), ("d", "y", [4.0, 6.0], 4.0), ("e", "y", [7.0], 2.0)]
    made = make_document_units_from_segments(scored(rows))
    whose = [(int(rater), int(document)) for rater, document in zip(made.rater, made.document[made.unit], strict=True)]
    assert dict(zip(whose, made.value.tolist(), strict=True)) == {(0, 0): 1.5, (1, 0): 5.0, (1, 1): 7.0}
    every = make_document_units_from_segments(scored([(d, rater, parts, None) for d, rater, parts, _ in rows]))
    assert sorted(every.value.tolist()) == [1.5, 3.0, 5.0, 7.0]


def test_documents_of_each_length_are_in_the_line_of_their_class() -> None:
    """Two documents of each length from 1 to 27: five lengths a class, two in the last."""
    data = join_document_and_segment_scores(
        scored([(f"d{n:02}{x}", x, [float(n)] * n, n / 2) for n in range(1, 28) for x in "xy"])
    )
    lines = list(document_scores._lines(data, SimpleNamespace(bootstrap=0)))
    found = {one.documents: one.n for one in lines if one.part == "mean"}
    assert found == {
        "all": 54,
        "short": 20,
        "long": 14,
        **dict.fromkeys(("1–5", "6–10", "11–15", "16–20", "21–25"), 10),
        "26 and more": 4,
    }


def test_constant_scores_have_no_correlation() -> None:
    data = join_document_and_segment_scores(scored([("d", "x", [1.0, 2.0], 5.0), ("e", "x", [3.0], 5.0)]))
    found = correlate_document_with_segment_scores(data, "mean", np.ones(2, dtype=np.bool_))
    assert (found.pearson, found.spearman, found.kendall) == (None, None, None)


@pytest.mark.parametrize("seed", range(3))
def test_raters_on_the_same_units_are_what_a_loop_says(seed: int) -> None:
    items = random_items(seed)
    shared = [row for row in items if sum(v is not None for v in row) > 1]
    data = units(items)
    found = {
        one.rater: one
        for one in spread.compute_rater_score_distributions(data, spread.make_histogram_bins(data.value, None), None)
    }
    for j in range(4):
        rows = [row for row in shared if row[j] is not None]
        mine = np.array([row[j] for row in rows], dtype=float)
        known = [[v for v in row if v is not None] for row in rows]
        rest = np.array([(sum(k) - m) / (len(k) - 1) for k, m in zip(known, mine, strict=True)])
        one = found[f"r{j}"]
        assert (one.n, one.mean, one.sd) == pytest.approx((mine.size, mine.mean(), mine.std(ddof=1)))
        assert one.others == pytest.approx(rest.mean())
        assert one.shift == pytest.approx(np.mean([np.median(k) for k in known]) - mine.mean())
        assert one.correlation == pytest.approx(np.corrcoef(mine, rest)[0, 1])
        assert sum(one.shares) == pytest.approx(1)


def test_systems_have_their_levels_ends_and_penalty_by_words() -> None:
    ratings = rated([[1.0, 2.0], [5.0, 5.0], [3.0, None]], scale=ScoreScale(1, 5, 1))
    data, scale = make_segment_units(ratings), ScoreScale(1, 5, 1)
    into = spread.make_histogram_bins(data.value, scale)
    (one,) = spread.compute_system_score_distributions(data, ("A",), into, scale, words=np.array([10.0, 20.0, np.nan]))
    assert into.labels == ("1", "2", "3", "4", "5")
    assert one.shares == pytest.approx((0.2, 0.2, 0.2, 0.0, 0.4))
    assert (one.at_minimum, one.at_maximum) == pytest.approx((0.2, 0.4))
    assert one.mean == one.mean_of_medians == pytest.approx((1.5 + 5 + 3) / 3)
    assert one.per_1000_words == pytest.approx((1.5 + 5) / 30 * 1000)


def test_only_those_who_rated_everything_are_complete() -> None:
    kept = spread.select_raters_of_every_unit(units([[1.0, 2.0], [1.0, None], [3.0, 4.0]]))
    assert set(kept.rater.tolist()) == {0}


def test_ranks_follow_what_is_better_and_ties_share() -> None:
    assert spread.rank_values([2.0, 1.0, None, 2.0], higher_is_better=True) == [1, 3, None, 1]
    assert spread.rank_values([2.0, 1.0, None, 2.0], higher_is_better=False) == [2, 1, None, 2]
