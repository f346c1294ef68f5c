"""Intervals for new raters and new domains: a slow twin, and what they hold where raters favour systems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.domain.recipe import NAMED
from app.stats.aggregate import average_ratings_per_segment, make_score_matrix
from app.stats.inference.by_document import estimate_ratio_precision
from app.stats.inference.by_rater import estimate_precision_for_new_raters
from app.stats.intervals import compute_interval_half_widths
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import PairRow, Ranking
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import Ratings

PLAIN = replace(NAMED["recommended"], normalize="none", rank_sets=False, influence=False)


def campaign(
    rng: np.random.Generator,
    *,
    raters: int,
    documents: int = 24,
    favour: float = 0.0,
    each: int = 1,
    topics: int = 0,
    of_topics: float = 0.0,
) -> Ratings:
    """Two equal systems; rater × system and topic × system of the standard deviations given, residual 1."""
    own = favour * rng.normal(size=(raters, 2))
    of_topic = of_topics * rng.normal(size=(max(topics, 1), 2))
    apart = 0.2 * rng.normal(size=(documents, 2))
    rows = []
    for d in range(documents):
        for r in [(d + k) % raters for k in range(each)]:
            for p in range(1, 5):
                level = rng.normal()
                for s in range(2):
                    mean = level + own[r, s] + apart[d, s] + of_topic[d % max(topics, 1), s]
                    rows.append((f"s{s}", f"d{d:02}", p, f"r{r}", float(mean + rng.normal())))
    system, document, position, rater, score = map(list, zip(*rows, strict=True))
    return Ratings.from_columns(
        system=system, document=document, position=position, rater=rater, score=score, higher_is_better=True
    )


def only_pair(found: Ranking) -> PairRow:
    (row,) = found.pairs
    return row


@pytest.mark.parametrize("each", [1, 2])
def test_the_error_for_new_raters_is_that_of_plain_sums(each: int) -> None:
    rows = campaign(np.random.default_rng(4), raters=4, favour=0.5, each=each).in_canonical_order()
    laid = make_score_matrix(average_ratings_per_segment(rows), rows.labels)
    sums, counts = laid.document_sums(), laid.document_weights()
    known = estimate_ratio_precision(sums[:1] - sums[1:], counts[0])
    found = estimate_precision_for_new_raters(rows, laid, known, np.array([0]), np.array([1]))
    assert found is not None
    n = laid.present.sum(axis=1)
    pulls: dict[tuple[str, int], list[float]] = {}
    for s, r, d, x in zip(rows.system, rows.rater, rows.document, rows.score, strict=True):
        weight = 1 / (each * n[s])
        for key in ((f"rater {r}", int(s)), (f"both {r} {d}", int(s))):
            held = pulls.setdefault(key, [0.0, 0.0])
            held[0] += weight * (x - laid.system_means()[s])
            held[1] += weight
    variances = {"rater": 0.0, "both": 0.0}
    for what in {key for key, _ in pulls}:
        a, b = (pulls[what, s][0] / np.sqrt(1 - pulls[what, s][1]) for s in (0, 1))
        variances[what.split()[0]] += (a - b) ** 2
    wanted = float(known.error[0]) ** 2 + max(variances["rater"] - variances["both"], 0.0)
    assert float(found.error[0]) == pytest.approx(np.sqrt(wanted), rel=1e-9)
    assert float(found.degrees[0]) == pytest.approx(3.0, abs=0.02)


def shares(runs: int, *, seed: int, raters: int, favour: float) -> tuple[float, float]:
    """Share of campaigns of equal systems whose interval holds 0: of these raters, of new ones."""
    rng, held = np.random.default_rng(seed), np.zeros(2)
    for _ in range(runs):
        rows = campaign(rng, raters=raters, favour=favour).in_canonical_order()
        laid = make_score_matrix(average_ratings_per_segment(rows), rows.labels)
        sums, counts = laid.document_sums(), laid.document_weights()
        known = estimate_ratio_precision(sums[:1] - sums[1:], counts[0])
        wider = estimate_precision_for_new_raters(rows, laid, known, np.array([0]), np.array([1]))
        assert wider is not None
        difference = (sums[0] - sums[1]).sum() / counts[0].sum()
        held += [abs(difference) <= float(compute_interval_half_widths(one, 0.05)[0]) for one in (known, wider)]
    return float(held[0] / runs), float(held[1] / runs)


def test_intervals_of_new_raters_hold_where_three_raters_favour_systems() -> None:
    these, new = shares(60, seed=1, raters=3, favour=0.3)
    assert these <= 0.9
    assert new >= 0.88


@pytest.mark.soak
@pytest.mark.parametrize(("raters", "favour"), [(2, 0.3), (3, 0.0), (3, 0.3), (4, 0.3), (5, 0.3), (8, 0.5)])
def test_intervals_of_new_raters_hold_in_many_campaigns(raters: int, favour: float) -> None:
    assert shares(1_000, seed=raters, raters=raters, favour=favour)[1] >= 0.929


@pytest.mark.parametrize("raters", [1, 2, 4, 5])
def test_few_raters_are_warned_of(raters: int) -> None:
    found = rank_systems(campaign(np.random.default_rng(2), raters=raters), PLAIN)
    told = [
        one
        for one in found.warnings
        if "raters: tests and intervals hold for these raters only" in one or "one rater:" in one
    ]
    assert len(told) == (raters < 5)
    assert (only_pair(found).new_raters_interval is None) == (raters == 1)
    if raters > 1:
        low, high = only_pair(found).new_raters_interval or (0.0, 0.0)
        assert low <= only_pair(found).interval[0] < only_pair(found).interval[1] <= high


@pytest.mark.parametrize(("topics", "told"), [(1, False), (5, True), (14, True), (15, False)])
def test_few_topics_are_warned_of_and_have_an_interval_of_their_own(topics: int, told: bool) -> None:
    rows = campaign(np.random.default_rng(3), raters=6, documents=30, topics=topics, of_topics=0.8).in_canonical_order()
    names = tuple(f"t{int(key[1:]) % topics}" for key in rows.labels.documents)
    ones = np.ones(len(names), dtype=np.int32)
    found = rank_systems(rows, PLAIN, DocumentTable(names, ("test",) * len(names), ones, ones))
    assert any("use the interval for new domains" in one for one in found.warnings) == told
    wide = only_pair(found).new_domains_interval
    assert (wide is None) == (topics == 1)
    if topics == 5:
        laid = make_score_matrix(average_ratings_per_segment(rows), rows.labels)
        topic = np.array([int(key[1:]) % 5 for key in rows.labels.documents])
        apart = laid.score[0] - laid.score[1]
        sums = np.bincount(topic[rows.labels.segment_document[laid.segments]], weights=apart)
        mean, error = sums.sum() / apart.size, np.std(sums / (apart.size / 5), ddof=1) / np.sqrt(5)
        reach = 2.7764451 * error
        assert sorted(np.abs(np.array(wide) - 0.0)) == pytest.approx(
            sorted(np.abs([abs(mean) - reach, abs(mean) + reach])), rel=1e-6
        )
