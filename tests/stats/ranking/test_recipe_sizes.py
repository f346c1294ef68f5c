"""How often named recipes claim a difference of equal systems: what their warnings say, measured; and the words."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.recipe import NAMED
from app.stats.ranking import assumption_caveats
from app.stats.ranking.confounding import MOST_UNEVEN, measure_rater_share_unevenness
from app.stats.ratings import Ratings
from tests.stats.null_worlds import campaign, claimed, ranked

BY_SEGMENT = [name for name, recipe in NAMED.items() if recipe.unit == "segment"]


@pytest.mark.parametrize("name", BY_SEGMENT)
def test_every_recipe_that_tests_segments_says_what_it_claims_of_equal_systems(name: str) -> None:
    found = ranked(campaign(np.random.default_rng(1), documents=8, segments=3, systems=3), NAMED[name])
    low, high = assumption_caveats.SEGMENT_SIZES[found.recipe.test]
    assert any(f"claim {low:.0%} to {high:.0%} of pairs of equal systems" in one for one in found.warnings)
    single = ranked(campaign(np.random.default_rng(1), documents=20, segments=1, systems=3), NAMED[name])
    assert not any("of pairs of equal systems in simulation, because" in one for one in single.warnings)


@pytest.mark.parametrize("name", NAMED)
def test_every_recipe_warns_of_raters_confounded_with_systems(name: str) -> None:
    rng = np.random.default_rng(2)
    uneven = ranked(campaign(rng, documents=20, segments=3, confounded=True, severity=0.5, systems=2), NAMED[name])
    even = ranked(campaign(rng, documents=20, segments=3, severity=0.5, systems=2), NAMED[name])
    told = [
        any(one.startswith("raters are confounded with systems") for one in found.warnings) for found in (uneven, even)
    ]
    assert told == [True, False]


def test_unevenness_is_the_variance_that_raters_add() -> None:
    rows = Ratings.from_columns(
        system=["A", "A", "A", "A", "B", "B", "C", "C"],
        document=["d"] * 8,
        position=[1, 2, 3, 4, 1, 2, 1, 2],
        rater=["r1", "r1", "r1", "r2", "r1", "r2", "r3", "r3"],
        score=[1.0] * 8,
        higher_is_better=True,
    )
    found = measure_rater_share_unevenness(rows, np.arange(3, dtype=np.int32))
    assert found[0, 1] == pytest.approx(2 * 0.25**2)
    assert found[0, 2] == pytest.approx(0.75**2 + 0.25**2 + 1)
    assert found[1, 0] == found[0, 1]
    assert MOST_UNEVEN < 2 * 0.25**2


def test_the_hypothesis_stands_in_words_beside_flips_of_signs() -> None:
    rows = campaign(np.random.default_rng(3), documents=8, segments=2, systems=2)
    for name, recipe in NAMED.items():
        told = assumption_caveats.SHAPES in ranked(rows, recipe).notes
        assert told == (recipe.test in {"permutation", "marot"}), name


def other_shapes(campaigns: int, *, documents: int, seed: int) -> float:
    """Share of pairs with equal means claimed at .05 where one system errs gravely in a twentieth of the documents."""
    rng = np.random.default_rng(seed)
    grave = rng.random((campaigns, documents)) < 0.05
    apart = np.where(grave, -5.0, 0.25 / 0.95) + 0.5 * rng.normal(size=grave.shape)
    signs = rng.choice([-1.0, 1.0], size=(999, documents))
    beyond = (np.abs(apart @ signs.T) >= np.abs(apart.sum(axis=1, keepdims=True)) - 1e-9).sum(axis=1)
    return float(((beyond + 1) / 1000 <= 0.05).mean())


@pytest.mark.parametrize("documents", [12, 30])
def test_flips_claim_a_fifth_of_pairs_with_rare_grave_errors(documents: int) -> None:
    assert 0.15 <= other_shapes(1_000, documents=documents, seed=documents) <= 0.25


def test_studentizing_flips_of_equal_documents_changes_no_p_value() -> None:
    """|Σεd| and |Σεd|/√Σ(εd − mean)² order the flips alike, because Σ(εd)² is the same for all."""
    rng = np.random.default_rng(5)
    apart, signs = rng.exponential(size=9) - 1, rng.choice([-1.0, 1.0], size=(500, 9))
    flipped = signs * apart
    plain = np.abs(flipped.sum(axis=1))
    student = plain / np.sqrt(((flipped - flipped.mean(axis=1, keepdims=True)) ** 2).sum(axis=1))
    assert (np.argsort(plain, kind="stable") == np.argsort(student, kind="stable")).all()


def test_a_few_campaigns_are_claimed_about_as_often_as_the_warning_says() -> None:
    low, high = assumption_caveats.SEGMENT_SIZES["wmt26_bootstrap"]
    assert low - 0.1 <= claimed("wmt26", campaigns=4, seed=8, within=0.25) <= high + 0.15


@pytest.mark.soak
@pytest.mark.parametrize("name", BY_SEGMENT)
def test_segment_tests_claim_what_their_warning_says(name: str) -> None:
    low, high = assumption_caveats.SEGMENT_SIZES[NAMED[name].test]
    assert claimed(name, campaigns=100, seed=11, within=0.1) == pytest.approx(low, abs=0.04)
    assert claimed(name, campaigns=100, seed=12, within=0.25) == pytest.approx(high, abs=0.06)


@pytest.mark.soak
@pytest.mark.parametrize("name", ["google-mqm", "srp-paper", "nllb-xsts"])
def test_confounded_raters_are_claimed_as_systems(name: str) -> None:
    low, high = assumption_caveats.CONFOUNDED
    found = claimed(name, campaigns=300, seed=13, within=0.1, severity=0.5, confounded=True, systems=2)
    assert low - 0.1 <= found <= high + 0.1
