"""Rank sets and the joint adjustment inside a ranking."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.domain.recipe import NAMED
from app.stats.ranking.ranking import rank_systems
from app.stats.ratings import Ratings

RECOMMENDED = NAMED["recommended"]


def campaign(*, documents: int, gap: float = 1.0, higher: bool = True) -> Ratings:
    """Four systems on two segments a document, one rater; s0 is the best by `gap`."""
    rng = np.random.default_rng(1)
    rows = [(s, d, p) for s in range(4) for d in range(documents) for p in (1, 2)]
    sign = 1 if higher else -1
    return Ratings.from_columns(
        system=[f"s{s}" for s, _, _ in rows],
        document=[f"d{d:02}" for _, d, _ in rows],
        position=[p for _, _, p in rows],
        rater=["r"] * len(rows),
        score=[sign * (50 - gap * s + float(np.round(rng.normal(), 1))) for s, _, _ in rows],
        higher_is_better=higher,
    )


@pytest.mark.parametrize("higher", [True, False])
def test_recommended_gives_rank_sets_whichever_way_scores_run(higher: bool) -> None:
    rows = rank_systems(campaign(documents=30, gap=3.0, higher=higher), RECOMMENDED).systems
    assert [row.rank_set for row in rows] == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert rows[0].as_json()["rank_set"] == [1, 1]


def test_rank_sets_are_wider_than_pairwise_ranges() -> None:
    for row in rank_systems(campaign(documents=16, gap=0.3), replace(RECOMMENDED, adjust="none")).systems:
        assert row.rank_set[0] <= row.rank_range[0]
        assert row.rank_set[1] >= row.rank_range[1]


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        (5, "5 documents: too few for rank sets, which therefore contain every rank; judge at least 6"),
        (
            10,
            "10 documents: rank sets are approximate, so their coverage may be below nominal; judge at least 15",
        ),
        (15, None),
    ],
)
def test_few_documents_are_told(documents: int, said: str | None) -> None:
    warnings = rank_systems(campaign(documents=documents), RECOMMENDED).warnings
    assert [w for w in warnings if "rank sets" in w] == ([said] if said else [])


def test_without_documents_or_unasked_there_are_no_rank_sets() -> None:
    unknown = rank_systems(replace(campaign(documents=20), documents_known=False), RECOMMENDED)
    assert {row.rank_set for row in unknown.systems} == {None}
    assert (
        "documents are unknown, so there are no simultaneous rank sets; import the documents if there are any"
        in unknown.warnings
    )
    assert {row.rank_set for row in rank_systems(campaign(documents=20), NAMED["google-mqm"]).systems} == {None}


def test_the_joint_adjustment_lies_between_p_and_holm() -> None:
    ratings = campaign(documents=20, gap=0.4)
    joint, holm = rank_systems(ratings, replace(RECOMMENDED, adjust="maxT")), rank_systems(ratings, RECOMMENDED)
    for a, b in zip(joint.pairs, holm.pairs, strict=True):
        assert a.p_value <= a.p_adjusted <= b.p_adjusted + 0.01
    assert joint.smallest_p_adjusted == joint.smallest_p == 1 / 10_001
    assert joint.hypotheses == 6


def test_an_unpaired_design_is_adjusted_by_holm_instead() -> None:
    ratings = campaign(documents=32)
    unpaired = ratings.where(ratings.document % 4 == ratings.system)
    ranking = rank_systems(unpaired, replace(RECOMMENDED, adjust="maxT"))
    assert (ranking.recipe.test, ranking.recipe.adjust) == ("welch", "holm")
