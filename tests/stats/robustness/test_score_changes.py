"""Leaving out, degrading and inflating before normalization, against textbook figures computed from raw scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.domain.errors import Invalid
from app.domain.recipe import NAMED
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import RatingRole, Ratings, ScoreScale
from app.stats.robustness.ranking_places import RankingOrderAndClusters, compare_rankings
from app.stats.robustness.reranking import ScoreChangeExperimentsFromRatings, select_and_normalize_rows
from app.stats.robustness.score_changes import FACTORS, GROUPS, ScoreChange, apply_score_change
from tests.stats.robustness.twin import Row, indicators, moved, plain, scaled, standing, without

WMT_DA = NAMED["wmt-da"]


def toy(first: float, last: float) -> Ratings:
    """One rater's four scores; the two of 50 are of system X."""
    return Ratings.from_columns(
        system=["A", "X", "X", "B"],
        document=["d"] * 4,
        position=[1, 2, 3, 4],
        rater=["r"] * 4,
        score=[first, 50.0, 75.0 if last == 100 else 50.0, last],
        higher_is_better=True,
    )


@pytest.mark.parametrize(
    ("scores", "z"),
    [((25, 50, 50, 75), 0.0), ((0, 25, 50, 75), 0.3873), ((25, 50, 75, 100), -0.3873)],
)
def test_the_same_raw_score_has_another_z_beside_other_scores(scores: tuple[float, ...], z: float) -> None:
    """Knowles 2021, §5: a raw 50, and how it looks depends on what the rater saw beside it."""
    rows = Ratings.from_columns(
        system=list("ABCD"),
        document=["d"] * 4,
        position=[1, 2, 3, 4],
        rater=["r"] * 4,
        score=scores,
        higher_is_better=True,
    )
    scored, _ = select_and_normalize_rows(rows, replace(WMT_DA, name="z"))
    assert scored.score[list(rows.score).index(50.0)] == pytest.approx(z, abs=5e-5)


def test_leaving_out_a_system_changes_the_z_of_the_others() -> None:
    """Knowles 2021, §5, as a change: without the 75 of system D the rater's 50 is no longer above the mean."""
    rows = Ratings.from_columns(
        system=list("ABCD"),
        document=["d"] * 4,
        position=[1, 2, 3, 4],
        rater=["r"] * 4,
        score=[0.0, 25.0, 50.0, 75.0],
        higher_is_better=True,
    )
    gone = apply_score_change(rows, ScoreChange("system", "system:A", left_out=frozenset({"A"})))
    before, after = (select_and_normalize_rows(one, WMT_DA)[0] for one in (rows, gone))
    assert before.score[before.system == 2] == pytest.approx([0.3873], abs=5e-5)
    assert after.score[after.system == 2] == pytest.approx([0.0])


def test_scores_move_towards_the_end_of_their_scale() -> None:
    rows = toy(25, 75)
    ended = replace(rows, scale=ScoreScale(0.0, 100.0))
    worse = apply_score_change(ended, ScoreChange("degraded", "2", scaled=frozenset({"A", "B"}), factor=2.0))
    better = apply_score_change(ended, ScoreChange("inflated", "2", scaled=frozenset({"A", "B"}), factor=2.0))
    assert sorted(worse.score) == [12.5, 37.5, 50.0, 50.0]
    assert sorted(better.score) == [50.0, 50.0, 62.5, 87.5]
    shifted = replace(rows, scale=ScoreScale(20.0, 100.0))
    assert (
        min(apply_score_change(shifted, ScoreChange("degraded", "5", scaled=frozenset("A"), factor=5.0)).score) == 21.0
    )
    penalty = replace(rows, higher_is_better=False)
    assert (
        max(apply_score_change(penalty, ScoreChange("degraded", "2", scaled=frozenset("B"), factor=2.0)).score) == 150.0
    )
    assert (
        min(apply_score_change(penalty, ScoreChange("inflated", "2", scaled=frozenset("B"), factor=2.0)).score) == 25.0
    )


def test_a_scale_without_an_end_cannot_be_degraded_towards_it() -> None:
    with pytest.raises(Invalid, match="no lower end"):
        apply_score_change(toy(25, 75), ScoreChange("degraded", "2", scaled=frozenset("A"), factor=2.0))


def campaign(seed: int, *, systems: int = 5, raters: int = 6, segments: int = 40) -> Ratings:
    """Raters who differ in level and spread, a human system, reference rows, repeats and a constant rater."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[str, str, int, str, RatingRole, float]] = []
    names = [f"S{i}" for i in range(systems - 1)] + ["HUMAN"]
    for r in range(raters):
        level, spread = rng.normal(60, 12), rng.uniform(5, 20)
        for _ in range(segments):
            s, g = int(rng.integers(systems)), int(rng.integers(60))
            score = float(np.clip(np.round(level + 4 * s + spread * rng.normal()), 0, 100))
            role = RatingRole.REPEAT if rng.random() < 0.1 else RatingRole.RATING
            rows.append((names[s], f"d{g // 6}", g % 6 + 1, f"r{r}", role, score))
        for _ in range(4):
            g = int(rng.integers(60))
            rows.append(("HUMAN", f"d{g // 6}", g % 6 + 1, f"r{r}", RatingRole.REFERENCE, float(rng.integers(70, 101))))
    rows += [("S0", "d0", n, "dull", RatingRole.RATING, 50.0) for n in (1, 2, 3)]
    seen: dict[tuple[str, str, int, str], int] = {}
    nth = []
    for system, document, position, rater, _, _ in rows:
        key = (system, document, position, rater)
        seen[key] = seen.get(key, 0) + 1
        nth.append(seen[key])
    made = Ratings.from_columns(
        system=[r[0] for r in rows],
        document=[r[1] for r in rows],
        position=[r[2] for r in rows],
        rater=[r[3] for r in rows],
        role=[r[4] for r in rows],
        score=[r[5] for r in rows],
        nth=nth,
        higher_is_better=True,
    )
    return replace(made, scale=ScoreScale(0.0, 100.0))


def of_domains(rows: Ratings) -> DocumentTable:
    """Three made-up domains, the first of documents of which none is known."""
    n = len(rows.labels.documents)
    ones = np.ones(n, dtype=np.int32)
    return DocumentTable(tuple((None, "news", "talk")[i % 3] for i in range(n)), ("test",) * n, ones, ones)


def changed_slowly(rows: list[Row], change: ScoreChange, humans: set[str], domains: dict[str, str]) -> list[Row]:
    """The change by hand, on plain rows. domains: of each document."""
    what, _, key = change.what.partition(":")
    if change.group == "domain":
        return [row for row in rows if domains[row.document] != key]
    if change.group in {"rater", "document"}:
        return without(rows, what, {key})
    if change.group in {"lowest", "highest", "system"}:
        return without(rows, "system", {key})
    if change.group == "references":
        return [row for row in without(rows, "system", humans) if row.role != RatingRole.REFERENCE]
    factor = float(change.what)
    if change.group == "inflated":
        return scaled(rows, set(change.scaled), references=False, divisor=factor, top=True)
    return scaled(rows, humans if change.group == "degraded" else set(), references=True, divisor=factor)


def check_against_twin(rows: Ratings, humans: set[str], groups: tuple[str, ...], every: int = 1) -> int:
    """Every change, or every so manyth of each group, compared with the twin; how many changed order or clusters."""
    documents = of_domains(rows)
    domains = {key: documents.domain[i] or "unknown" for i, key in enumerate(rows.labels.documents)}
    experiments = ScoreChangeExperimentsFromRatings.from_ratings(rows, WMT_DA, frozenset(humans), documents)
    found, _ = experiments.list_changes_and_missing_groups(groups)
    some = [change for group in groups for change in [one for one in found if one.group == group][::every]]
    raw = plain(rows)
    unchanged: dict[frozenset[str], tuple[list[str], list[int], dict[str, float]]] = {}
    told = 0
    for effect in experiments.compute_change_effects(some):
        change = effect.change
        if change.unshown not in unchanged:
            unchanged[change.unshown] = standing(raw, set(change.unshown))
        *before, means = unchanged[change.unshown]
        *after, changed = standing(changed_slowly(raw, change, humans, domains), set(change.unshown))
        assert effect.why is None
        assert [list(effect.after.order), list(effect.after.clusters)] == after, change
        assert [list(effect.before.order), list(effect.before.clusters)] == before, change
        order, clusters, swaps = indicators((before[0], before[1]), (after[0], after[1]))
        difference = effect.difference
        assert (difference.largest_move, difference.mover) == moved(means, changed), change
        assert (difference.rank_changed, difference.cluster_changed, difference.swaps) == (order, clusters, swaps)
        assert difference.are_order_and_clusters_changed == (order and clusters)
        told += order or clusters
    return told


@pytest.mark.parametrize("seed", [1, 2])
def test_every_change_equals_its_slow_twin(seed: int) -> None:
    assert check_against_twin(campaign(seed), {"HUMAN"}, GROUPS) > 0


def test_groups_without_a_change_say_why() -> None:
    rows = campaign(3, systems=2, raters=1)
    rows = rows.where((rows.role != RatingRole.REFERENCE) & (rows.rater == rows.labels.raters.index("r0")))
    made, none = ScoreChangeExperimentsFromRatings.from_ratings(
        rows, WMT_DA, frozenset()
    ).list_changes_and_missing_groups(GROUPS)
    assert {change.group for change in made} == {"document"}
    assert none == {
        "references": "there are no human systems and no reference rows",
        "lowest": "this requires 3 to 2,000 ranked systems",
        "highest": "this requires 3 to 2,000 ranked systems",
        "degraded": "there are no human systems and no reference rows",
        "degraded_reference_rows": "there are no reference rows",
        "inflated": "this requires 3 to 2,000 ranked systems",
        "system": "this requires 3 to 2,000 ranked systems",
        "rater": "this requires 2 to 2,000 raters",
        "domain": "this requires 2 to 2,000 domains",
    }
    assert len(FACTORS) == 5


def test_places_are_compared_over_systems_that_both_have() -> None:
    before = RankingOrderAndClusters(("A", "B", "C", "D"), (1, 2, 3, 4), (1, 1, 2, 2))
    after = RankingOrderAndClusters(("B", "A", "D"), (1, 2, 3), (1, 1, 2))
    found = compare_rankings(before, after)
    assert (found.rank_changed, found.cluster_changed, found.swaps) == (True, False, 1)
    assert (found.largest_move, found.mover, found.are_order_and_clusters_changed) == (1.0, "A", False)
    same = compare_rankings(before, before)
    assert (same.rank_changed, same.cluster_changed, same.swaps, same.mover) == (False, False, 0, None)
    assert compare_rankings(before, replace(after, clusters=None)).cluster_changed is None
