"""Rankings before and after a change of a campaign that does not fit into memory: each from its own sums."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from app.domain.recipe import Recipe
from app.stats.ranking.rank_from_sums import SummableRatings, rank_from_sums
from app.stats.ranking.result import Ranking
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import Ratings
from app.stats.robustness.ranking_places import RankingOrderAndClusters, make_ranking_order_and_clusters
from app.stats.robustness.reranking import (
    ScoreChangeExperiments,
    drop_slow_recipe_choices,
    take_experiment_fields_from_ranking,
)
from app.stats.robustness.score_changes import ScoreChange


class ChangeableSummableRatings(Protocol):
    """Ratings that can be changed and summed where they are stored."""

    def open_sums_after_change(
        self, recipe: Recipe, change: ScoreChange | None, unshown: frozenset[str], documents: DocumentTable | None
    ) -> AbstractContextManager[SummableRatings]:
        """Open the sums under a recipe after a change.

        unshown: systems that are not ranked; raters' moments still use their rows. Raises Invalid if the change cannot
        be made.
        """

    def load_row_per_document_and_rater(self, recipe: Recipe) -> Ratings:
        """Return a row for each document, rater and role that is ranked or of a reference."""


@dataclass(frozen=True, kw_only=True)
class ScoreChangeExperimentsFromSums(ScoreChangeExperiments):
    """Changes of ratings that are summed. base: the ranking of all systems without a change."""

    sums: ChangeableSummableRatings
    base: RankingOrderAndClusters

    @classmethod
    def from_sums(
        cls, sums: ChangeableSummableRatings, recipe: Recipe, humans: frozenset[str], documents: DocumentTable | None
    ) -> ScoreChangeExperimentsFromSums:
        """Settle a recipe that `can_rank_from_sums` accepts on all data. Raises Invalid if it does not fit them."""
        simple = drop_slow_recipe_choices(recipe)
        with sums.open_sums_after_change(simple, None, frozenset(), documents) as source:
            base = rank_from_sums(source, simple, documents)
        return cls(
            sums=sums,
            base=make_ranking_order_and_clusters(base),
            **take_experiment_fields_from_ranking(base, humans, documents),
        )

    def load_changeable_rows(self) -> Ratings:
        """Return a row for each document, rater and role."""
        return self.sums.load_row_per_document_and_rater(self.recipe)

    def rank_after_change(self, change: ScoreChange | None, unshown: frozenset[str]) -> Ranking:
        """Return the ranking after a change. Raises Invalid if there is none."""
        documents = self.facts.documents
        with self.sums.open_sums_after_change(self.recipe, change, unshown, documents) as source:
            return rank_from_sums(source, self.recipe, documents)

    def _places(self, change: ScoreChange | None, unshown: frozenset[str]) -> RankingOrderAndClusters | str:
        """Return the places; those of all systems without a change are known."""
        return self.base if change is None and not unshown else super()._places(change, unshown)
