"""Rankings side by side as JSON, with worked examples."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field

from app.reports.ranking_comparison.compared_rankings import ComparedRanking, RankingsSideBySide
from app.reports.ranking_comparison.disagreeing_pairs import RankingPairVerdict


class ComparedRankingOut(BaseModel):
    """One ranking."""

    name: str = Field(description="Name of the recipe or of the campaign.")
    campaign: str | None = None
    data_version: int | None = None
    data_hash: str | None = None
    recipe: str | None = None
    recipe_hash: str | None = None
    protocol: str | None = None
    source_language: str | None = None
    target_language: str | None = None
    n_systems: int | None = None
    n_ratings: int | None = None
    clusters: int | None = None
    why: str | None = Field(description="Reason why there is no ranking; null if there is one.")
    warnings: list[str]

    @classmethod
    def from_compared_ranking(cls, ranking: ComparedRanking) -> Self:
        """Convert from the service's form."""
        view = ranking.view
        if view is None:
            return cls(name=ranking.name, why=ranking.why, warnings=[])
        return cls(
            name=ranking.name,
            campaign=view.campaign,
            data_version=view.data_version,
            data_hash=view.data_hash,
            recipe=view.recipe.name,
            recipe_hash=view.recipe.hash,
            protocol=view.protocol,
            source_language=view.source_language,
            target_language=view.target_language,
            n_systems=len(view.systems),
            n_ratings=view.n_ratings,
            clusters=max((line.cluster for line in view.systems if line.cluster is not None), default=None),
            why=None,
            warnings=list(view.warnings),
        )


class SystemRankInRankingOut(BaseModel):
    """Where a system stands in one ranking."""

    rank: float
    relative_rank: float = Field(description="0 for the best of the ranking, 1 for the worst.")
    cluster: int | None
    score: float


class SystemPlacesInRankingsOut(BaseModel):
    """A system and its place in each ranking."""

    system: str
    name: str | None = Field(None, description="Name shown to people; null if unknown.")
    mean_relative_rank: float = Field(description="Mean over the rankings that include it.")
    n_rankings: int
    places: dict[str, SystemRankInRankingOut | None] = Field(
        description="Place by ranking; null if the system is not in it."
    )


class PairVerdictOut(BaseModel):
    """Verdict of a ranking on a pair."""

    better: str | None = Field(description="System with the better score; null for equal scores.")
    significant: str | None = Field(description="Which of the two is significantly better; null for neither.")


class PairDisagreementOut(BaseModel):
    """A pair that the rankings do not agree on."""

    pair: Annotated[list[str], Field(min_length=2, max_length=2)]
    kind: Literal["reversed", "significance", "order"] = Field(
        description="Each is significantly better somewhere; a claim holds in some rankings only; the order differs."
    )
    verdicts: dict[str, PairVerdictOut | None] = Field(description="Verdict of each ranking.")


class RankingsSideBySideOut(BaseModel):
    """Several rankings compared."""

    rankings: list[ComparedRankingOut]
    systems: list[SystemPlacesInRankingsOut] = Field(description="Sorted by mean relative rank.")
    pairs: list[PairDisagreementOut] = Field(description="Only pairs on which the rankings disagree.")
    warnings: list[str]

    @classmethod
    def from_rankings(cls, rankings: RankingsSideBySide) -> Self:
        """Convert from the service's form."""
        names = [column.name for column in rankings.columns_with_ranking]
        return cls(
            rankings=[ComparedRankingOut.from_compared_ranking(ranking) for ranking in rankings.columns],
            systems=[_row(rankings, system) for system in rankings.systems],
            pairs=[
                PairDisagreementOut(
                    pair=[pair.a, pair.b],
                    kind=pair.kind,
                    verdicts=dict(zip(names, map(make_pair_verdict_out, pair.verdicts), strict=True)),
                )
                for pair in rankings.list_disagreeing_pairs()
            ],
            warnings=list(rankings.notes),
        )


def _row(shown: RankingsSideBySide, system: str) -> SystemPlacesInRankingsOut:
    places = {column.name: _place(column, system) for column in shown.columns_with_ranking}
    n = sum(place is not None for place in places.values())
    name, mean = shown.find_first_line_of_system(system).name, shown.mean_relative_rank[system]
    return SystemPlacesInRankingsOut(system=system, name=name, mean_relative_rank=mean, n_rankings=n, places=places)


def _place(column: ComparedRanking, system: str) -> SystemRankInRankingOut | None:
    line, relative = column.find_system_line(system), column.relative_rank(system)
    if line is None or relative is None:
        return None
    return SystemRankInRankingOut(rank=line.rank, relative_rank=relative, cluster=line.cluster, score=line.score)


def make_pair_verdict_out(verdict: RankingPairVerdict | None) -> PairVerdictOut | None:
    """Convert from the service's form."""
    return None if verdict is None else PairVerdictOut(better=verdict.better, significant=verdict.claims)


EXAMPLE = RankingsSideBySideOut.model_validate(
    {
        "rankings": [
            {
                "name": "recommended",
                "campaign": "ted-ende",
                "data_version": 7,
                "data_hash": "sha256:" + "5e" * 32,
                "recipe": "recommended",
                "recipe_hash": "sha256:" + "5e" * 32,
                "protocol": "mqm",
                "source_language": "en",
                "target_language": "de",
                "n_systems": 1,
                "n_ratings": 529,
                "clusters": 1,
                "why": None,
                "warnings": [],
            },
            {"name": "wmt26", "why": "no two systems share a segment", "warnings": []},
        ],
        "systems": [
            {
                "system": "ref",
                "name": "Reference translation",
                "mean_relative_rank": 0.0,
                "n_rankings": 1,
                "places": {"recommended": {"rank": 1, "relative_rank": 0.0, "cluster": 1, "score": 0.9115}},
            }
        ],
        "pairs": [],
        "warnings": [],
    }
)
