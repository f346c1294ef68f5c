"""Type I error and coverage of a recipe on a campaign's own design: its documents, lengths, raters and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, Literal

from pydantic import Field, TypeAdapter

from app.reports.inputs.recipe_input import RecipeAndSeedOptions, RecipeInput, load_recipe_input
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit import text_formatting
from app.reports.kit.charts.rates import plot_simulated_and_nominal_rates
from app.reports.kit.columns import NONE, Column, make_csv_rows_function, make_table_section
from app.reports.kit.report import Report, ReportComputation, ReportHeader, TableSection, make_undivided_computation
from app.stats.selection import select_rows_by_recipe
from app.stats.validation.recipe_validator import WORLDS, NominalRateCheck, RecipeValidator, World, check_nominal_rates
from app.stats.validation.studies import StudyPopulation
from app.storage.db import Session

TITLES: Mapping[World, str] = {
    "null": "No system is better",
    "resampled": "The campaign's own ratings as the truth",
    "clean": "Simulated scores, equal systems",
    "topics": "Systems that differ by topic but not on average",
    "rater_system": "Raters who prefer different systems",
    "skewed": "A system that fails on 5 % of documents but is equal on average",
    "weak_null": "Equal means, but skewed document effects for one system",
    "peeking": "Results checked four times during the campaign",
}
WHERE: Mapping[World, str] = {
    "clean": "if scores are normal and no system is better",
    "topics": "if systems differ by topic (standard deviation .4)",
    "rater_system": "if raters differ in their preference for systems (standard deviation .3), so for new raters",
    "skewed": "if a system fails on 5 % of its documents but is equal on average",
    "weak_null": "if means are equal but document effects are skewed for one system",
    "peeking": "if results are also checked after a quarter, a half and three quarters of the documents",
}
REMEDY: Mapping[World, str] = {
    "clean": "use another recipe",
    "topics": "judge more documents",
    "rater_system": "claim for these raters only, or add raters",
    "skewed": "judge more documents",
    "weak_null": "judge more documents",
    "peeking": "check the results only once",
}
"""What to do if a recipe misses its nominal rates in a world."""
AT_ONCE = 20
"""Number of studies per chunk of a small campaign."""
RATINGS_AT_ONCE = 20_000_000
"""Ratings ranked per chunk. A study of a large campaign takes minutes, and progress is counted in chunks."""
LEAST_AT_ONCE = 2
"""With fewer studies per chunk, the most studies of all worlds would be more chunks than a job may have."""
MOST_STUDIES = 5_000
TWO: tuple[World, ...] = ("null", "resampled")
ORIGIN = ("recipe", "recipe_hash", "studies", "seed")
_STUDIES: TypeAdapter[list[dict[str, float]]] = TypeAdapter(list[dict[str, float]])


class RecipeValidationOptions(RecipeAndSeedOptions):
    """The recipe to validate, and the number of studies."""

    studies: int = Field(200, ge=2, le=MOST_STUDIES, description="Simulated studies of each world.")
    worlds: bool = Field(
        default=False,
        description=(
            "Also worlds beyond the test's symmetry: topics, raters' preferences, rare failures, repeated looks."
        ),
    )


class RecipeValidationView(ReportHeader):
    """Type I error and coverage of a recipe on a campaign's own design."""

    recipe: str
    recipe_hash: str
    normalize: str
    test: str
    adjust: str
    alpha: float
    seed: int
    studies: int = Field(description="Number of studies in each world.")
    units: int
    unit: Literal["document", "segment"] = Field(description="Unit that studies draw.")
    exchanged: Literal["within", "between"] = Field(
        description="Whether systems are exchanged within units or between them."
    )
    systems: list[str]
    rates: list[NominalRateCheck]


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: RecipeValidationOptions
) -> ReportComputation[RecipeValidationView]:
    inputs = load_recipe_input(session, snapshots[0], options)
    # What the recipe excludes is not part of the tested design, but rows that are not ranked may count for moments.
    rows = select_rows_by_recipe(inputs.rows, inputs.recipe).ratings
    population = StudyPopulation.from_ratings(rows, inputs.documents)
    validation = RecipeValidator.from_ratings(population, replace(inputs.recipe, exclude=()), inputs.recipe.seed)
    if len(validation.truth.systems) < 2:
        return make_undivided_computation(
            partial(_result, inputs, validation, options.studies, {world: [] for world in TWO})
        )
    work = _Studies(validation, options.studies, _select_worlds(validation, options))
    return ReportComputation(work.n_chunks, work.run, partial(_finish, inputs, work))


def _select_worlds(validation: RecipeValidator, options: RecipeValidationOptions) -> tuple[World, ...]:
    """Return the worlds that are requested and apply, in their order."""
    applies = {*TWO, *(validation.own.applicable_simulated_worlds() if options.worlds else ())}
    return tuple(world for world in WORLDS if world in applies)


@dataclass(frozen=True, slots=True)
class _Studies:
    """The chunks: some studies of one world each, all of the first world before those of the next."""

    validation: RecipeValidator
    studies: int
    worlds: tuple[World, ...]

    @property
    def studies_per_chunk(self) -> int:
        """The number of studies in each chunk but the last of a world."""
        return min(AT_ONCE, max(LEAST_AT_ONCE, RATINGS_AT_ONCE // max(1, len(self.validation.population.rows))))

    @property
    def chunks_per_world(self) -> int:
        """The number of chunks per world."""
        return -(-self.studies // self.studies_per_chunk)

    @property
    def n_chunks(self) -> int:
        """The number of all chunks."""
        return self.chunks_per_world * len(self.worlds)

    def run(self, number: int) -> bytes:
        """Return the rates found in the studies of a chunk."""
        world, part = divmod(number, self.chunks_per_world)
        size = self.studies_per_chunk
        some = range(part * size, min((part + 1) * size, self.studies))
        return _STUDIES.dump_json([self.validation.simulate_study_findings(self.worlds[world], n) for n in some])


def _finish(inputs: RecipeInput, work: _Studies, parts: Sequence[bytes]) -> RecipeValidationView:
    studies, n = [study for part in parts for study in _STUDIES.validate_json(part)], work.studies
    by_world = {world: studies[i * n : (i + 1) * n] for i, world in enumerate(work.worlds)}
    return _result(inputs, work.validation, n, by_world)


def _result(
    inputs: RecipeInput,
    validation: RecipeValidator,
    studies: int,
    studies_by_world: Mapping[World, Sequence[Mapping[str, float]]],
) -> RecipeValidationView:
    recipe, population = validation.recipe, validation.population
    shares = check_nominal_rates(validation, studies_by_world)
    return RecipeValidationView(
        **inputs.report_header_fields(
            select_rows_by_recipe(inputs.rows, inputs.recipe).dropped, _warnings(validation, shares)
        ),
        recipe=inputs.recipe.name,
        recipe_hash=inputs.hash_requested_recipe(inputs.recipe),
        normalize=recipe.normalize,
        test=f"{recipe.test} by {recipe.unit}",
        adjust=recipe.adjust,
        alpha=recipe.alpha,
        seed=validation.seed,
        studies=studies,
        units=population.n_units,
        unit="document" if population.rows.documents_known else "segment",
        exchanged="within" if population.n_units and population.has_paired_units else "between",
        systems=[row.system for row in validation.truth.systems],
        rates=list(shares),
    )


def _warnings(validation: RecipeValidator, shares: Sequence[NominalRateCheck]) -> list[str]:
    systems = len(validation.truth.systems)
    if systems < 2:
        alone = ["only one system is ranked, so there is nothing to claim; rank at least two"]
        return alone if systems else list(validation.truth.warnings)
    warnings = []
    if not validation.population.rows.documents_known:
        warnings.append(
            "documents are unknown: studies draw segments, so they ignore dependence within documents; import "
            "the documents if there are any"
        )
    warnings += _broken(shares)
    open_rates = [rate.meaning for rate in shares if rate.rate is None]
    if open_rates:
        warnings.append(f"no study could be counted, so draw more studies, for: {'; '.join(dict.fromkeys(open_rates))}")
    return warnings


def _broken(shares: Sequence[NominalRateCheck]) -> list[str]:
    """Warn of missed rates: on the campaign's own scores, and in each further world."""
    own = [rate.meaning for rate in shares if rate.kept is False and rate.world in TWO]
    warnings = (
        [
            (
                "this recipe does not meet these nominal rates on this design; use another recipe or more documents: "
                f"{'; '.join(dict.fromkeys(own))}"
            )
        ]
        if own
        else []
    )
    for world in dict.fromkeys(rate.world for rate in shares if rate.world not in TWO):
        broken = [_broken_promise(rate) for rate in shares if rate.world == world and rate.kept is False]
        if broken:
            warnings.append(f"nominal rates are not met {WHERE[world]}; {REMEDY[world]}: {'; '.join(broken)}")
    return warnings


def _format_nominal_rate(rate: NominalRateCheck) -> str:
    return NONE if rate.expected is None else f"{rate.bound} {text_formatting.format_number(rate.expected, 3)}"


def _broken_promise(rate: NominalRateCheck) -> str:
    return f"{rate.meaning} {text_formatting.format_number(rate.rate, 3)}, nominally {_format_nominal_rate(rate)}"


def _bounds(rate: NominalRateCheck) -> str:
    if rate.low is None or rate.high is None:
        return NONE
    return f"{text_formatting.format_number(rate.low, 3)} to {text_formatting.format_number(rate.high, 3)}"


def _format_observed_rate(rate: NominalRateCheck) -> str:
    if rate.exact and rate.kept:
        return "by construction"
    return {None: NONE, True: "yes", False: "no"}[rate.kept]


COLUMNS: Sequence[Column[NominalRateCheck]] = (
    Column(key="world"),
    Column(key="what"),
    Column(heading="Share of", value=attrgetter("meaning")),
    Column(heading="Nominal", text=_format_nominal_rate),
    Column(key="expected"),
    Column(key="bound"),
    Column(heading="Simulated", key="rate", digits=3),
    Column(key="error"),
    Column(heading="Bounds", text=_bounds),
    Column(heading="Studies", key="n", digits=0),
    Column(heading="Met", key="kept", text=_format_observed_rate),
    Column(key="low"),
    Column(key="high"),
    Column(key="exact"),
)


def _by_world(result: RecipeValidationView) -> Mapping[str, Sequence[NominalRateCheck]]:
    """Return the rates of each world, by its title."""
    rates_of = {world: [rate for rate in result.rates if rate.world == world] for world in TITLES}
    return {TITLES[world]: rows for world, rows in rates_of.items() if rows}


def _tables(result: RecipeValidationView) -> Sequence[TableSection]:
    """Make one table per world."""
    return [make_table_section(title, COLUMNS, rows) for title, rows in _by_world(result).items()]


def _caption(result: RecipeValidationView) -> str:
    """Say what the figures are and which data they come from."""
    version = next(iter(result.campaigns.values()))
    place = "of each {} change places" if result.exchanged == "within" else "of whole {}s change hands"
    drawn = f"{result.units:,} {result.unit}s drawn from the campaign's with all their ratings"
    recipe = f"{result.recipe} (normalization {result.normalize}, {result.test}, adjustment {result.adjust}"
    return (
        f"{result.studies:,} simulated studies per table, each of {drawn}; if no system is better, the systems "
        f"{place.format(result.unit)} at random. Bounds are one-sided and exact, 99 % each: a nominal rate is not "
        f"met if a bound excludes it. Recipe {recipe}, level {result.alpha:g}), data version {version}, seed "
        f"{result.seed}, method {result.method_version}."
    )


def _chart(result: RecipeValidationView) -> bytes:
    """Draw every rate with its bounds, beside the nominal rate."""
    notes = [*map(text_formatting.make_sentence, result.warnings), _caption(result)]
    title = f"Error rates of recipe {result.recipe} on {', '.join(result.campaigns)}"
    return plot_simulated_and_nominal_rates(title, _by_world(result), notes)


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
REPORT: Report[RecipeValidationOptions, RecipeValidationView] = Report(
    name="validation",
    title="Type I error and coverage of the recipe",
    summary="Type I error and coverage of a recipe, simulated on the campaign's own documents and raters.",
    options=RecipeValidationOptions,
    result=RecipeValidationView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=_tables,
    csv=make_csv_rows_function(COLUMNS, lambda result: result.rates, ORIGIN),
    charts={"default": _chart},
    caption=_caption,
    long=True,
)
