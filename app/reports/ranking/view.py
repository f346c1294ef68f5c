"""A stored ranking, read back for everything that shows one: tables, pictures, pages, the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

Range = tuple[float, float]


class _StoredPart(BaseModel):
    """A part of stored JSON; fields that a later version adds are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class SystemLine(_StoredPart):
    """One ranked system; fields as in `app.stats.ranking.result.SystemRow`. name: any text; shown, never executed."""

    system: str
    name: str | None = None
    kind: Literal["mt", "human"] = "mt"
    rank: float
    cluster: int | None = None
    rank_range: tuple[int, int] | None = None
    rank_set: tuple[int, int] | None = None
    score: float
    raw: float
    interval: Range | None = None
    relative: float | None = None
    relative_interval: Range | None = None
    n_segments: int
    n_documents: int | None = None
    effective_documents: float | None = None
    n_ratings: int
    wins: int | None = None
    losses: int | None = None


class PairLine(_StoredPart):
    """One pair of systems; fields as in `app.stats.ranking.result.PairRow`."""

    better: str
    worse: str
    difference: float | None = None
    interval: Range | None = None
    new_raters_interval: Range | None = None
    new_domains_interval: Range | None = None
    p_value: float | None = None
    p_reverse: float | None = None
    p_adjusted: float | None = None
    significant: bool = False
    significant_reverse: bool = False
    testable: bool = True
    order_conflict: bool = False
    minimum_detectable: float | None = None
    n_common: int
    documents_common: int | None = None
    effective_documents: float | None = None


class RecipeSummary(_StoredPart):
    """The resolved recipe, as far as it is described in words."""

    name: str
    hash: str
    normalize: str
    repeats: str = "average"
    unit: str
    aggregate: str = "mean"
    test: str
    alternative: str
    permutations: int | None = None
    plus_one: bool = True
    adjust: str
    alpha: float
    inclusive: bool
    clusters: str
    exclude: tuple[str, ...] = ()


class RankingView(_StoredPart):
    """A ranking report."""

    campaign: str
    data_version: int
    data_hash: str | None = None
    method_version: str
    protocol: str | None = None
    source_language: str | None = None
    target_language: str | None = None
    recipe: RecipeSummary
    seed: int
    higher_is_better: bool
    unit: str = "raw"
    n_ratings: int
    interval_level: float = 0.95
    systems: tuple[SystemLine, ...]
    pairs: tuple[PairLine, ...]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def n_permutations_without_plus_one(self) -> int | None:
        """The number of random rearrangements if the observed one is not counted among them; None if it is."""
        return None if self.recipe.plus_one else self.recipe.permutations

    @property
    def has_relative_intervals(self) -> bool:
        """Whether every system has an interval relative to the mean of all systems on the same documents."""
        return bool(self.systems) and all(s.relative_interval is not None for s in self.systems)

    @property
    def scores_differ_from_raw(self) -> bool:
        """Whether normalization or aggregation made the score differ from the raw score."""
        return any(round(s.score - s.raw, 10) != 0 for s in self.systems)

    @property
    def has_human_translations(self) -> bool:
        """Whether human translations are ranked among the systems."""
        return any(s.kind == "human" for s in self.systems)


def parse_ranking_view_json(body: bytes) -> RankingView:
    """Read the ranking from a stored report body (canonical JSON)."""
    return RankingView.model_validate_json(body)


def parse_ranking_view(report: Mapping[str, object]) -> RankingView:
    """Parse the ranking from an already decoded report, such as a response over HTTP."""
    return RankingView.model_validate(report)
