"""A ranking says when it drew fewer permutations than its family asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.recipe import NAMED, Recipe
from app.stats.ranking.ranking import rank_systems
from app.stats.testing import pair_tests, permutation
from tests.stats.ranking.test_ranking import campaign

MOST = 12_000
RECOMMENDED = replace(NAMED["recommended"], rank_sets=False, influence=False)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that a small campaign reaches, too."""
    monkeypatch.setattr(permutation, "MOST_PERMUTATIONS", MOST)
    monkeypatch.setattr(pair_tests, "MOST_PERMUTATIONS", MOST)


def told(recipe: Recipe, *, documents: int = 20, systems: int = 9) -> list[str]:
    """The warnings about the number of permutations."""
    found = rank_systems(campaign(systems=systems, documents=documents), recipe).warnings
    return [text for text in found if "were drawn, the maximum" in text]


def test_a_number_of_permutations_that_was_cut_is_told_with_the_one_it_should_be() -> None:
    # ⌈20·36/.05⌉
    asked = (
        "this number of pairs and alpha 0.05 require 14,400, so some differences cannot be claimed: rank fewer systems"
    )
    for recipe in (RECOMMENDED, replace(RECOMMENDED, adjust="bh")):
        assert told(recipe) == [f"12,000 permutations were drawn, the maximum; {asked}"]
    bootstrap = replace(RECOMMENDED, test="bootstrap")
    assert told(bootstrap) == [f"12,000 bootstrap samples were drawn, the maximum; {asked}"]


def test_enough_permutations_are_not_told() -> None:
    assert told(RECOMMENDED, systems=7) == []
    assert told(replace(RECOMMENDED, adjust="maxT")) == []


def test_nothing_was_cut_where_all_permutations_were_enumerated() -> None:
    assert told(RECOMMENDED, documents=10) == []


def test_a_number_that_was_asked_for_is_not_cut() -> None:
    assert told(replace(RECOMMENDED, permutations=500)) == []


def test_a_test_that_draws_nothing_is_not_told_of_draws() -> None:
    assert told(replace(RECOMMENDED, test="welch")) == []
