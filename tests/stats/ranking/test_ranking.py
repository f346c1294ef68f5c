"""The ranking whole: a worked example, identities, edges, and what it says where a design cannot support a claim."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import Invalid
from app.domain.recipe import NAMED, ExclusionTarget, Recipe
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import Ranking
from app.stats.ratings import COLUMNS, RatingRole, Ratings

RECOMMENDED, WMT_DA, GOOGLE_MQM = NAMED["recommended"], NAMED["wmt-da"], NAMED["google-mqm"]

# A worked example: worker, system, document, segment, type, score.
F7 = """w1 A d1 1 SYSTEM 80
w1 A d1 1 REPEAT 70
w1 B d1 1 SYSTEM 60
w1 B d1 1 BAD_REF 10
w1 R d1 1 REF 95
w2 A d1 2 SYSTEM 50
w2 B d1 2 SYSTEM 55
w2 B d1 2 BAD_REF 5
w2 A d1 1 SYSTEM 40
w3 A d1 3 SYSTEM 100
w3 B d1 3 SYSTEM 100
"""
ROLES = {
    "SYSTEM": RatingRole.RATING,
    "REPEAT": RatingRole.REPEAT,
    "REF": RatingRole.REFERENCE,
    "BAD_REF": RatingRole.DEGRADED,
}


def f7() -> Ratings:
    rows = [line.split() for line in F7.split("\n") if line]
    return Ratings.from_columns(
        rater=[r[0] for r in rows],
        system=[r[1] for r in rows],
        document=[r[2] for r in rows],
        position=[int(r[3]) for r in rows],
        role=[ROLES[r[4]] for r in rows],
        score=[float(r[5]) for r in rows],
        nth=[2 if r[4] == "REPEAT" else 1 for r in rows],
        higher_is_better=True,
    )


def by_name(ranking: Ranking) -> dict[str, tuple[float, float]]:
    return {row.system: (row.score, row.raw) for row in ranking.systems}


def test_the_worked_example_f7_is_met() -> None:
    ranking = rank_systems(f7(), WMT_DA)
    assert [row.system for row in ranking.systems] == ["A", "B"]
    assert by_name(ranking)["A"] == pytest.approx((0.419426, 56.666667), abs=5e-7)
    assert by_name(ranking)["B"] == pytest.approx((0.341690, 57.5), abs=5e-7)
    a = {
        int(p): (s, r)
        for k, p, s, r in zip(
            *(getattr(ranking.segments, n) for n in ("system", "position", "score", "raw")), strict=True
        )
        if ranking.segments.systems[k] == "A"
    }
    assert a[1] == pytest.approx((0.2844, 63.3333), abs=5e-5)
    assert a[2] == pytest.approx((0.5544, 50), abs=5e-5)
    assert [(d.reason, d.n) for d in ranking.dropped] == [("role not ranked", 3), ("constant rater", 2)]


def test_missing_z_may_keep_its_raw_score() -> None:
    ranking = rank_systems(f7(), replace(WMT_DA, sd0="drop_z"))
    assert by_name(ranking)["B"] == pytest.approx((0.341690, (60 + 55 + 100) / 3), abs=5e-7)
    assert np.isnan(ranking.segments.score).sum() == 2


def campaign(
    *, systems: int = 4, documents: int = 8, raters: int = 1, seed: int = 1, higher: bool = True, gap: float = 1.0
) -> Ratings:
    """Complete data, two segments a document; system s0 is the best by `gap`, and so on."""
    rng = np.random.default_rng(seed)
    rows = [(s, d, p, r) for s in range(systems) for d in range(documents) for p in (1, 2) for r in range(raters)]
    sign = 1 if higher else -1
    return Ratings.from_columns(
        system=[f"s{s}" for s, _, _, _ in rows],
        document=[f"d{d:02}" for _, d, _, _ in rows],
        position=[p for _, _, p, _ in rows],
        rater=[f"r{r}" for _, _, _, r in rows],
        score=[sign * (50 - gap * s + float(np.round(rng.normal(), 1))) for s, _, _, _ in rows],
        higher_is_better=higher,
    )


def columns_of(ratings: Ratings, order: np.ndarray) -> Ratings:
    return replace(ratings, **{name: getattr(ratings, name)[order] for name in COLUMNS})


EVERY = [RECOMMENDED, WMT_DA, replace(GOOGLE_MQM, permutations=500), Recipe(name="welch", test="welch", adjust="bh")]


@pytest.mark.parametrize("recipe", EVERY, ids=lambda r: r.name)
def test_the_order_of_the_rows_is_irrelevant_to_the_byte(recipe: Recipe) -> None:
    ratings = campaign(raters=2)
    shuffled = columns_of(ratings, np.random.default_rng(4).permutation(len(ratings)))
    assert json.dumps(rank_systems(shuffled, recipe).as_json()) == json.dumps(rank_systems(ratings, recipe).as_json())


@pytest.mark.parametrize("recipe", EVERY, ids=lambda r: r.name)
def test_relabelling_the_systems_relabels_the_ranking(recipe: Recipe) -> None:
    ratings = campaign()
    names = {"s0": "zebra", "s1": "ant", "s2": "yak", "s3": "bee"}
    other = Ratings.from_columns(
        system=[names[ratings.labels.systems[s]] for s in ratings.system],
        document=[ratings.labels.documents[d] for d in ratings.document],
        position=ratings.labels.segment_position[ratings.segment].tolist(),
        rater=[ratings.labels.raters[r] for r in ratings.rater],
        score=ratings.score.tolist(),
        higher_is_better=True,
    )
    before, after = rank_systems(ratings, recipe), rank_systems(other, recipe)
    assert [names[row.system] for row in before.systems] == [row.system for row in after.systems]
    for a, b in zip(before.systems, after.systems, strict=True):
        # sums over a rater's rows run in another order, so the last digits of z may differ
        assert (a.score, a.raw, *a.interval) == pytest.approx((b.score, b.raw, *b.interval), rel=1e-12)
        assert (a.rank, a.cluster, a.rank_range, a.wins, a.losses) == (
            b.rank,
            b.cluster,
            b.rank_range,
            b.wins,
            b.losses,
        )
    assert [p.p_value for p in before.pairs] == pytest.approx([p.p_value for p in after.pairs], rel=1e-9)


@pytest.mark.parametrize("recipe", EVERY, ids=lambda r: r.name)
def test_a_system_nobody_rated_changes_nothing(recipe: Recipe) -> None:
    ratings = campaign()
    labels = replace(ratings.labels, systems=("a-new-one", *ratings.labels.systems))
    wider = replace(ratings, system=ratings.system + 1, labels=labels)
    assert rank_systems(wider, recipe).as_json() == rank_systems(ratings, recipe).as_json()


@pytest.mark.parametrize("recipe", EVERY, ids=lambda r: r.name)
def test_negated_scores_where_lower_is_better_give_the_same_ranking(recipe: Recipe) -> None:
    recipe = replace(recipe, normalize="none")
    up, down = rank_systems(campaign(), recipe), rank_systems(campaign(higher=False), recipe)
    assert [row.system for row in up.systems] == [row.system for row in down.systems]
    assert [row.score for row in up.systems] == pytest.approx([-row.score for row in down.systems])
    for a, b in zip(up.pairs, down.pairs, strict=True):
        assert (a.difference, a.p_value, a.p_reverse) == pytest.approx((b.difference, b.p_value, b.p_reverse))
        assert (a.significant, a.significant_reverse) == (b.significant, b.significant_reverse)


def test_every_pair_stands_once_with_the_higher_ranked_system_first() -> None:
    ranking = rank_systems(campaign(), RECOMMENDED)
    names = [row.system for row in ranking.systems]
    assert [(p.better, p.worse) for p in ranking.pairs] == [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    assert all(p.difference > 0 for p in ranking.pairs)


def test_recommended_settles_what_it_was_left_to_settle() -> None:
    ranking = rank_systems(campaign(raters=2), RECOMMENDED)
    assert ranking.requested.normalize == "auto"
    assert ranking.recipe.normalize == "z"
    assert ranking.unit == "z"
    assert rank_systems(campaign(raters=2), ranking.recipe).as_json() == ranking.as_json()


def test_raters_with_different_documents_of_a_system_are_not_comparable() -> None:
    ratings = campaign(raters=2)
    uneven = ratings.where(~((ratings.system == 0) & (ratings.rater == 0) & (ratings.document < 4)))
    ranking = rank_systems(uneven, RECOMMENDED)
    assert ranking.recipe.normalize == "none"
    assert (
        "raters did not judge the same systems, so scores are not normalized: use the mixed model" in ranking.warnings
    )


def test_no_figure_is_ever_nan_in_json() -> None:
    for ratings in (campaign(), campaign(documents=1), campaign(systems=1), campaign(gap=0.0, seed=9), f7()):
        for recipe in EVERY:
            json.dumps(rank_systems(ratings, recipe).as_json(), allow_nan=False)


@pytest.mark.parametrize("recipe", EVERY, ids=lambda r: r.name)
def test_without_ratings_there_is_no_ranking_and_it_says_so(recipe: Recipe) -> None:
    ratings = campaign()
    ranking = rank_systems(ratings.where(np.zeros(len(ratings), dtype=bool)), recipe)
    assert (ranking.systems, ranking.pairs, ranking.n_ratings) == ((), (), 0)
    assert ranking.warnings == (
        (
            "there are no ratings yet that this recipe counts; collect or import judgments, or "
            "use a recipe that counts others"
        ),
    )


@pytest.mark.parametrize("recipe", EVERY, ids=lambda r: r.name)
def test_one_system_is_first_and_compared_with_nothing(recipe: Recipe) -> None:
    ranking = rank_systems(campaign(systems=1), recipe)
    assert [(row.rank, row.cluster, row.rank_range) for row in ranking.systems] == [(1.0, 1, (1, 1))]
    assert "only one system is rated, so there is nothing to compare; have a second one rated" in ranking.warnings


def test_one_document_has_scores_but_no_interval_and_no_document_level_test() -> None:
    ranking = rank_systems(campaign(documents=1), RECOMMENDED)
    assert all(row.interval is None for row in ranking.systems)
    assert all(not p.testable and p.p_value is None and not p.significant for p in ranking.pairs)
    assert (
        "6 of 6 pairs have fewer than 6 common documents, so they are not testable; have all "
        "systems judged on the same texts"
    ) in ranking.warnings
    assert "1 document: p-values of a document-level test cannot go below 1; judge more documents" in ranking.warnings


def constant() -> Ratings:
    ratings = campaign()
    return replace(ratings, score=np.full(len(ratings), 7.0))


def test_constant_scores_tie_everyone_and_nobody_wins() -> None:
    for recipe in EVERY[1:]:
        ranking = rank_systems(constant(), replace(recipe, normalize="none"))
        assert [row.system for row in ranking.systems] == ["s0", "s1", "s2", "s3"]
        assert {row.rank for row in ranking.systems} == {2.5}
        assert not any(p.significant or p.significant_reverse for p in ranking.pairs)


def test_raters_who_are_all_constant_leave_nothing_to_rank_by_z_and_are_named() -> None:
    ranking = rank_systems(constant(), WMT_DA)
    assert ranking.systems == ()
    assert (
        "raters who always gave the same score have no z, so their ratings are dropped; check their work: rater:r0"
        in ranking.warnings
    )
    assert (
        "systems without a score after normalization are not ranked; rank without "
        "normalization to include them: s0, s1, s2, s3"
    ) in ranking.warnings


def test_equal_scores_share_the_mean_rank_and_stand_by_key() -> None:
    ratings = Ratings.from_columns(
        system=["b", "a", "c"],
        document=["d"] * 3,
        position=[1] * 3,
        rater=["r"] * 3,
        score=[0.1 + 0.1 + 0.1, 0.3, 0.1],
        higher_is_better=True,
    )
    ranking = rank_systems(ratings, replace(GOOGLE_MQM, permutations=100))
    assert [(row.system, row.rank) for row in ranking.systems] == [("a", 1.5), ("b", 1.5), ("c", 3.0)]
    assert [s["rank"] for s in ranking.as_json()["systems"]] == [1.5, 1.5, 3]


def unpaired_campaign() -> Ratings:
    ratings = campaign(documents=16)
    return ratings.where(ratings.document % 4 == ratings.system)


@pytest.mark.parametrize("recipe", [GOOGLE_MQM, replace(RECOMMENDED, fallback=False)], ids=["marot", "permutation"])
def test_a_paired_test_of_an_unpaired_design_is_refused(recipe: Recipe) -> None:
    with pytest.raises(Invalid, match=r"unpaired design.*use test=welch"):
        rank_systems(unpaired_campaign(), recipe)


def test_recommended_falls_back_to_welch_on_an_unpaired_design_and_says_so() -> None:
    ranking = rank_systems(unpaired_campaign(), RECOMMENDED)
    assert (ranking.recipe.test, ranking.recipe.unit) == ("welch", "document")
    assert any("Welch's t on document means was used instead of a paired test" in w for w in ranking.warnings)
    assert ranking.smallest_p is None
    assert all(p.n_common == 0 for p in ranking.pairs)


def test_unknown_documents_have_no_count_and_no_interval() -> None:
    ranking = rank_systems(replace(campaign(), documents_known=False), WMT_DA)
    assert all(row.n_documents is None and row.interval is None for row in ranking.systems)
    assert all(p.documents_common is None and p.minimum_detectable is None for p in ranking.pairs)


def test_unknown_documents_refuse_a_document_level_test() -> None:
    with pytest.raises(Invalid, match="documents are unknown"):
        rank_systems(replace(campaign(), documents_known=False), replace(RECOMMENDED, fallback=False))


def test_recommended_falls_back_to_segments_where_documents_are_unknown_and_says_so() -> None:
    ranking = rank_systems(replace(campaign(), documents_known=False), RECOMMENDED)
    assert (ranking.recipe.test, ranking.recipe.unit) == ("rank_sum", "segment")
    assert any(w.startswith("documents are unknown; the rank-sum test on segments was used") for w in ranking.warnings)


def test_segment_tests_warn_that_segments_of_a_document_are_not_independent() -> None:
    expected = (
        "segments of one document are tested as independent, so p-values may be too small; test whole documents instead"
    )
    assert expected in rank_systems(campaign(documents=5), GOOGLE_MQM).warnings
    assert (
        "5 documents: p-values of a document-level test cannot go below 0.0625; judge more documents"
        in rank_systems(campaign(documents=5), GOOGLE_MQM).warnings
    )
    assert expected not in rank_systems(campaign(documents=12), RECOMMENDED).warnings


def test_too_few_documents_for_the_family_say_how_many_are_needed() -> None:
    # 15 pairs, 7 documents: 15·2^−6 = .234; 1 + log₂(15/.05) = 9.23
    ranking = rank_systems(campaign(systems=6, documents=7), RECOMMENDED)
    assert ranking.smallest_p == 2**-6
    assert ranking.smallest_p_adjusted == pytest.approx(15 * 2**-6)
    assert ranking.documents_needed == 10
    enough = rank_systems(campaign(systems=6, documents=10), RECOMMENDED)
    assert enough.smallest_p_adjusted == pytest.approx(15 * 2**-9)
    assert enough.documents_needed is None


def test_too_few_permutations_for_the_family_are_told() -> None:
    ranking = rank_systems(campaign(systems=6, documents=12), replace(RECOMMENDED, permutations=200))
    assert "no pair can be significant with 200 permutations; request more" in ranking.warnings


def test_raters_who_link_no_systems_are_told() -> None:
    ratings = campaign()
    labels = replace(ratings.labels, raters=("r0", "r1"))
    apart = replace(ratings, rater=(ratings.system // 2).astype(np.int32), labels=labels)
    assert any("s0, s1 | s2, s3" in w for w in rank_systems(apart, GOOGLE_MQM).warnings)
    assert not any("disconnected" in w for w in rank_systems(ratings, GOOGLE_MQM).warnings)


def test_few_common_segments_are_told() -> None:
    ratings = campaign(documents=20)
    sparse = ratings.where(~((ratings.system == 0) & (ratings.document < 15)))
    warnings = rank_systems(sparse, GOOGLE_MQM).warnings
    assert (
        "unpaired segments: 3 of 6 pairs share less than half of their segments, so their "
        "texts may decide; have all systems judged on the same texts"
    ) in warnings


def test_a_pair_whose_common_segments_contradict_the_ranking_is_marked() -> None:
    # B is better on all 7 documents that both have; A has another easy one.
    cells = [("A", d, 5.0 + d % 2) for d in range(7)] + [("B", d, 6.5 + d % 2) for d in range(7)] + [("A", 9, 90.0)]
    ratings = Ratings.from_columns(
        system=[s for s, _, _ in cells],
        document=[f"d{d}" for _, d, _ in cells],
        position=[1] * len(cells),
        rater=["r"] * len(cells),
        score=[x for _, _, x in cells],
        higher_is_better=True,
    )
    pair = rank_systems(ratings, RECOMMENDED).pairs[0]
    assert (pair.better, pair.worse, pair.difference) == ("A", "B", -1.5)
    assert (pair.order_conflict, pair.significant, pair.significant_reverse) == (True, False, True)


def test_a_win_can_need_the_better_mean() -> None:
    # a few disasters cost A the mean, but it is better on most segments
    ratings = Ratings.from_columns(
        system=["A"] * 40 + ["B"] * 40,
        document=[f"d{i}" for i in range(40)] * 2,
        position=[1] * 80,
        rater=["r"] * 80,
        score=[60.0 + i % 7 if i % 5 else 0.0 for i in range(40)] + [50.0 + i % 7 for i in range(40)],
        higher_is_better=True,
    )
    recipe = replace(WMT_DA, normalize="none")
    reversal = rank_systems(ratings, recipe).pairs[0]
    assert (reversal.better, reversal.significant_reverse) == ("B", True)
    assert not rank_systems(ratings, replace(recipe, require_mean=True)).pairs[0].significant_reverse


def test_adjustment_enters_one_sided_pairs_from_both_sides() -> None:
    ranking = rank_systems(campaign(gap=0.3), replace(WMT_DA, adjust="holm", normalize="none"))
    entering = [min(1.0, 2 * min(p.p_value, p.p_reverse)) for p in ranking.pairs]
    least = min(range(6), key=lambda k: entering[k])
    assert ranking.pairs[least].p_adjusted == pytest.approx(min(1.0, 6 * entering[least]))


def test_exclusions_leave_out_and_are_counted() -> None:
    ratings = campaign(raters=2)
    ranking = rank_systems(
        ratings, replace(WMT_DA, exclude=(ExclusionTarget("rater", "r1"), ExclusionTarget("system", "s2")))
    )
    assert [row.system for row in ranking.systems] == ["s0", "s1", "s3"]
    assert [(d.reason, d.n) for d in ranking.dropped[:2]] == [("excluded rater:r1", 64), ("excluded system:s2", 16)]
    assert ranking.n_ratings == 48


def test_an_exclusion_that_names_nothing_is_an_error() -> None:
    with pytest.raises(Invalid, match="no system 'nobody'"):
        rank_systems(campaign(), replace(WMT_DA, exclude=(ExclusionTarget("system", "nobody"),)))


def test_rejected_tasks_are_left_out_of_scores_and_counted() -> None:
    ratings = campaign(raters=2)
    marked = replace(ratings, accepted=ratings.rater == 0)
    ranking = rank_systems(marked, replace(GOOGLE_MQM, permutations=100))
    assert [(d.reason, d.n) for d in ranking.dropped] == [
        ("task rejected by quality control", 64),
        ("constant rater", 0),
    ]
    assert rank_systems(marked, replace(GOOGLE_MQM, permutations=100, accepted_only=False)).n_ratings == 128


def test_shared_judgments_count_once_in_all_and_once_for_each_system() -> None:
    ratings = campaign(systems=2)
    shared = replace(ratings, judgment=(np.arange(len(ratings)) % 16).astype(np.int32))
    ranking = rank_systems(shared, RECOMMENDED)
    assert ranking.n_ratings == 16
    assert [row.n_ratings for row in ranking.systems] == [16, 16]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 9))
def test_incomplete_data_never_fail_and_never_give_nan(seed: int, systems: int, documents: int) -> None:
    ratings = campaign(systems=systems, documents=documents, raters=2, seed=seed, gap=0.2)
    kept = ratings.where(np.random.default_rng(seed).random(len(ratings)) < 0.4)
    for recipe in (RECOMMENDED, WMT_DA):
        json.dumps(rank_systems(kept, replace(recipe, permutations=200)).as_json(), allow_nan=False)
