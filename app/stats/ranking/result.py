"""The result of a ranking as frozen values; `as_json` is the body of the ranking report."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.recipe import Recipe
from app.stats.plain_values import Interval
from app.stats.ranking.influence import PairInfluence
from app.stats.ratings import Codes, Floats
from app.stats.selection import DroppedRowCount

METHOD_VERSION = "3"


@dataclass(frozen=True, slots=True)
class SystemRow:
    """One ranked system.

    rank: from 1; systems with equal scores share the mean of their ranks. cluster: from 1, None without a rule.
    rank_range: [1 + losses, S − wins], pairwise. rank_set: simultaneous over all systems; None if not requested or if
    documents are unknown.

    score: what the recipe ranks by. raw: the score without normalization. interval: of the score, for new documents.
    relative: the system minus the mean of all systems on the segments that all of them have. relative_interval: its
    interval.

    n_segments: number of segments behind the score. n_documents: None if documents are unknown. n_ratings: judgments.
    effective_documents: number of equally long documents that would be as informative.
    """

    system: str
    rank: float
    cluster: int | None
    rank_range: tuple[int, int] | None
    rank_set: tuple[int, int] | None
    score: float
    raw: float
    interval: Interval | None
    relative: float | None
    relative_interval: Interval | None
    n_segments: int
    n_documents: int | None
    effective_documents: float | None
    n_ratings: int
    wins: int
    losses: int

    def as_json(self) -> dict[str, object]:
        """Plain values, in declared order."""
        return {
            "system": self.system,
            "rank": int(self.rank) if self.rank.is_integer() else self.rank,
            "cluster": self.cluster,
            "rank_range": _pair(self.rank_range),
            "rank_set": _pair(self.rank_set),
            "score": self.score,
            "raw": self.raw,
            "interval": _pair(self.interval),
            "relative": self.relative,
            "relative_interval": _pair(self.relative_interval),
            "n_segments": self.n_segments,
            "n_documents": self.n_documents,
            "effective_documents": self.effective_documents,
            "n_ratings": self.n_ratings,
            "wins": self.wins,
            "losses": self.losses,
        }


@dataclass(frozen=True, slots=True)
class PairRow:
    """One pair, with the higher-ranked system as `better`.

    difference: positive if `better` is better; over common segments if the test is paired, otherwise of the scores.
    p_value: None if the pair was not testable. p_reverse: p of the other direction of a one-sided test. p_signed: for
    Stouffer's combination of two-sided p-values, the combination that keeps direction. significant: `better` is
    significantly better; significant_reverse: `worse` is. order_conflict: on the common segments `worse` is better.
    interval, minimum_detectable: by documents, None without them.

    new_raters_interval, new_domains_interval: of the difference if raters, or whole domains, are sampled as well as
    documents; None if there is only one, or if the recipe does not allow it. raw_difference, raw_interval: in the
    protocol's unit, without normalization. chance_better, chance_tie, chance_worse: on a random segment, by raw scores.
    influence: of raters, documents and domains; None if not requested.

    n_common, documents_common: segments and documents that both have. effective_documents: number of equally long
    documents that would be as informative about the difference.
    """

    better: str
    worse: str
    difference: float | None
    interval: Interval | None
    new_raters_interval: Interval | None
    new_domains_interval: Interval | None
    p_value: float | None
    p_reverse: float | None
    p_adjusted: float | None
    p_signed: float | None
    significant: bool
    significant_reverse: bool
    testable: bool
    order_conflict: bool
    minimum_detectable: float | None
    raw_difference: float | None
    raw_interval: Interval | None
    chance_better: float | None
    chance_tie: float | None
    chance_worse: float | None
    influence: PairInfluence | None
    n_common: int
    documents_common: int | None
    effective_documents: float | None

    def as_json(self) -> dict[str, object]:
        """Plain values, in declared order."""
        return {
            "better": self.better,
            "worse": self.worse,
            "difference": self.difference,
            "interval": _pair(self.interval),
            "new_raters_interval": _pair(self.new_raters_interval),
            "new_domains_interval": _pair(self.new_domains_interval),
            "p_value": self.p_value,
            "p_reverse": self.p_reverse,
            "p_adjusted": self.p_adjusted,
            "p_signed": self.p_signed,
            "significant": self.significant,
            "significant_reverse": self.significant_reverse,
            "testable": self.testable,
            "order_conflict": self.order_conflict,
            "minimum_detectable": self.minimum_detectable,
            "raw_difference": self.raw_difference,
            "raw_interval": _pair(self.raw_interval),
            "chance_better": self.chance_better,
            "chance_tie": self.chance_tie,
            "chance_worse": self.chance_worse,
            "n_common": self.n_common,
            "documents_common": self.documents_common,
            "effective_documents": self.effective_documents,
            **_influence(self.influence),
        }


@dataclass(frozen=True, slots=True)
class SegmentScoreTable:
    """Segment scores behind a ranking, one row per system, document and position, sorted by these keys.

    system and document are codes of the labels in `systems` and `documents`. score: NaN where normalization left it
    missing. n: number of ratings.
    """

    systems: tuple[str, ...]
    documents: tuple[str, ...]
    system: Codes
    document: Codes
    position: Codes
    score: Floats
    raw: Floats
    n: Codes

    def __len__(self) -> int:
        return int(self.score.size)


@dataclass(frozen=True, slots=True)
class Ranking:
    """A ranking with everything needed to judge it.

    recipe: as resolved, so that running it again gives the same result. requested: as requested. smallest_p,
    smallest_p_adjusted: the smallest p that this design can reach; None if the test has no floor. documents_needed: if
    that floor is above α, how many documents would lower it enough. hypotheses: number of p-values adjusted together.
    population: what tests and intervals refer to. interval_kind: `marginal`, for new documents, at level
    `interval_level`; `relative_interval` is the other kind.
    """

    recipe: Recipe
    requested: Recipe
    higher_is_better: bool
    unit: str
    n_ratings: int
    hypotheses: int
    smallest_p: float | None
    smallest_p_adjusted: float | None
    documents_needed: int | None
    population: str
    interval_kind: str
    interval_level: float
    dropped: tuple[DroppedRowCount, ...]
    systems: tuple[SystemRow, ...]
    pairs: tuple[PairRow, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    segments: SegmentScoreTable

    def as_json(self) -> dict[str, object]:
        """Return the report without the campaign and its data version, which only storage knows."""
        return {
            "method_version": METHOD_VERSION,
            "recipe": {**self.recipe.as_json(), "hash": self.recipe.hash},
            "seed": self.recipe.seed,
            "higher_is_better": self.higher_is_better,
            "unit": self.unit,
            "n_ratings": self.n_ratings,
            "hypotheses": self.hypotheses,
            "smallest_p": self.smallest_p,
            "smallest_p_adjusted": self.smallest_p_adjusted,
            "documents_needed": self.documents_needed,
            "population": self.population,
            "interval_kind": self.interval_kind,
            "interval_level": self.interval_level,
            "dropped": [{"reason": d.reason, "n": d.n} for d in self.dropped],
            "systems": [row.as_json() for row in self.systems],
            "pairs": [row.as_json() for row in self.pairs],
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }


def _pair(values: tuple[float, float] | None) -> list[float] | None:
    return None if values is None else list(values)


def _influence(influence: PairInfluence | None) -> dict[str, object]:
    """Return `influence`: the unit of each kind that changes the difference most, and `flips_without`: WHAT:KEY."""
    if influence is None:
        return {"influence": None, "flips_without": None, "n_flips": None}
    largest = {c.what: {"key": c.key, "change": c.change} for c in influence.largest}
    return {"influence": largest, "flips_without": list(influence.flips_without), "n_flips": influence.n_flips}
