"""Type I error and coverage of a recipe on a campaign's own design: its documents, lengths, raters and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from pydantic import Field, TypeAdapter

from app.reports.kit import captions
from app.reports.kit.report import Report, Work, whole
from app.reports.source.recipe_input import RecipeInput, RecipeOptions, recipe_input
from app.reports.source.snapshot import Snapshot
from app.services.kinds._validation_view import (
    IF_WORLD,
    KeptRateView,
    ValidationView,
    caption,
    csv,
    picture,
    tables,
)
from app.stats.selection import select
from app.stats.validation.rates import WORLDS, Validation, World, rates
from app.stats.validation.studies import Population
from app.storage.db import Session

AT_ONCE = 20
"""Studies of one chunk."""
MOST_STUDIES = 5_000
TWO: tuple[World, ...] = ("null", "resampled")
_STUDIES: TypeAdapter[list[dict[str, float]]] = TypeAdapter(list[dict[str, float]])


class ValidationAsked(RecipeOptions):
    """Which recipe is tried, on how many studies."""

    studies: int = Field(200, ge=2, le=MOST_STUDIES, description="Simulated studies of each world.")
    worlds: bool = Field(
        default=False,
        description="Also worlds beyond the test's symmetry: topics, raters' tastes, rare failures, repeated looks.",
    )


def _prepare(session: Session, about: tuple[Snapshot, ...], asked: ValidationAsked) -> Work[ValidationView]:
    given = recipe_input(session, about[0], asked)
    # What the recipe leaves out is no part of the design that is tried; rows that are not ranked may count in moments.
    rows = select(given.rows, given.recipe).ratings
    population = Population.of(rows, given.documents)
    validation = Validation.of(population, replace(given.recipe, exclude=()), given.recipe.seed)
    if len(validation.truth.systems) < 2:
        return whole(partial(_view, given, validation, asked.studies, {world: [] for world in TWO}))
    work = _Studies(validation, asked.studies, _worlds(validation, asked))
    return Work(work.n_chunks, work.run, partial(_finish, given, work))


def _worlds(validation: Validation, asked: ValidationAsked) -> tuple[World, ...]:
    """Those that are asked for and apply, in their order."""
    applies = {*TWO, *(validation.own.worlds() if asked.worlds else ())}
    return tuple(world for world in WORLDS if world in applies)


@dataclass(frozen=True, slots=True)
class _Studies:
    """The chunks: some studies of one world each, all of the first world before those of the next."""

    validation: Validation
    studies: int
    worlds: tuple[World, ...]

    @property
    def of_world(self) -> int:
        """Chunks of one world."""
        return -(-self.studies // AT_ONCE)

    @property
    def n_chunks(self) -> int:
        """All of them."""
        return self.of_world * len(self.worlds)

    def run(self, number: int) -> bytes:
        """What the studies of a chunk find."""
        world, part = divmod(number, self.of_world)
        some = range(part * AT_ONCE, min((part + 1) * AT_ONCE, self.studies))
        return _STUDIES.dump_json([self.validation.study(self.worlds[world], n) for n in some])


def _finish(given: RecipeInput, work: _Studies, parts: Sequence[bytes]) -> ValidationView:
    found, n = [one for part in parts for one in _STUDIES.validate_json(part)], work.studies
    by_world = {world: found[i * n : (i + 1) * n] for i, world in enumerate(work.worlds)}
    return _view(given, work.validation, n, by_world)


def _view(
    given: RecipeInput,
    validation: Validation,
    studies: int,
    found: Mapping[World, Sequence[Mapping[str, float]]],
) -> ValidationView:
    recipe, population = validation.recipe, validation.population
    shown = [KeptRateView.of(rate) for rate in rates(validation, found)]
    return ValidationView(
        campaigns=given.campaigns,
        data_hash=given.data_hash,
        basis=given.about.campaign.basis,
        dropped=[asdict(one) for one in select(given.rows, given.recipe).dropped],
        warnings=_warnings(validation, shown),
        recipe=given.recipe.name,
        recipe_hash=given.hash_of(given.recipe),
        normalize=recipe.normalize,
        test=f"{recipe.test} by {recipe.unit}",
        adjust=recipe.adjust,
        alpha=recipe.alpha,
        seed=validation.seed,
        studies=studies,
        units=population.units,
        unit="document" if population.rows.documents_known else "segment",
        exchanged="within" if population.units and population.together else "between",
        systems=[row.system for row in validation.truth.systems],
        rates=shown,
    )


def _warnings(validation: Validation, shown: Sequence[KeptRateView]) -> list[str]:
    systems = len(validation.truth.systems)
    if systems < 2:
        alone = ["only one system is ranked: there is nothing to claim"]
        return alone if systems else list(validation.truth.warnings)
    told = []
    if not validation.population.rows.documents_known:
        told.append("documents are unknown: studies draw segments, so dependence within documents is not seen")
    told += _broken(shown)
    open_ones = [rate.meaning for rate in shown if rate.rate is None]
    if open_ones:
        told.append(f"nothing can be said of: {'; '.join(dict.fromkeys(open_ones))}")
    return told


def _broken(shown: Sequence[KeptRateView]) -> list[str]:
    """What is not kept: on the campaign's own scores, and in each world beyond them."""
    own = [rate.meaning for rate in shown if rate.kept is False and rate.world in TWO]
    told = [f"promises that this recipe does not keep on this design: {'; '.join(dict.fromkeys(own))}"] if own else []
    for world in dict.fromkeys(rate.world for rate in shown if rate.world not in TWO):
        what = [
            f"{rate.meaning} {captions.number(rate.rate, 3)}, {rate.bound} {captions.number(rate.expected, 3)} promised"
            for rate in shown
            if rate.world == world and rate.kept is False
        ]
        if what:
            told.append(f"not kept {IF_WORLD[world]}: {'; '.join(what)}")
    return told


EXAMPLE: dict[str, Any] = {
    "campaigns": {"ende": 2},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "recipe": "recommended",
    "recipe_hash": "sha256:" + "5e" * 32,
    "normalize": "z",
    "test": "permutation by document",
    "adjust": "holm",
    "alpha": 0.05,
    "seed": 20261120,
    "studies": 200,
    "units": 30,
    "unit": "document",
    "exchanged": "within",
    "systems": ["new", "old"],
    "rates": [
        {
            "world": "null",
            "what": "any_claim",
            "meaning": "studies with any claim",
            "expected": 0.05,
            "bound": "at most",
            "rate": 0.045,
            "error": 0.015,
            "n": 200,
            "kept": True,
            "low": 0.0183,
            "high": 0.0893,
            "exact": True,
        }
    ],
}
REPORT: Report[ValidationAsked, ValidationView] = Report(
    name="validation",
    title="What the recipe promises, and keeps",
    summary="Type I error and coverage of a recipe by simulation on the campaign's own documents and raters.",
    options=ValidationAsked,
    result=ValidationView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=tables,
    csv=csv,
    charts={"default": picture},
    caption=caption,
    long=True,
)
