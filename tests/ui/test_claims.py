"""What a ranking lets its readers claim: each of the sentences, from rankings of two to nine systems."""

from __future__ import annotations

from itertools import combinations

import pytest

from app.reports.ranking.view import PairLine, RankingView, SystemLine
from app.ui.manager.claims import MOST_NAMES, describe_ranking_claims
from app.ui.messages import load_page_messages

ENGLISH = load_page_messages("en", "manager/ranking")


def ranking(order: str, significant: set[str], *, human: str = "", tested: bool = True) -> RankingView:
    """Systems of one letter in their order; the pairs that differ significantly, as two letters."""
    systems = [
        SystemLine.model_construct(system=key, name=None, kind="human" if key in human else "mt") for key in order
    ]
    pairs = [
        PairLine(better=a, worse=b, p_value=0.01 if tested else None, significant=a + b in significant, n_common=1)
        for a, b in combinations(order, 2)
    ]
    return RankingView.model_construct(systems=systems, pairs=pairs)


def every(order: str) -> set[str]:
    return {a + b for a, b in combinations(order, 2)}


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (
            ranking("AB", {"AB"}),
            (
                "You may claim that A is better than every other system.",
                "Every pair of systems differs significantly: you may claim the whole order.",
            ),
        ),
        (
            ranking("ABC", {"BC"}),
            (
                "A ranks first, but you may not claim that it is better than any other system.",
                "1 of 3 pairs differ significantly. You may not claim the order within a cluster.",
            ),
        ),
        (
            ranking("ABC", {"AC"}),
            (
                "A ranks first. You may claim that it is better than all others except B.",
                "1 of 3 pairs differ significantly. You may not claim the order within a cluster.",
            ),
        ),
        (
            ranking("ABC", {"AB", "AC", "BC"}, human="A"),
            (
                "Human translations aside: You may claim that B is better than every other system.",
                "Every pair of systems differs significantly: you may claim the whole order.",
            ),
        ),
        (
            ranking("AB", {"AB"}, human="A"),
            (
                "You may claim that A is better than every other system.",
                "Every pair of systems differs significantly: you may claim the whole order.",
            ),
        ),
        (
            ranking("AB", set(), tested=False),
            ("This recipe tests no differences, so you may not claim the order of the systems.",),
        ),
        (ranking("A", set()), ()),
        (ranking("", set()), ()),
    ],
)
def test_what_may_be_claimed(view: RankingView, said: tuple[str, ...]) -> None:
    assert describe_ranking_claims(view, ENGLISH) == said


@pytest.mark.parametrize("more", [0, 1])
def test_many_systems_are_counted_and_not_named(more: int) -> None:
    order = "ABCDEFGHI"[: MOST_NAMES + 2 + more]
    first = describe_ranking_claims(ranking(order, {"A" + order[-1]}), ENGLISH)[0]
    named = "7 systems" if more else "B, C, D, E, F, G"
    assert first == f"A ranks first. You may claim that it is better than all others except {named}."


def test_a_pair_that_could_not_be_tested_is_no_claim() -> None:
    view = ranking("ABC", every("ABC"))
    untested = view.pairs[0].model_copy(update={"testable": False})
    view = view.model_copy(update={"pairs": [untested, *view.pairs[1:]]})
    assert describe_ranking_claims(view, ENGLISH) == (
        "A ranks first. You may claim that it is better than all others except B.",
        "2 of 3 pairs differ significantly. You may not claim the order within a cluster.",
    )


def test_data_too_few_for_any_test_are_not_blamed_on_the_recipe() -> None:
    view = ranking("AB", set(), tested=False)
    view = view.model_copy(update={"pairs": [view.pairs[0].model_copy(update={"testable": False})]})
    assert describe_ranking_claims(view, ENGLISH) == (
        "A ranks first, but you may not claim that it is better than any other system.",
        "These data are too few to test any pair of systems.",
    )
