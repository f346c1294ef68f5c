"""Parses recipes from query options and from JSON: strictly, reporting faults with name and place.

The value and its choices are in `recipe_definition`, the named ones in `published_recipes`; all can be imported from
here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from app.domain.errors import Invalid, Place
from app.domain.keys import is_key
from app.domain.published_recipes import CHECKED_AGAINST, NAMED
from app.domain.recipe_choices import (
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
    Source,
    Subject,
    Test,
    Unit,
    ZeroMethod,
)
from app.domain.recipe_definition import CHOICES, DEFAULT_SEED, DEFAULTS, Recipe
from app.domain.recipe_field_parsing import InvalidRecipeValue, parse_recipe_field, parse_recipe_option

__all__ = [
    "CHECKED_AGAINST",
    "CHOICES",
    "DEFAULTS",
    "DEFAULT_SEED",
    "NAMED",
    "Adjust",
    "Aggregate",
    "Alternative",
    "Calibration",
    "ClusterRule",
    "ConstantRaters",
    "ExclusionTarget",
    "ImplausibleRaters",
    "IntervalKind",
    "Method",
    "Moments",
    "Normalize",
    "Recipe",
    "Repeats",
    "ScoringChoice",
    "Source",
    "Subject",
    "Test",
    "Unit",
    "ZeroMethod",
    "apply_query_options_to_recipe",
    "parse_recipe_json",
]

RANK_SUM_TESTS = frozenset({"rank_sum", "rank_sum_legacy"})
STRATIFIED_TESTS = frozenset({"stouffer", "stouffer_signed"})
SIGNED_RANK_TESTS = STRATIFIED_TESTS | {"signed_rank"}

_NOT_CHOICES = frozenset({"recipe", "as_of"})


def apply_query_options_to_recipe(base: Recipe, options: Mapping[str, Sequence[str]]) -> Recipe:
    """Return `base` with the fields that query options replace; the name of a changed recipe lists the changes.

    Each option has a list of values; only `exclude` and `roles` accept several (or one with commas). Options that name
    the base or the data version (`recipe`, `as_of`) are left to the caller. Naming a test selects exactly that test,
    without a fallback to another.

    Raises
    ------
    Invalid : an unknown name, an impossible value or an impossible combination, all of them with their places.
    """
    values: dict[str, object] = {}
    wrong: list[Place] = []
    for name, option in options.items():
        if name in _NOT_CHOICES:
            continue
        try:
            values[name] = parse_recipe_option(name, option)
        except InvalidRecipeValue as error:
            wrong.append(Place(("query", _printable_name(name)), str(error)))
    if wrong:
        raise _invalid(wrong)
    _imply(base, values)
    return _check_combinations(_name_after_changes(base, _replace_choices(base, values)), "query", values)


def parse_recipe_json(body: Mapping[str, object], named_recipes: Mapping[str, Recipe] = NAMED) -> Recipe:
    """Parse a recipe strictly from plain JSON values; missing choices come from the named recipe, or `recommended`.

    named_recipes: those that a name can refer to.

    `parse_recipe_json(recipe.as_json())` is `recipe`. A `hash` may be given with the choices and must then match them.

    Raises
    ------
    Invalid : like `apply_query_options_to_recipe`, with places in the body.
    """
    values: dict[str, object] = {}
    wrong: list[Place] = []
    for name, value in body.items():
        if name in {"name", "hash"}:
            continue
        try:
            values[name] = parse_recipe_field(name, value)
        except InvalidRecipeValue as error:
            wrong.append(Place(("body", _printable_name(name)), str(error)))
    called = body.get("name", "custom")
    if not isinstance(called, str) or not is_key(called):
        wrong.append(Place(("body", "name"), "must be 1 to 128 of A–Z a–z 0–9 . _ ~ : @ + -"))
    if wrong:
        raise _invalid(wrong)
    base = named_recipes.get(str(called), NAMED["recommended"])
    _imply(base, values)
    recipe = _replace_choices(base, values)
    recipe = _name_after_changes(base, recipe) if called in named_recipes else replace(recipe, name=str(called))
    if body.get("hash", recipe.hash) != recipe.hash:
        raise _invalid([Place(("body", "hash"), f"is not the hash of these choices, which is {recipe.hash}")])
    return _check_combinations(recipe, "body", values)


def _replace_choices(base: Recipe, values: Mapping[str, object]) -> Recipe:
    return replace(base, **values)  # type: ignore[arg-type]  # every value was made by the parser of its field


def _name_after_changes(base: Recipe, recipe: Recipe) -> Recipe:
    """Rename a named recipe with other choices, because it is not that recipe: its name lists the changes."""
    before, after = base.as_json(), recipe.as_json()
    changed = [name for name in after if after[name] != before[name] and name != "fallback"]
    return replace(recipe, name="+".join([base.name, *changed])[:128]) if changed else recipe


def _imply(base: Recipe, values: dict[str, object]) -> None:
    """Set what naming a test implies: no fallback to another test, and no choices that belong to the earlier test."""
    if "test" not in values:
        return
    values.setdefault("fallback", False)
    if values["test"] == base.test:
        return
    # The signed-rank test has no continuity correction by default, as in SciPy; the rank-sum test has one.
    values.setdefault("correction", values["test"] not in SIGNED_RANK_TESTS)
    if values["test"] not in SIGNED_RANK_TESTS:
        values.update({name: values.get(name, DEFAULTS[name]) for name in ("zero_method", "method")})
    if values["test"] not in RANK_SUM_TESTS:
        values.setdefault("matched_only", False)


def _check_combinations(recipe: Recipe, where: str, options: Mapping[str, object]) -> Recipe:
    """Reject combinations that no test supports; the place is the option that was given, else the test."""
    wrong = [
        Place((where, name if name in options else "test"), f"{name}: {message}")
        for name, broken, message in _contradictions(recipe, options)
        if broken
    ]
    if wrong:
        raise _invalid(wrong)
    return recipe


def _contradictions(recipe: Recipe, options: Mapping[str, object]) -> Iterator[tuple[str, bool, str]]:
    one_sided, segments = recipe.alternative == "greater", recipe.unit == "segment"
    ranks, signed = recipe.test in RANK_SUM_TESTS, recipe.test in SIGNED_RANK_TESTS
    yield "alternative", recipe.test == "marot" and not one_sided, "marot is one-sided: use greater"
    yield "unit", recipe.test == "marot" and not segments, "marot randomizes segments: use segment"
    yield "alternative", recipe.test in STRATIFIED_TESTS and one_sided, f"{recipe.test} is two-sided: use two-sided"
    yield "unit", recipe.test in STRATIFIED_TESTS and not segments, f"{recipe.test} ranks segments: use segment"
    bca = "wmt26_bootstrap is one-sided: use greater"
    yield "alternative", recipe.test == "wmt26_bootstrap" and not one_sided, bca
    half = "rank_sum_legacy is half the two-sided p in the ranking's direction: use greater"
    yield "alternative", recipe.test == "rank_sum_legacy" and not one_sided, half
    joint = recipe.adjust == "maxT" and (recipe.test != "permutation" or one_sided)
    yield "adjust", joint, "maxT is for the two-sided permutation test"
    paired = "is for rank_sum and rank_sum_legacy; paired tests use common segments anyway"
    yield "matched_only", recipe.matched_only and not ranks, paired
    uncorrected = "correction" in options and not recipe.correction and not (ranks or signed)
    yield "correction", uncorrected, "is for the rank-sum and signed-rank tests"
    for name in ("zero_method", "method"):
        yield name, getattr(recipe, name) != DEFAULTS[name] and not signed, "is for the signed-rank test"


def _invalid(wrong: Sequence[Place]) -> Invalid:
    return Invalid("; ".join(f"{place.loc[-1]}: {place.msg}" for place in wrong), places=tuple(wrong))


def _printable_name(name: str) -> str:
    """Return a field name that is safe to repeat in an error, because the input could be anything."""
    return name if is_key(name) else "(name)"
