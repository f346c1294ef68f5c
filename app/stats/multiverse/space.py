"""The choices of an analysis, and the universes formed by combining them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal

from app.domain.recipe import SIGNED_RANK_TESTS, Adjust, ExclusionTarget, Normalize, Recipe, Test, Unit
from app.stats.testing.permutation import cap_number_of_permutations

Dimension = Literal["scoring", "exclusion", "normalize", "test", "adjust"]
DIMENSIONS: Final[tuple[Dimension, ...]] = ("scoring", "exclusion", "normalize", "test", "adjust")
NORMALIZATIONS: Final[tuple[Normalize, ...]] = ("none", "mean", "center", "error", "error_rate", "z")
ADJUSTMENTS: Final[tuple[Adjust, ...]] = ("none", "holm", "bh", "maxT")
ONE_SIDED: Final = frozenset({"marot", "rank_sum_legacy", "wmt26_bootstrap"})


@dataclass(frozen=True, slots=True)
class TestAndUnit:
    """A test with the unit that it resamples or ranks."""

    test: Test
    unit: Unit

    @property
    def name(self) -> str:
        """The name used in requests and on pages."""
        return f"{self.test}:{self.unit}"


TESTS: Final[Mapping[str, TestAndUnit]] = MappingProxyType(
    {
        one.name: one
        for one in (
            TestAndUnit("permutation", "document"),
            TestAndUnit("signed_rank", "document"),
            TestAndUnit("paired_t", "document"),
            TestAndUnit("bootstrap", "document"),
            TestAndUnit("welch", "document"),
            TestAndUnit("signed_rank", "segment"),
            TestAndUnit("paired_t", "segment"),
            TestAndUnit("welch", "segment"),
            TestAndUnit("rank_sum", "segment"),
            TestAndUnit("rank_sum_legacy", "segment"),
            TestAndUnit("marot", "segment"),
            TestAndUnit("stouffer", "segment"),
            TestAndUnit("stouffer_signed", "segment"),
            TestAndUnit("wmt26_or", "segment"),
            TestAndUnit("wmt26_bootstrap", "segment"),
        )
    }
)


@dataclass(frozen=True, slots=True)
class ExclusionChoice:
    """What an analysis leaves out. accepted_only: also leave out the tasks that quality control rejected."""

    name: str
    accepted_only: bool
    exclude: tuple[ExclusionTarget, ...] = ()


@dataclass(frozen=True, slots=True)
class MultiverseSpace:
    """The choices of each dimension except the scoring. base: supplies the other choices of every universe's recipe."""

    base: Recipe
    excluding: tuple[ExclusionChoice, ...]
    normalize: tuple[Normalize, ...] = NORMALIZATIONS
    tests: tuple[TestAndUnit, ...] = tuple(TESTS.values())
    adjust: tuple[Adjust, ...] = ADJUSTMENTS

    @property
    def universes_per_branch(self) -> int:
        """Number of universes that share the same normalized scores."""
        return len(self.tests) * len(self.adjust)

    def make_branch_recipe(self, excluding: ExclusionChoice, normalize: Normalize) -> Recipe:
        """Make the recipe up to the system scores."""
        return replace(
            self.base,
            normalize=normalize,
            accepted_only=excluding.accepted_only,
            exclude=excluding.exclude,
            influence=False,
            rank_sets=False,
            interval="t",
            clusters="none",
            fallback=False,
        )

    def make_universe_recipe(self, recipe: Recipe, test: TestAndUnit, adjust: Adjust, n_pairs: int) -> Recipe:
        """Make the recipe of one universe; the options of a test are those of its publication.

        All adjustments share the same draws, as many as the most demanding adjustment needs.
        """
        permutations = self.base.permutations or cap_number_of_permutations(max(n_pairs, 1), recipe.alpha)
        return replace(
            recipe,
            test=test.test,
            unit=test.unit,
            alternative="greater" if test.test in ONE_SIDED else "two-sided",
            permutations=permutations,
            correction=test.test not in SIGNED_RANK_TESTS,
            zero_method="wilcox",
            method="auto",
            matched_only=False,
            require_mean=False,
            adjust=adjust,
        )
