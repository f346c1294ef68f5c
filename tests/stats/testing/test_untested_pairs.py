"""Why a pair of systems has no p-value: too little in common, or scores that do not vary."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.recipe import NAMED, Recipe
from app.stats.ranking.ranking import rank_systems
from tests.stats.ranking.test_ranking import campaign, constant


def test_welch_says_which_pairs_it_could_not_test() -> None:
    ranking = rank_systems(campaign(documents=5), Recipe(name="welch", test="welch"))
    assert not any(p.testable for p in ranking.pairs)
    assert (
        "6 of 6 pairs have fewer than 6 documents on a side or no variation, so they are not "
        "testable; judge more documents"
    ) in ranking.warnings


@pytest.mark.parametrize("unit", ["segment", "document"])
def test_pairs_without_variation_are_not_said_to_lack_common_data(unit: str) -> None:
    ranking = rank_systems(constant(), replace(NAMED["wmt26"], unit=unit))
    assert not any(pair.testable for pair in ranking.pairs)
    untested = [warning for warning in ranking.warnings if "not testable" in warning]
    assert len(untested) == 1
    assert "no variation to test with" in untested[0]
