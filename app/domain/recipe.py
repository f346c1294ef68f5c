"""A recipe: every choice of an analysis as one frozen value, with a hash.

The named ones follow published practice (`decisions.md` §5 of the specification; sources in docs/statistics.md).
A recipe never changes by default: an option replaces one field, and the result carries the whole of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from types import MappingProxyType

from app.domain.errors import Invalid, Place
from app.domain.keys import is_key
from app.domain.recipe_choices import (
    Adjust,
    Aggregate,
    Alternative,
    ClusterRule,
    ConstantRaters,
    Exclusion,
    Method,
    Moments,
    Normalize,
    Repeats,
    Scoring,
    Source,
    Subject,
    Test,
    Unit,
    WrongValue,
    ZeroMethod,
    parse_field,
    parse_option,
)

__all__ = [
    "CHECKED_AGAINST",
    "DEFAULT_SEED",
    "NAMED",
    "Adjust",
    "Aggregate",
    "Alternative",
    "ClusterRule",
    "ConstantRaters",
    "Exclusion",
    "Method",
    "Moments",
    "Normalize",
    "Recipe",
    "Repeats",
    "Scoring",
    "Source",
    "Subject",
    "Test",
    "Unit",
    "ZeroMethod",
    "from_json",
    "from_options",
]

DEFAULT_SEED = 20261120


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """All choices of a ranking.

    roles: which rows are ranked: rating, repeat, reference, degraded, calibration.
    accepted_only: leave out rows of tasks that quality control rejected.
    exclude: what the analysis leaves out altogether.
    normalize, moments, sd0: rater normalization (standard deviations with ddof = 1), the rows behind a rater's moments,
    constant raters.
    repeats: `average` within a rater first, `pool` all ratings alike (WMT), `latest`, `first`.
    unit: what the test resamples or ranks.
    correction: continuity correction of the rank-sum and signed-rank tests.
    zero_method, method: zero differences and distribution of the signed-rank test.
    matched_only: test only segments that both systems have; require_mean: a win also needs the better mean.
    permutations: number of sign draws, None for max(10 000, ⌈20·m/α⌉).
    plus_one: count the observed arrangement among the draws.
    alpha, inclusive: significant where p ≤ α (inclusive) or p < α.
    fallback: where the data cannot support the test, use the one that they can and say so, instead of refusing.
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
    zero_method: ZeroMethod = "wilcox"
    method: Method = "auto"
    matched_only: bool = False
    require_mean: bool = False
    adjust: Adjust = "none"
    alpha: float = 0.05
    inclusive: bool = False
    clusters: ClusterRule = "strict"
    seed: int = DEFAULT_SEED
    fallback: bool = False

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
            Recipe(name="recommended", normalize="auto", adjust="holm", inclusive=True, fallback=True),
        )
    }
)

CHECKED_AGAINST: Mapping[str, str] = MappingProxyType(
    {
        "wmt-da": "WMT21 wikipedia bn-hi, hi-bn (raw, z, N, p, clusters) and newstest2021 cs-en (raw, z, N, clusters)",
        "google-mqm": "MQM of TED 2021 en-de: all system means and segment averages; p-values as described, unchecked",
        "recommended": "worked examples of document permutation, Holm and intervals; no publication uses it whole",
    }
)

RANK_SUM_TESTS = frozenset({"rank_sum", "rank_sum_legacy"})
SIGNED_RANK_TESTS = frozenset({"signed_rank"})

_DEFAULTS: Mapping[str, object] = MappingProxyType(
    {field.name: field.default for field in fields(Recipe) if field.default is not MISSING}
)
_NOT_CHOICES = frozenset({"recipe", "as_of"})


def from_options(base: Recipe, options: Mapping[str, Sequence[str]]) -> Recipe:
    """`base` with the fields that query options replace; a changed recipe says so in its name.

    Each option has its values as a list; only `exclude` and `roles` take several (or one with commas). Options that
    name the base or the data version (`recipe`, `as_of`) are the caller's and pass. Naming a test asks for that test:
    no other is used in its place.

    Raises
    ------
    Invalid : an unknown name, an impossible value or an impossible combination, all of them with their places.
    """
    values: dict[str, object] = {}
    wrong: list[Place] = []
    for name, given in options.items():
        if name in _NOT_CHOICES:
            continue
        try:
            values[name] = parse_option(name, given)
        except WrongValue as error:
            wrong.append(Place(("query", _shown(name)), str(error)))
    if wrong:
        raise _invalid(wrong)
    _imply(base, values)
    return _checked(_renamed(base, _with(base, values)), "query", values)


def from_json(given: Mapping[str, object]) -> Recipe:
    """A recipe from plain JSON values, strictly; what is left out is as in the recipe of that name, or `recommended`.

    `from_json(recipe.as_json())` is `recipe`. A `hash` may stand beside the choices and must then be theirs.

    Raises
    ------
    Invalid : as `from_options`, with places in the body.
    """
    values: dict[str, object] = {}
    wrong: list[Place] = []
    for name, value in given.items():
        if name in {"name", "hash"}:
            continue
        try:
            values[name] = parse_field(name, value)
        except WrongValue as error:
            wrong.append(Place(("body", _shown(name)), str(error)))
    called = given.get("name", "custom")
    if not isinstance(called, str) or not is_key(called):
        wrong.append(Place(("body", "name"), "must be 1 to 128 of A–Z a–z 0–9 . _ ~ : @ + -"))
    if wrong:
        raise _invalid(wrong)
    base = NAMED.get(str(called), NAMED["recommended"])
    _imply(base, values)
    recipe = _with(base, values)
    recipe = _renamed(base, recipe) if called in NAMED else replace(recipe, name=str(called))
    if given.get("hash", recipe.hash) != recipe.hash:
        raise _invalid([Place(("body", "hash"), f"is not the hash of these choices, which is {recipe.hash}")])
    return _checked(recipe, "body", values)


def _with(base: Recipe, values: Mapping[str, object]) -> Recipe:
    return replace(base, **values)  # type: ignore[arg-type]  # every value was made by the parser of its field


def _renamed(base: Recipe, recipe: Recipe) -> Recipe:
    """A named recipe with other choices is not that recipe: its name lists what was changed."""
    before, after = base.as_json(), recipe.as_json()
    changed = [name for name in after if after[name] != before[name] and name != "fallback"]
    return replace(recipe, name="+".join([base.name, *changed])[:128]) if changed else recipe


def _imply(base: Recipe, values: dict[str, object]) -> None:
    """What naming a test says besides: no other test in its place, and no choice that belonged to the earlier one."""
    if "test" not in values:
        return
    values.setdefault("fallback", False)
    if values["test"] == base.test:
        return
    # The signed-rank test has no continuity correction unless asked, as in SciPy; the rank-sum test has.
    values.setdefault("correction", values["test"] not in SIGNED_RANK_TESTS)
    if values["test"] not in SIGNED_RANK_TESTS:
        values.update({name: values.get(name, _DEFAULTS[name]) for name in ("zero_method", "method")})
    if values["test"] not in RANK_SUM_TESTS:
        values.setdefault("matched_only", False)


def _checked(recipe: Recipe, where: str, given: Mapping[str, object]) -> Recipe:
    """Refuse combinations that no test has; the place is the option that was given, else the test."""
    wrong = [
        Place((where, name if name in given else "test"), f"{name}: {message}")
        for name, broken, message in _contradictions(recipe, given)
        if broken
    ]
    if wrong:
        raise _invalid(wrong)
    return recipe


def _contradictions(recipe: Recipe, given: Mapping[str, object]) -> Iterator[tuple[str, bool, str]]:
    one_sided, segments = recipe.alternative == "greater", recipe.unit == "segment"
    ranks, signed = recipe.test in RANK_SUM_TESTS, recipe.test in SIGNED_RANK_TESTS
    yield "alternative", recipe.test == "marot" and not one_sided, "marot is one-sided: use greater"
    yield "unit", recipe.test == "marot" and not segments, "marot randomizes segments: use segment"
    half = "rank_sum_legacy is half the two-sided p in the ranking's direction: use greater"
    yield "alternative", recipe.test == "rank_sum_legacy" and not one_sided, half
    paired = "is for rank_sum and rank_sum_legacy; paired tests use common segments anyway"
    yield "matched_only", recipe.matched_only and not ranks, paired
    uncorrected = "correction" in given and not recipe.correction and not (ranks or signed)
    yield "correction", uncorrected, "is for the rank-sum and signed-rank tests"
    for name in ("zero_method", "method"):
        yield name, getattr(recipe, name) != _DEFAULTS[name] and not signed, "is for the signed-rank test"


def _invalid(wrong: Sequence[Place]) -> Invalid:
    return Invalid("; ".join(f"{place.loc[-1]}: {place.msg}" for place in wrong), places=tuple(wrong))


def _shown(name: str) -> str:
    """A field name that may be repeated in an error: what was sent could be anything."""
    return name if is_key(name) else "(name)"
