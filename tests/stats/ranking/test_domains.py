"""Rankings by domain: macro means, Stouffer's combination, waves as segments, medians over raters."""

from __future__ import annotations

import json
from dataclasses import replace
from statistics import median

import numpy as np
import pytest
from scipy import stats

from app.domain.errors import Invalid
from app.domain.recipe import NAMED, Recipe
from app.stats.ranking.ranking import rank_systems
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import Ratings

WMT24, WMT25 = NAMED["wmt24-esa"], NAMED["wmt25"]
DOMAINS = ("news", "news", "news", "speech", "speech", "social")


def campaign(*, raters: int = 1, seed: int = 3, against: bool = False) -> Ratings:
    """Three systems on six documents of five segments; `against`: speech turns the order of s0 and s1 around."""
    rng = np.random.default_rng(seed)
    rows = [(s, d, p, r) for s in range(3) for d in range(6) for p in range(1, 6) for r in range(raters)]
    turned = {("s0", "speech"): -3.0, ("s1", "speech"): 3.0} if against else {}
    return Ratings.from_columns(
        system=[f"s{s}" for s, _, _, _ in rows],
        document=[f"d{d}" for _, d, _, _ in rows],
        position=[p for _, _, p, _ in rows],
        rater=[f"r{r}" for _, _, _, r in rows],
        score=[
            50 - s + turned.get((f"s{s}", DOMAINS[d]), 0.0) + float(np.round(rng.normal(), 1)) for s, d, _, _ in rows
        ],
        higher_is_better=True,
    )


def documents(domains: tuple[str | None, ...] = DOMAINS) -> DocumentTable:
    n = len(domains)
    return DocumentTable(domains, ("test",) * n, np.full(n, 5, dtype=np.int32), np.full(n, 50, dtype=np.int32))


def scores(ratings: Ratings, system: str, domain: str) -> np.ndarray:
    chosen = [
        ratings.labels.systems[s] == system and DOMAINS[d] == domain
        for s, d in zip(ratings.system, ratings.document, strict=True)
    ]
    return ratings.score[np.array(chosen)]


def test_the_macro_mean_lets_every_domain_count_alike() -> None:
    ratings = campaign()
    for row in rank_systems(ratings, WMT24, documents()).systems:
        means = [scores(ratings, row.system, domain).mean() for domain in ("news", "speech", "social")]
        assert row.score == pytest.approx(np.mean(means))
        assert row.raw == row.score
        assert row.interval[0] < row.score < row.interval[1]


def test_stouffer_combines_the_signed_rank_tests_of_the_domains_and_gives_the_signed_one_beside() -> None:
    ratings = campaign(against=True)
    ranking = rank_systems(ratings, WMT24, documents())
    for pair in ranking.pairs:
        p, side = [], []
        for domain in ("news", "speech", "social"):
            apart = np.round(scores(ratings, pair.better, domain) - scores(ratings, pair.worse, domain), 10)
            p.append(stats.wilcoxon(apart).pvalue)
            ranks = stats.rankdata(np.abs(apart))
            side.append(np.sign(ranks[apart > 0].sum() - ranks[apart < 0].sum()))
        assert pair.p_value == pytest.approx(stats.combine_pvalues(p, method="stouffer").pvalue)
        z = sum(s * stats.norm.isf(q / 2) for s, q in zip(side, p, strict=True)) / np.sqrt(3)
        assert pair.p_signed == pytest.approx(2 * stats.norm.sf(abs(z)))
    signed = rank_systems(ratings, replace(WMT24, test="stouffer_signed"), documents())
    assert [p.p_value for p in signed.pairs] == [p.p_signed for p in ranking.pairs]


def test_contradicting_domains_look_significant_without_direction_and_not_with_it() -> None:
    ratings = campaign(against=True)
    pair = next(p for p in rank_systems(ratings, WMT24, documents()).pairs if {p.better, p.worse} == {"s0", "s1"})
    assert pair.significant
    assert pair.p_signed > 0.05


@pytest.mark.parametrize("recipe", [WMT24, WMT25, replace(WMT24, aggregate="mean")], ids=lambda r: r.name)
@pytest.mark.parametrize("given", [None, documents((None,) * 6)], ids=["none", "unknown"])
def test_unknown_domains_refuse_a_recipe_that_needs_them(recipe: Recipe, given: DocumentTable | None) -> None:
    with pytest.raises(Invalid, match="needs the domains of the documents") as caught:
        rank_systems(campaign(), recipe, given)
    assert caught.value.places[0].loc in {("query", "aggregate"), ("query", "test")}


def test_domains_that_nobody_asked_for_change_nothing() -> None:
    ratings = campaign()
    for recipe in (NAMED["recommended"], NAMED["google-mqm"]):
        assert (
            rank_systems(ratings, recipe, documents()).pairs[0].p_value
            == rank_systems(ratings, recipe).pairs[0].p_value
        )


def test_waves_stay_segments_of_their_own() -> None:
    ratings = campaign(raters=2)
    ranking = rank_systems(ratings, WMT25, documents())
    assert {row.n_segments for row in ranking.systems} == {60}
    assert {pair.n_common for pair in ranking.pairs} == {60}
    first = ranking.pairs[0]
    chosen = {
        name: ratings.score[ratings.system == ratings.labels.systems.index(name)]
        for name in (first.better, first.worse)
    }
    oracle = stats.wilcoxon(np.round(chosen[first.better] - chosen[first.worse], 10), alternative="greater")
    assert first.p_value == pytest.approx(oracle.pvalue)


def test_waves_of_different_raters_are_no_pair() -> None:
    ratings = campaign(raters=2)
    apart = ratings.where((ratings.system == 0) == (ratings.rater == 0))
    assert {(p.better, p.worse): p.n_common for p in rank_systems(apart, WMT25, documents()).pairs} == {
        ("s0", "s1"): 0, ("s0", "s2"): 0, ("s1", "s2"): 30,
    }  # fmt: skip


@pytest.mark.parametrize("raters", [2, 3])
def test_the_median_over_raters_is_averaged_over_segments(raters: int) -> None:
    ratings = campaign(raters=raters)
    for row in rank_systems(ratings, Recipe(name="medians", aggregate="median", test="none")).systems:
        own = ratings.where(ratings.system == ratings.labels.systems.index(row.system))
        medians = [median(own.score[own.segment == s].tolist()) for s in np.unique(own.segment)]
        assert row.score == pytest.approx(np.mean(medians))


def test_legacy_tests_say_what_is_wrong_with_them() -> None:
    lost = (
        "Stouffer's combination of two-sided p-values ignores direction, so opposite effects in two domains can add up "
        "to a claim: check the signed p-value"
    )
    twice = (
        "the smaller p of two tests counts, so there are two chances to reject and more false "
        "claims than alpha: use one test, such as permutation"
    )
    ratings = campaign()
    assert lost in rank_systems(ratings, WMT24, documents()).warnings
    assert lost not in rank_systems(ratings, replace(WMT24, test="stouffer_signed"), documents()).warnings
    assert twice in rank_systems(ratings, NAMED["wmt26"]).warnings
    draft = replace(NAMED["wmt26"], test="wmt26_or", alternative="two-sided")
    assert twice in rank_systems(ratings, draft).warnings


def test_every_named_recipe_ranks_a_campaign_with_domains() -> None:
    ratings = campaign(raters=2)
    for recipe in NAMED.values():
        json.dumps(rank_systems(ratings, recipe, documents()).as_json(), allow_nan=False)
