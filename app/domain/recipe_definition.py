"""A recipe: every choice of an analysis as one frozen value with a hash; choices are declared only here.

A recipe never changes by default: an option replaces one field, and the result carries all choices.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType, NoneType
from typing import Annotated, Any, get_args, get_type_hints

from app.domain.recipe_choices import (
    FEWEST_PERMUTATIONS,
    LARGEST_SEED,
    MOST_PERMUTATIONS,
    Adjust,
    Aggregate,
    Alternative,
    Calibration,
    ClusterRule,
    ConstantRaters,
    ExclusionTarget,
    ImplausibleRaters,
    IntervalKind,
    Method,
    Moments,
    Normalize,
    Repeats,
    ScoringChoice,
    Test,
    Unit,
    ZeroMethod,
)

DEFAULT_SEED = 20261120


@dataclass(frozen=True, slots=True)
class RecipeChoiceDescription:
    """What a choice decides, in a sentence.

    value_format: the text form of its value, if the type does not determine it.
    """

    sentence: str
    value_format: str = ""


@dataclass(frozen=True, slots=True)
class NumberRange:
    """The minimum and maximum of a number."""

    least: float
    most: float


@dataclass(frozen=True, slots=True)
class RecipeChoice:
    """One choice of a recipe, from which its parsing, checks and descriptions are derived.

    type: a literal of all values, bool, int, float, or a specific type. nullable: the data may decide instead.
    """

    name: str
    type: Any
    nullable: bool
    wording: RecipeChoiceDescription
    limits: NumberRange | None

    @property
    def description(self) -> str:
        """What is decided, and its text form if the type does not determine it."""
        written = f" Write {self.wording.value_format}." if self.wording.value_format else ""
        return f"{self.wording.sentence}{written}"

    @property
    def allowed_values_text(self) -> str:
        """The values that can be written as text.

        >>> [CHOICES[name].allowed_values_text for name in ("unit", "permutations", "alpha")]
        ['document, segment', '100 to 1000000, auto', '0.000001 to 0.5']
        """
        if self.limits is not None:
            least, most = format_limit(self.limits.least), format_limit(self.limits.most)
            return f"{least} to {most}{', auto' if self.nullable else ''}"
        return self.wording.value_format or ", ".join(("true", "false") if self.type is bool else get_args(self.type))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """All choices of a ranking.

    standing: `app.stats` does not know the campaign's standing exclusions; services convert them to `exclude`.
    normalize: standard deviations have ddof = 1.
    moments: `ratings` with repeats, `all` rows of the file, `calibration` items.
    repeats: `average` within a rater first, `pool` all ratings equally (WMT), `latest`, `first`; `separate` treats
    every rating of a segment as a segment of its own (WMT25's waves).
    aggregate: `mean` over raters and segments, `median` over raters and mean over segments, `macro_domain` mean over
    raters, segments of a domain, domains.
    calibration: `raw`, none; calibration between language pairs needs several campaigns.
    permutations: None for max(10 000, ⌈20·m/α⌉).
    interval: `t` with linearized standard errors, `percentile` or `bca` of a bootstrap over documents.
    """

    name: str
    scoring: Annotated[
        ScoringChoice,
        RecipeChoiceDescription(
            "Which number of a judgment is analyzed.",
            "`score`, `spans`, `spans:PROFILE`, `spans:PROFILE:CAP` or `criterion:NAME`",
        ),
    ] = field(default_factory=ScoringChoice)
    roles: Annotated[
        tuple[str, ...],
        RecipeChoiceDescription(
            "Which ratings are ranked.", "one or more of `rating`, `repeat`, `reference`, `degraded`, `calibration`"
        ),
    ] = ("rating", "repeat")
    accepted_only: Annotated[bool, RecipeChoiceDescription("Leave out what quality control rejected.")] = True
    exclude: Annotated[
        tuple[ExclusionTarget, ...],
        RecipeChoiceDescription(
            "What to leave out entirely.", "one or more of `system:KEY`, `rater:KEY`, `document:KEY`, `task:KEY`"
        ),
    ] = ()
    standing: Annotated[bool, RecipeChoiceDescription("Apply the exclusions in force in the campaign.")] = False
    normalize: Annotated[Normalize, RecipeChoiceDescription("How the scores of raters are put on one scale.")] = "none"
    moments: Annotated[Moments, RecipeChoiceDescription("Which rows a rater's mean and deviation come from.")] = (
        "ratings"
    )
    sd0: Annotated[ConstantRaters, RecipeChoiceDescription("What happens to raters whose scores do not vary.")] = "drop"
    implausible_raters: Annotated[
        ImplausibleRaters,
        RecipeChoiceDescription(
            "What happens to raters whose differences between outputs are far from those of all raters."
        ),
    ] = "keep"
    repeats: Annotated[Repeats, RecipeChoiceDescription("How several ratings of a segment are combined.")] = "average"
    unit: Annotated[Unit, RecipeChoiceDescription("What the test resamples or ranks.")] = "document"
    aggregate: Annotated[Aggregate, RecipeChoiceDescription("How segment scores become a system's score.")] = "mean"
    calibration: Annotated[Calibration, RecipeChoiceDescription("Shift between language pairs.")] = "raw"
    test: Annotated[Test, RecipeChoiceDescription("How two systems are compared.")] = "permutation"
    alternative: Annotated[Alternative, RecipeChoiceDescription("Whether the test has one side or two.")] = "two-sided"
    permutations: Annotated[
        int | None,
        RecipeChoiceDescription("Number of sign draws; auto (null in JSON) chooses it from the data."),
        NumberRange(FEWEST_PERMUTATIONS, MOST_PERMUTATIONS),
    ] = None
    plus_one: Annotated[bool, RecipeChoiceDescription("Count the observed arrangement among the draws.")] = True
    correction: Annotated[
        bool, RecipeChoiceDescription("Continuity correction of the rank-sum and signed-rank tests.")
    ] = True
    zero_method: Annotated[ZeroMethod, RecipeChoiceDescription("Zero differences in the signed-rank test.")] = "wilcox"
    method: Annotated[Method, RecipeChoiceDescription("Distribution of the signed-rank test.")] = "auto"
    matched_only: Annotated[bool, RecipeChoiceDescription("Test only segments that both systems have.")] = False
    require_mean: Annotated[bool, RecipeChoiceDescription("A win also needs the better mean.")] = False
    adjust: Annotated[Adjust, RecipeChoiceDescription("Adjustment for the number of pairs.")] = "none"
    alpha: Annotated[float, RecipeChoiceDescription("Level of significance."), NumberRange(1e-6, 0.5)] = 0.05
    inclusive: Annotated[bool, RecipeChoiceDescription("Significant at p ≤ alpha; if false, at p < alpha.")] = False
    clusters: Annotated[ClusterRule, RecipeChoiceDescription("How systems are divided into clusters.")] = "strict"
    interval: Annotated[
        IntervalKind, RecipeChoiceDescription("How intervals are computed; bca needs 20 documents.")
    ] = "t"
    rank_sets: Annotated[bool, RecipeChoiceDescription("Simultaneous rank sets of all systems.")] = False
    influence: Annotated[bool, RecipeChoiceDescription("How pairs change without one rater, document or domain.")] = (
        True
    )
    seed: Annotated[int, RecipeChoiceDescription("Seed of all random draws."), NumberRange(0, LARGEST_SEED)] = (
        DEFAULT_SEED
    )
    fallback: Annotated[bool, RecipeChoiceDescription("Use the test that the data support instead of refusing.")] = (
        False
    )

    def as_json(self) -> dict[str, object]:
        """Return plain JSON values, in declared order."""
        plain: dict[str, object] = asdict(self)
        scoring = {"from": self.scoring.source, "profile": self.scoring.profile, "cap": self.scoring.cap}
        plain["scoring"] = (
            scoring if self.scoring.criterion is None else {**scoring, "criterion": self.scoring.criterion}
        )
        plain["roles"] = list(self.roles)
        plain["exclude"] = [f"{e.what}:{e.key}" for e in self.exclude]
        return plain

    @property
    def hash(self) -> str:
        """The digest of every choice except the name: equal recipes with two names are one analysis.

        A choice introduced later counts only if it is made, so that existing recipes keep their digests.
        """
        plain = self.as_json()
        choices = {k: v for k, v in plain.items() if k != "name" and (k, v) != ("implausible_raters", "keep")}
        text = json.dumps(choices, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def format_limit(value: float) -> str:
    """Format a limit as text.

    >>> format_limit(1e-6), format_limit(0.5), format_limit(100)
    ('0.000001', '0.5', '100')
    """
    return str(value) if isinstance(value, int) else f"{value:.6f}".rstrip("0")


def _choice(name: str, annotation: Any) -> RecipeChoice:
    declared, *about = get_args(annotation)
    nullable = NoneType in get_args(declared)
    [wording] = (one for one in about if isinstance(one, RecipeChoiceDescription))
    limits = next((one for one in about if isinstance(one, NumberRange)), None)
    return RecipeChoice(name, get_args(declared)[0] if nullable else declared, nullable, wording, limits)


CHOICES: Mapping[str, RecipeChoice] = MappingProxyType(
    {
        name: _choice(name, annotation)
        for name, annotation in get_type_hints(Recipe, include_extras=True).items()
        if name != "name"
    }
)
"""Every choice by name, in declared order."""
DEFAULTS: Mapping[str, object] = MappingProxyType(Recipe(name="defaults").as_json())
"""The default value of each choice, as plain JSON."""
