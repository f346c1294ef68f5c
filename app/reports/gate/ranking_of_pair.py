"""What the ranking says about the two systems of a gate, shown besides the gate's decision."""

from __future__ import annotations

from typing import Literal

from app.reports.gate.view import RecipePairVerdict
from app.stats.ranking.result import PairRow, Ranking


def find_pair_row(ranking: Ranking, candidate: str, baseline: str) -> PairRow | None:
    """Return the ranking's row for the two systems; None if one of them is not ranked."""
    both = {candidate, baseline}
    return next((pair for pair in ranking.pairs if {pair.better, pair.worse} == both), None)


def orient_interval_to_candidate(
    row: PairRow | None, candidate: str, interval_name: Literal["new_raters_interval", "new_domains_interval"]
) -> list[float] | None:
    """Return an interval of the difference, oriented so that positive values mean that the candidate is better."""
    ends = None if row is None else getattr(row, interval_name)
    if row is None or ends is None:
        return None
    low, high = ends
    return [low, high] if row.better == candidate else [-high, -low]


def make_recipe_pair_verdict(ranking: Ranking, row: PairRow | None) -> RecipePairVerdict | None:
    """Return the result of the recipe's own test; None if there is no row."""
    if row is None:
        return None
    return RecipePairVerdict(
        test=f"{ranking.recipe.test} by {ranking.recipe.unit}, adjustment {ranking.recipe.adjust}",
        better=row.better,
        p_value=row.p_value,
        p_reverse=row.p_reverse,
        p_adjusted=row.p_adjusted,
        significant=row.significant,
        significantly_better=row.better if row.significant else row.worse if row.significant_reverse else None,
    )
