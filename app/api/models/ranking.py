"""A ranking as JSON: the shape of the stored report, with a worked example."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, JsonValue

from app.domain.recipe import NAMED
from app.stats.ranking.result import METHOD_VERSION

Two = Annotated[list[float], Field(min_length=2, max_length=2)]
TwoWhole = Annotated[list[int], Field(min_length=2, max_length=2)]


class Left(BaseModel):
    """Ratings left out."""

    reason: str
    n: int


class RankedSystemOut(BaseModel):
    """One ranked system."""

    system: str
    name: str = Field(description="Name as imported; if it could not be a key, the key is made from it.")
    kind: Literal["mt", "human"]
    rank: float = Field(description="Rank, from 1; systems with equal scores share the mean of their ranks.")
    cluster: int | None
    rank_range: TwoWhole | None = Field(description="[1 + losses, systems − wins].")
    rank_set: TwoWhole | None = Field(description="Rank set, simultaneous over all systems; null without `rank_sets`.")
    score: float = Field(description="Score by which the recipe ranks.")
    raw: float = Field(description="The score without normalization.")
    interval: Two | None = Field(description="Interval of the score, for new documents.")
    relative: float | None = Field(description="The system minus the mean of all, on the segments that all have.")
    relative_interval: Two | None
    n_segments: int
    n_documents: int | None = Field(description="Null if documents are unknown.")
    effective_documents: float | None = Field(
        None, description="Number of equally long documents with the same information; null if documents are unknown."
    )
    n_ratings: int
    wins: int
    losses: int


class PairOut(BaseModel):
    """One pair; every pair is listed once, the higher-ranked system as `better`."""

    better: str
    worse: str
    difference: float | None = Field(description="Positive if `better` is better.")
    interval: Two | None
    new_raters_interval: Two | None = Field(None, description="The same for new raters instead of only these.")
    new_domains_interval: Two | None = Field(None, description="The same if whole domains are sampled.")
    p_value: float | None = Field(description="Null if the pair could not be tested.")
    p_reverse: float | None = Field(description="p of the other direction of a one-sided test.")
    p_adjusted: float | None
    p_signed: float | None = Field(
        None, description="p of the same test with the sign of each stratum; null without strata."
    )
    significant: bool
    significant_reverse: bool
    testable: bool
    order_conflict: bool = Field(description="Whether `worse` is better on their common segments.")
    minimum_detectable: float | None
    raw_difference: float | None = Field(None, description="Difference in the protocol's unit, without normalization.")
    raw_interval: Two | None = None
    chance_better: float | None = Field(
        None, description="Probability that `better` is better on a random segment, by raw scores."
    )
    chance_tie: float | None = None
    chance_worse: float | None = None
    n_common: int
    documents_common: int | None
    effective_documents: float | None = Field(
        None, description="Effective number of documents behind the difference; at most `documents_common`."
    )
    influence: JsonValue = Field(
        None, description="By kind of unit, the unit without which the difference changes most."
    )
    flips_without: JsonValue = Field(
        description="Units, as `WHAT:KEY`, without which the order of the pair is reversed."
    )
    n_flips: int | None = Field(None, description="Number of such units.")


class AnalysisLockOut(BaseModel):
    """The lock of the campaign, as it stood at this data version."""

    hash: str = Field(description="Hash of the latest entry, which contains the hash of the previous one.")
    follows: bool = Field(description="This ranking uses the locked recipe.")
    amendments: int
    preregistered: bool = Field(description="The first entry was made before the first judgment.")


class RankingOut(BaseModel):
    """A ranking with everything needed to judge and to repeat it."""

    campaign: str
    data_version: int
    data_hash: str = Field(description="Hash of the ratings that were read.")
    protocol: str
    basis: str
    source_language: str | None
    target_language: str | None
    locked: AnalysisLockOut | None = Field(None, description="Null if nothing is locked.")
    method_version: str
    recipe: dict[str, JsonValue] = Field(description="Every choice as resolved, with name and hash.")
    seed: int
    higher_is_better: bool
    unit: str
    n_ratings: int
    hypotheses: int = Field(description="Size of the family for which p-values are adjusted.")
    smallest_p: float | None = Field(description="Smallest p that this design can reach.")
    smallest_p_adjusted: float | None
    documents_needed: int | None
    population: str
    interval_kind: str
    interval_level: float
    dropped: list[Left]
    systems: list[RankedSystemOut]
    pairs: list[PairOut]
    warnings: list[str]
    notes: list[str]


class RecipeOut(BaseModel):
    """A named recipe."""

    name: str
    checked_against: str = Field(description="Published figures it was checked against.")
    recipe: dict[str, JsonValue] = Field(description="Every choice; send it, changed or not, to `POST …/ranking`.")


GOOGLE = NAMED["google-mqm"]
RECIPE = {**GOOGLE.as_json(), "hash": GOOGLE.hash}
EXAMPLE = RankingOut.model_validate(
    {
        "campaign": "ted-ende",
        "data_version": 7,
        "data_hash": "sha256:" + "5e" * 32,
        "protocol": "mqm",
        "basis": "source",
        "source_language": "en",
        "target_language": "de",
        "method_version": METHOD_VERSION,
        "recipe": RECIPE,
        "seed": GOOGLE.seed,
        "higher_is_better": False,
        "unit": "raw",
        "n_ratings": 7406,
        "hypotheses": 1,
        "smallest_p": 0.0001,
        "smallest_p_adjusted": 0.0001,
        "documents_needed": None,
        "population": "documents=new, raters=these",
        "interval_kind": "marginal",
        "interval_level": 0.95,
        "dropped": [{"reason": "constant rater", "n": 0}],
        "systems": [
            {
                "system": "ref",
                "name": "ref",
                "kind": "human",
                "rank": 1,
                "cluster": 1,
                "rank_range": [1, 1],
                "rank_set": None,
                "score": 0.9115,
                "raw": 0.9115,
                "interval": [0.8, 1.03],
                "relative": -0.07,
                "relative_interval": [-0.2, 0.06],
                "n_segments": 529,
                "n_documents": 5,
                "effective_documents": 4.2,
                "n_ratings": 529,
                "wins": 1,
                "losses": 0,
            }
        ],
        "pairs": [
            {
                "better": "ref",
                "worse": "Facebook-AI",
                "difference": 0.1444,
                "interval": [-0.05, 0.34],
                "new_raters_interval": [-0.21, 0.5],
                "new_domains_interval": None,
                "p_value": 0.117,
                "p_reverse": 0.883,
                "p_adjusted": 0.117,
                "significant": False,
                "significant_reverse": False,
                "testable": True,
                "order_conflict": False,
                "minimum_detectable": 0.21,
                "n_common": 529,
                "documents_common": 5,
                "effective_documents": 4.2,
                "flips_without": ["document:talk3"],
                "n_flips": 1,
            }
        ],
        "warnings": ["5 documents: p-values of a document-level test cannot go below 0.0625"],
        "notes": [],
    }
)
