"""Rankings before and after a change: the change comes first, and raters are normalized after it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from app.domain.errors import Invalid
from app.domain.recipe import Recipe
from app.stats.aggregate import (
    ScoreMatrix,
    average_ratings_per_segment,
    make_score_matrix,
    round_scores,
    treat_ratings_as_segments,
)
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import Ranking
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import Codes, RatingRole, Ratings
from app.stats.recipe_normalization import normalize_ranked_rows
from app.stats.robustness.ranking_places import (
    RankingDifference,
    RankingOrderAndClusters,
    compare_rankings,
    make_ranking_order_and_clusters,
)
from app.stats.robustness.score_changes import (
    Group,
    ScoreChange,
    ScoreChangePrerequisites,
    apply_score_change,
    explain_missing_change,
    list_score_changes,
)
from app.stats.selection import DroppedRowCount, RowSelection, select_rows_by_recipe

EVERY_ROLE = tuple(role.name.lower() for role in RatingRole)


@dataclass(frozen=True, slots=True)
class ScoreChangeEffect:
    """What one change did. before, after: None if there is no such ranking; why: the reason in this case."""

    change: ScoreChange
    before: RankingOrderAndClusters | None
    after: RankingOrderAndClusters | None
    difference: RankingDifference | None
    why: str | None = None


@dataclass(frozen=True, kw_only=True)
class ScoreChangeExperiments(ABC):
    """Changes of a campaign under a recipe that is resolved once, on all data; automatic choices stay as resolved then.

    warnings, dropped: of the ranking without any change.
    """

    recipe: Recipe
    facts: ScoreChangePrerequisites
    warnings: tuple[str, ...] = ()
    dropped: tuple[DroppedRowCount, ...] = ()

    @abstractmethod
    def load_changeable_rows(self) -> Ratings:
        """Return the ranked rows and reference rows; one row may stand for all of a document, rater and role."""

    @abstractmethod
    def rank_after_change(self, change: ScoreChange | None, unshown: frozenset[str]) -> Ranking:
        """Return the ranking after a change, without some systems. Raises Invalid if there is none."""

    def list_changes_and_missing_groups(
        self, groups: Sequence[Group]
    ) -> tuple[tuple[ScoreChange, ...], dict[Group, str]]:
        """Return every change of these groups, and the reasons for groups that have none."""
        ranked = self.load_changeable_rows()
        none = {
            group: why for group in groups if (why := explain_missing_change(ranked, self.facts, group)) is not None
        }
        return list_score_changes(ranked, self.facts, groups), none

    def compute_change_effects(self, changes: Sequence[ScoreChange]) -> tuple[ScoreChangeEffect, ...]:
        """Return the effect of each change; each ranking without a change is computed once for all that need it."""
        before: dict[frozenset[str], RankingOrderAndClusters | str] = {}
        rankings = []
        for change in changes:
            if change.unshown not in before:
                before[change.unshown] = self._places(None, change.unshown)
            rankings.append(_effect(change, before[change.unshown], self._places(change, change.unshown)))
        return tuple(rankings)

    def _places(self, change: ScoreChange | None, unshown: frozenset[str]) -> RankingOrderAndClusters | str:
        """Return the places, or the reason why there is no ranking."""
        try:
            return make_ranking_order_and_clusters(self.rank_after_change(change, unshown))
        except Invalid as error:
            return error.detail or error.title()


@dataclass(frozen=True, kw_only=True)
class ScoreChangeExperimentsFromRatings(ScoreChangeExperiments):
    """Changes of ratings that are all in memory."""

    rows: Ratings

    @classmethod
    def from_ratings(
        cls, rows: Ratings, recipe: Recipe, humans: frozenset[str], documents: DocumentTable | None = None
    ) -> ScoreChangeExperimentsFromRatings:
        """Settle the recipe on all data. Raises Invalid if it does not fit them."""
        return cls(
            rows=rows,
            **take_experiment_fields_from_ranking(
                rank_systems(rows, drop_slow_recipe_choices(recipe), documents), humans, documents
            ),
        )

    def load_changeable_rows(self) -> Ratings:
        """Return the ranked rows, and reference rows, which count if the moments of raters use all rows."""
        selection = select_rows_by_recipe(self.rows, self.recipe)
        return selection.ratings.where(selection.ranked | (selection.ratings.role == RatingRole.REFERENCE))

    def rank_after_change(self, change: ScoreChange | None, unshown: frozenset[str]) -> Ranking:
        """Return the ranking after a change. Raises Invalid if there is none."""
        rows = self.rows if change is None else apply_score_change(self.rows, change, self.facts.documents)
        return rerank_systems(rows, self.recipe, unshown, self.facts)


def take_experiment_fields_from_ranking(
    base: Ranking, humans: frozenset[str], documents: DocumentTable | None
) -> dict[str, Any]:
    """Return, by name, the fields that `ScoreChangeExperiments` takes from the ranking without any change."""
    order = tuple(row.system for row in base.systems)
    return {
        "recipe": base.recipe,
        "facts": ScoreChangePrerequisites(order, humans, documents),
        "warnings": tuple(base.warnings),
        "dropped": tuple(one for one in base.dropped if one.n),
    }


def _effect(
    change: ScoreChange, before: RankingOrderAndClusters | str, after: RankingOrderAndClusters | str
) -> ScoreChangeEffect:
    if isinstance(before, str) or isinstance(after, str):
        why = before if isinstance(before, str) else str(after)
        return ScoreChangeEffect(change, None, None, None, why)
    if len(set(before.order) & set(after.order)) < 2:
        return ScoreChangeEffect(change, before, after, None, "fewer than two systems are left to compare")
    return ScoreChangeEffect(change, before, after, compare_rankings(before, after))


def rerank_systems(rows: Ratings, recipe: Recipe, unshown: frozenset[str], facts: ScoreChangePrerequisites) -> Ranking:
    """Normalize by all rows, remove the systems that are not shown, and rank the others.

    Raises Invalid if the recipe does not fit the rows.
    """
    scored, _ = select_and_normalize_rows(rows, recipe)
    gone = [code for code, key in enumerate(rows.labels.systems) if key in unshown]
    shown = scored.where(~np.isin(scored.system, gone)).in_canonical_order()
    # The recipe's choices of rows and normalization have been applied already.
    rest = replace(
        drop_slow_recipe_choices(recipe),
        normalize="none",
        roles=EVERY_ROLE,
        accepted_only=False,
        exclude=(),
        implausible_raters="keep",
    )
    return rank_systems(shown, rest, facts.documents)


def select_and_normalize_rows(rows: Ratings, recipe: Recipe) -> tuple[Ratings, RowSelection]:
    """Return the rows that a recipe ranks, with normalized scores, and the selection they come from.

    recipe : with its normalization settled. Raises Invalid if the scores do not allow it.
    """
    selection = select_rows_by_recipe(rows, recipe)
    ranked = selection.ratings.where(selection.ranked)
    return normalize_ranked_rows(selection, ranked, recipe).scored, selection


def make_score_matrix_in_ranking_order(rows: Ratings, recipe: Recipe, domains: Codes | None = None) -> ScoreMatrix:
    """System × segment scores under a recipe whose normalization is settled, systems in ranking order.

    domains : code of each document label, None if unknown. Raises Invalid if the scores do not allow the recipe.
    """
    if rows.standardised and recipe.normalize != "none":
        raise Invalid("the scores are standardised already")
    if recipe.aggregate == "macro_domain" and domains is None:
        raise Invalid("macro_domain needs the domains of the documents, which are unknown")
    scored, _ = select_and_normalize_rows(rows, recipe)
    if recipe.repeats == "separate":
        scored = treat_ratings_as_segments(scored)
    scores = average_ratings_per_segment(scored, repeats=recipe.repeats, median=recipe.aggregate == "median")
    matrix = make_score_matrix(scores, scored.labels, domains=domains, macro=recipe.aggregate == "macro_domain")
    return matrix.reorder_systems(np.lexsort((matrix.systems, -rows.better_sign * round_scores(matrix.system_means()))))


def drop_slow_recipe_choices(recipe: Recipe) -> Recipe:
    """Return the recipe without slow choices that are not compared: influence, rank sets and resampled intervals."""
    return replace(recipe, influence=False, rank_sets=False, interval="t")
