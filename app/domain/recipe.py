"""A recipe: every choice of an analysis as one frozen value, with a hash.

The named ones follow published practice (`decisions.md` §5 of the specification; sources in docs/statistics.md).
A recipe never changes by default: an option replaces one field, and the result carries the whole of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Literal, get_args

from app.domain.errors import Invalid, Place

DEFAULT_SEED = 20261120

Normalize = Literal["auto", "none", "mean", "center", "error", "error_rate", "z"]
Moments = Literal["ratings", "all"]
ConstantRaters = Literal["drop", "zero", "drop_z"]
Repeats = Literal["average", "pool", "latest", "first"]
Unit = Literal["document", "segment"]
Aggregate = Literal["mean"]
Test = Literal["permutation", "rank_sum", "rank_sum_legacy", "welch", "marot", "none"]
Alternative = Literal["two-sided", "greater"]
Adjust = Literal["none", "holm", "bh"]
ClusterRule = Literal["wmt21", "paper", "strict", "none"]
Subject = Literal["system", "rater", "document", "task"]
Source = Literal["score", "spans"]


@dataclass(frozen=True, slots=True, order=True)
class Exclusion:
    """One system, rater, document or task that an analysis leaves out."""

    what: Subject
    key: str


@dataclass(frozen=True, slots=True)
class Scoring:
    """Which number of a judgment is analysed.

    source: `score` as given or derived when it was recorded, `spans` from the marked errors.
    profile: weight profile for errors; None is the campaign's own.
    cap: largest penalty of one segment, None for no cap.
    """

    source: Source = "score"
    profile: str | None = None
    cap: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """All choices of a ranking.

    roles: which rows are ranked: rating, repeat, reference, degraded, calibration.
    accepted_only: leave out rows of tasks that quality control rejected.
    exclude: what the analysis leaves out altogether.
    normalize, moments, sd0, ddof: rater normalization, the rows behind a rater's moments, constant raters.
    repeats: `average` within a rater first, `pool` all ratings alike (WMT), `latest`, `first`.
    unit: what the test resamples or ranks.
    correction: continuity correction of the rank-sum test.
    matched_only: test only segments that both systems have; require_mean: a win also needs the better mean.
    permutations: number of sign draws, None for max(10 000, ⌈20·m/α⌉).
    plus_one: count the observed arrangement among the draws.
    alpha, inclusive: significant where p ≤ α (inclusive) or p < α.
    """

    name: str
    scoring: Scoring = field(default_factory=Scoring)
    roles: tuple[str, ...] = ("rating", "repeat")
    accepted_only: bool = True
    exclude: tuple[Exclusion, ...] = ()
    normalize: Normalize = "none"
    moments: Moments = "ratings"
    sd0: ConstantRaters = "drop"
    repeats: Repeats = "average"
    unit: Unit = "document"
    aggregate: Aggregate = "mean"
    test: Test = "permutation"
    alternative: Alternative = "two-sided"
    permutations: int | None = None
    plus_one: bool = True
    correction: bool = True
    matched_only: bool = False
    require_mean: bool = False
    adjust: Adjust = "none"
    alpha: float = 0.05
    inclusive: bool = False
    clusters: ClusterRule = "strict"
    seed: int = DEFAULT_SEED

    def as_json(self) -> dict[str, object]:
        """Plain JSON values, in declared order."""
        plain: dict[str, object] = asdict(self)
        plain["scoring"] = {"from": self.scoring.source, "profile": self.scoring.profile, "cap": self.scoring.cap}
        plain["roles"] = list(self.roles)
        plain["exclude"] = [f"{e.what}:{e.key}" for e in self.exclude]
        return plain

    @property
    def hash(self) -> str:
        """Digest of every choice but the name: equal recipes under two names are one analysis."""
        choices = {k: v for k, v in self.as_json().items() if k != "name"}
        text = json.dumps(choices, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


NAMED: Mapping[str, Recipe] = MappingProxyType(
    {
        r.name: r
        for r in (
            Recipe(
                name="wmt-da",
                normalize="z",
                moments="all",
                repeats="pool",
                unit="segment",
                test="rank_sum",
                alternative="greater",
                clusters="wmt21",
            ),
            Recipe(
                name="google-mqm",
                scoring=Scoring(source="spans"),
                unit="segment",
                test="marot",
                alternative="greater",
                permutations=10_000,
                clusters="strict",
            ),
            Recipe(name="recommended", normalize="auto", adjust="holm", inclusive=True),
        )
    }
)

CHECKED_AGAINST: Mapping[str, str] = MappingProxyType(
    {
        "wmt-da": "WMT21 wikipedia bn-hi and hi-bn (raw, z, N, p, clusters) and newstest2021 cs-en (raw, z, N, clusters)",
        "google-mqm": "MQM of TED 2021 en-de: all system means and segment averages; p-values as described, unchecked",
        "recommended": "worked examples of the document permutation, Holm and the intervals; no publication uses it whole",
    }
)
