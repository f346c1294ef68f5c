"""The choices that a multiverse crosses: those requested, as far as the campaign has them and they differ in effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, TypeVar, cast

import numpy as np
from pydantic import Field, StringConstraints

from app.domain.errors import Invalid, Place
from app.domain.recipe import ExclusionTarget, ScoringChoice
from app.domain.recipe_field_parsing import InvalidRecipeValue, parse_recipe_option
from app.reports.inputs.recipe_input import RecipeAndSeedOptions, RecipeInput
from app.reports.inputs.recipe_ratings import load_recipe_ratings
from app.reports.inputs.scores import resolve_score_definition
from app.stats.multiverse.branches import InapplicableUniverses, RatingsUnderOneScoring
from app.stats.multiverse.space import ADJUSTMENTS, NORMALIZATIONS, TESTS, ExclusionChoice, MultiverseSpace
from app.stats.ratings import Ratings
from app.stats.scoring import PROFILES
from app.stats.selection import select_rows_by_recipe
from app.storage.db import Session

NAMES = r"^[A-Za-z0-9_:,]{1,400}$"
LEFT_OUT = r"^((system|document):[A-Za-z0-9._~:@+\-]{1,128}(,(system|document):[A-Za-z0-9._~:@+\-]{1,128}){0,49})?$"
Names = Annotated[str, StringConstraints(pattern=NAMES)]
Value = TypeVar("Value")


class MultiverseOptions(RecipeAndSeedOptions):
    """The choices to cross, by default all. Everything else is as in the recipe."""

    scorings: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._~@+:,\-]{0,400}$")] = Field(
        "", description="Separated by commas, as in the option `scoring` of a ranking; default: all of the protocol's."
    )
    normalize: Names = Field(",".join(NORMALIZATIONS), description="Separated by commas.")
    tests: Names = Field(",".join(TESTS), description="TEST:UNIT, separated by commas.", examples=["rank_sum:segment"])
    adjust: Names = Field(",".join(ADJUSTMENTS), description="Separated by commas.")
    exclude: Annotated[str, StringConstraints(pattern=LEFT_OUT)] = Field(
        "", description="Additional exclusions to combine: WHAT:KEY, separated by commas, for systems and documents."
    )


def make_multiverse_space(inputs: RecipeInput, options: MultiverseOptions) -> MultiverseSpace:
    """Return the choices that are crossed, except for scorings. Raises Invalid for a choice that does not exist."""
    normalize = _parse_choices("normalize", options.normalize, {name: name for name in NORMALIZATIONS})
    tests = _parse_choices("tests", options.tests, TESTS)
    adjust = _parse_choices("adjust", options.adjust, {name: name for name in ADJUSTMENTS})
    return MultiverseSpace(inputs.recipe, tuple(_excluding(inputs, options.exclude)), normalize, tests, adjust)


def _parse_choices(field: str, text: str, known: Mapping[str, Value]) -> tuple[Value, ...]:
    names = list(dict.fromkeys(text.split(",")))
    if set(names) - set(known):
        raise _invalid_choice(field, f"there are: {', '.join(known)}")
    return tuple(known[name] for name in known if name in names)


def _excluding(inputs: RecipeInput, more: str) -> Iterator[ExclusionChoice]:
    """Yield the exclusions: those of the recipe, none, human systems too, and those requested in addition."""
    own = inputs.recipe.exclude
    ranked = set(inputs.rows.labels.systems)
    yield ExclusionChoice("as the recipe says", inputs.recipe.accepted_only, own)
    yield ExclusionChoice("nothing", accepted_only=False)
    humans = tuple(ExclusionTarget("system", key) for key in sorted(inputs.humans & ranked))
    if humans:
        yield ExclusionChoice("human systems too", inputs.recipe.accepted_only, tuple(sorted({*own, *humans})))
    if more:
        exclusions = parse_recipe_option("exclude", [more])
        yield ExclusionChoice(
            "as asked too", inputs.recipe.accepted_only, tuple(sorted({*own, *cast("Any", exclusions)}))
        )


def merge_equivalent_exclusions(
    space: MultiverseSpace, rows: Ratings
) -> tuple[MultiverseSpace, list[InapplicableUniverses]]:
    """Merge exclusions that leave the same rows; the others are reported but not counted."""
    by_rows: dict[bytes, ExclusionChoice] = {}
    same = []
    for exclusion in space.excluding:
        recipe = replace(space.base, accepted_only=exclusion.accepted_only, exclude=exclusion.exclude)
        selection = select_rows_by_recipe(rows, recipe)
        key = b"".join(a.tobytes() for a in (selection.ratings.judgment, selection.ratings.system, selection.ranked))
        first = by_rows.setdefault(key, exclusion)
        if first is not exclusion:
            n = space.universes_per_branch * len(space.normalize)
            same.append(
                InapplicableUniverses({"exclusion": exclusion.name}, n, f"leaves the same ratings as: {first.name}")
            )
    return replace(space, excluding=tuple(by_rows.values())), same


def load_ratings_by_distinct_scoring(
    session: Session, inputs: RecipeInput, options: MultiverseOptions, universes: int
) -> tuple[list[RatingsUnderOneScoring], list[InapplicableUniverses]]:
    """Load the ratings under each scoring that differs from those before it, and the reasons for omitting others.

    The recipe's own scoring comes first. universes: number of universes per scoring. Raises Invalid if no scoring can
    be computed.
    """
    known = any(inputs.documents.domain) and inputs.rows.documents_known
    domains = inputs.documents.domain_codes_and_labels()[0] if known else None
    scorings, missing = list[RatingsUnderOneScoring](), list[InapplicableUniverses]()
    for name, scoring in _scorings(inputs, options):
        try:
            rows = load_recipe_ratings(session, inputs.snapshot, replace(inputs.recipe, scoring=scoring))
        except Invalid as error:
            why = error.places[0].msg if error.places else error.title()
            missing.append(InapplicableUniverses({"scoring": name}, universes, why))
            continue
        same = next((one.name for one in scorings if np.array_equal(one.rows.score, rows.score)), None)
        if same is None:
            scorings.append(RatingsUnderOneScoring(name, rows, domains))
        else:
            missing.append(InapplicableUniverses({"scoring": name}, universes, f"gives the same scores as {same}"))
    if not scorings:
        raise _invalid_choice("scorings", "none of them can be read from these judgments")
    return scorings, missing


def _scorings(inputs: RecipeInput, options: MultiverseOptions) -> Iterator[tuple[str, ScoringChoice]]:
    if options.scorings:
        for name in dict.fromkeys(options.scorings.split(",")):
            try:
                yield name, cast("ScoringChoice", parse_recipe_option("scoring", [name]))
            except InvalidRecipeValue as error:
                raise _invalid_choice("scorings", str(error)) from None
        return
    own = inputs.recipe.scoring
    yield _name(own), own
    if own != ScoringChoice():
        yield "score", ScoringChoice()
    read = resolve_score_definition(inputs.snapshot.campaign, ScoringChoice())
    for measure in read.protocol.list_judgment_measures(read.options):
        if measure.uses_profile:
            yield from ((f"spans:{profile}", ScoringChoice("spans", profile)) for profile in PROFILES)
        elif measure.name != read.measure.name and measure.name != "score":
            yield f"criterion:{measure.name}", ScoringChoice("criterion", criterion=measure.name)


def _name(scoring: ScoringChoice) -> str:
    rest = scoring.criterion or scoring.profile
    return f"{scoring.source}:{rest}" if rest else scoring.source


def _invalid_choice(field: str, message: str) -> Invalid:
    return Invalid("the query is not valid", places=(Place(("query", field), message),))
