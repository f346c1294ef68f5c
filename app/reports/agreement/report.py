"""Rater agreement on segments, documents and document means, per pair of raters, within raters, and on error spans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, StringConstraints

from app.reports.agreement import computation
from app.reports.agreement.charts import plot_coefficients_by_level, plot_rater_pair_heat_map
from app.reports.agreement.coefficients import (
    CoefficientSettings,
    LevelAgreementInput,
    categorize_units,
    make_level_agreement_input,
)
from app.reports.agreement.spans import split_marked_judgments_by_side
from app.reports.agreement.tables import make_caption, make_csv_rows, make_tables
from app.reports.agreement.view import AgreementView, pseudonymize_raters
from app.reports.inputs.raw_ratings import (
    BootstrapOptions,
    RawRatings,
    RawRatingsOptions,
    find_spans_field,
    load_marked_errors,
    load_raw_ratings,
)
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import Report, ReportComputation
from app.stats.agreement.score_distributions import select_raters_of_every_unit
from app.stats.agreement.units import (
    LEVELS,
    Level,
    OfDocuments,
    ValuesByUnit,
    make_document_units,
    make_document_units_from_segments,
    make_segment_units,
)
from app.stats.rating_metadata import ErrorTable
from app.stats.ratings import ScoreScale
from app.storage.db import Session

FINE = 50
STANDARDIZED = "0.5,1"
"""Default tolerances for z-scores."""
SLIDER = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0)
"""Tolerances of Grundkiewicz et al. 2021, Table 4, for scales of at least `FINE` values."""
NUMBERS = r"^[0-9]{1,6}(\.[0-9]{1,6})?(,[0-9]{1,6}(\.[0-9]{1,6})?){0,19}$"


class AgreementOptions(RawRatingsOptions, BootstrapOptions):
    """Which agreement is computed, and from which scores."""

    units: Literal["all", "segments", "documents", "averaged"] = Field(
        "all",
        description="Segments, whole documents, or means of a document's segments by rater; default: all that exist.",
    )
    tolerance: Annotated[str, StringConstraints(pattern=NUMBERS)] | None = Field(
        None,
        description="Scores agree if they differ by at most this much; separate several values by commas. Default: 5 "
        "to 30 "
        "on a slider, 0 and 1 steps on a scale of few levels, and 0, 1 and 5 on an unbounded scale.",
        examples=["5,10,15"],
    )
    levels: Annotated[int, Field(ge=2, le=100_000)] | None = Field(
        None,
        description="Number of values in the closed form of chance agreement; default: those of the scale; 100 as "
        "published.",
    )
    bins: Annotated[int, Field(ge=2, le=50)] | None = Field(
        None,
        description="Number of equal parts of the scale that serve as categories for Fleiss, weighted κ, AC1 and "
        "AC2. For "
        "counts: 0, 1, 2 …, the last including all higher counts.",
    )
    normalize: Literal["none", "z"] = Field(
        "none", description="z: every rater with mean 0 and standard deviation 1 over the units of a level."
    )
    same: Annotated[str, StringConstraints(max_length=2_000)] | None = Field(
        None,
        description="Systems with identical translations, separated by commas, so that a rater judged the same text "
        "twice.",
    )


class _AgreementPlan:
    """The data that were read, and everything derived from them, computed once and only after reading has finished."""

    def __init__(self, ratings: RawRatings, errors: ErrorTable | None, options: AgreementOptions) -> None:
        self.ratings, self.errors, self.options = ratings, errors, options
        self.same = tuple(filter(None, (options.same or "").split(",")))
        computation.look_up_system_codes(ratings, self.same)
        self.choices = _choices(ratings, options)
        self.units = _units(ratings, options)

    @cached_property
    def plans(self) -> list[LevelAgreementInput]:
        return [
            make_level_agreement_input(level, self.units[level], self.choices)
            for level in LEVELS
            if level in self.units
        ]

    @cached_property
    def marks(self) -> computation.SpanAgreementInput | None:
        if self.errors is None or "segments" not in self.units:
            return None
        return computation.make_span_agreement_input(split_marked_judgments_by_side(self.ratings, self.errors))

    @cached_property
    def spread(self) -> computation.AgreementBootstrap:
        owners: list[tuple[ValuesByUnit, tuple[OfDocuments, ...]]]
        owners = [(plan.units, tuple(one.bootstrap_statistic for one in plan.statistics)) for plan in self.plans]
        if self.marks is not None:
            owners.append((self.plans[0].units, tuple(self.marks.of.values())))
        return computation.AgreementBootstrap(tuple(owners), self.options.bootstrap, self.options.seed)

    def chunk(self, part: int) -> bytes:
        return self.spread.compute_chunk(part)

    def finish(self, done: Sequence[bytes]) -> AgreementView:
        ratings, options, choices = self.ratings, self.options, self.choices
        ends = self.spread.compute_intervals(done, options.level)
        length, drawn = ratings.documents.segments, options.level if options.bootstrap else None
        levels = [
            computation.make_level_agreement_view(plan, ends[i], choices, length, drawn)
            for i, plan in enumerate(self.plans)
        ]
        pairs, pair_warnings = _pairs(self.plans, choices)
        as_given = make_coefficient_settings(ratings, options.tolerance, options.levels, options.bins)
        own, own_warnings = computation.list_self_agreements(ratings, as_given, self.same)
        left_out = dict.fromkeys([*pair_warnings, *own_warnings])
        head = {
            "on": options.on,
            "scoring": options.scoring,
            "protocol": ratings.snapshot.campaign.protocol,
            "repeats": options.repeats,
            "normalize": options.normalize,
            "tolerances": list(choices.tolerances),
            "chance_levels": choices.levels,
            "draws": options.bootstrap,
            "interval_level": options.level,
            "seed": options.seed,
            "warnings": [*computation.list_agreement_warnings(ratings, self.plans, choices), *left_out],
        }
        spans = None if self.marks is None else computation.make_span_agreement_view(self.marks, ends[-1])
        return computation.make_agreement_view(ratings, head, levels, pairs, own, spans)


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: AgreementOptions
) -> ReportComputation[AgreementView]:
    ratings = load_raw_ratings(session, snapshots[0], options)
    errors = load_marked_errors(session, ratings) if _has_spans(ratings, options) else None
    planned = _AgreementPlan(ratings, errors, options)
    return ReportComputation(
        computation.count_bootstrap_chunks(planned.units.values(), options.bootstrap), planned.chunk, planned.finish
    )


def _has_spans(ratings: RawRatings, options: AgreementOptions) -> bool:
    return find_spans_field(ratings) is not None and options.units in {"all", "segments"}


def _pairs(plans: Sequence[LevelAgreementInput], choices: CoefficientSettings) -> tuple[list[Any], list[str]]:
    """Return the rater pairs of the first level that has units."""
    plan = next((p for p in plans if p.units.n_units), None)
    if plan is None:
        return [], []
    return computation.list_rater_pair_agreements(
        plan, categorize_units(plan.units, choices) if plan.level != "averaged" else None
    )


def _units(ratings: RawRatings, options: AgreementOptions) -> dict[Level, ValuesByUnit]:
    """Return the units of each level that has any."""
    rows = ratings.rows
    builders: dict[Level, Callable[[], ValuesByUnit]] = {
        "segments": lambda: make_segment_units(rows, repeated=options.repeats),
        "documents": lambda: make_document_units(rows, repeated=options.repeats),
        "averaged": lambda: make_document_units_from_segments(rows, repeated=options.repeats),
    }
    units = {level: make() for level, make in builders.items() if options.units in {"all", level}}
    if options.raters == "complete":
        units = {level: select_raters_of_every_unit(one) for level, one in units.items()}
    if options.normalize == "z":
        units = {level: one.standardize_raters() for level, one in units.items()}
    return {level: one for level, one in units.items() if one.n_units}


def _choices(ratings: RawRatings, options: AgreementOptions) -> CoefficientSettings:
    if options.normalize == "none":
        return make_coefficient_settings(ratings, options.tolerance, options.levels, options.bins)
    free = replace(ratings, scale=None)
    return replace(make_coefficient_settings(free, options.tolerance or STANDARDIZED, None, None), step=0.0)


def make_coefficient_settings(
    ratings: RawRatings, tolerance: str | None, levels: int | None, bins: int | None
) -> CoefficientSettings:
    """Return the requested tolerances, levels and bins, or the usual ones of the scale."""
    scale = ratings.scale
    step = (scale.step if scale else None) or 1.0
    own = None if scale is None else _values(scale)
    tolerances = tuple(sorted({float(t) for t in tolerance.split(",")})) if tolerance else _usual(own, step)
    return CoefficientSettings(tolerances, levels or own, step, bins, scale)


def _values(scale: ScoreScale) -> int | None:
    wide = scale.maximum - scale.minimum
    return round(wide / (scale.step or 1.0)) + 1 if np.isfinite(wide) else None


def _usual(levels: int | None, step: float) -> tuple[float, ...]:
    if levels is None:
        return (0.0, 1.0, 5.0)
    return SLIDER if levels >= FINE else (0.0, step)


_STATISTIC = {"statistic": "kappa", "tolerance": 15.0, "value": 0.41, "interval": [0.35, 0.47], "expected": 0.4}
EXAMPLE: dict[str, Any] = {
    "campaigns": {"wmt22-en-cs": 4},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "on": "score",
    "scoring": "score",
    "protocol": "da_sqm",
    "repeats": "average",
    "normalize": "none",
    "tolerances": [15.0],
    "chance_levels": 101,
    "draws": 1000,
    "interval_level": 0.95,
    "seed": 0,
    "levels": [
        {
            "level": "segments",
            "n_units": 93,
            "n_single": 0,
            "n_values": 186,
            "n_pairs": 93,
            "n_raters": 2,
            "n_documents": 9,
            "categories": None,
            "statistics": [{**_STATISTIC, "observed": 0.58, "chance": 0.28, "word": "moderate"}],
            "by_length": [],
            "components": {"unit": 120.0, "rater": 30.0, "residual": 200.0},
            "block": {"n_units": 93, "rater": ["ana", "bo"]},
        }
    ],
    "pairs": [],
    "own": [],
    "spans": None,
}
REPORT: Report[AgreementOptions, AgreementView] = Report(
    name="agreement",
    title="Agreement between raters",
    summary=(
        "The usual agreement coefficients, with intervals over documents and the values expected under a mixed model."
    ),
    options=AgreementOptions,
    result=AgreementView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_coefficients_by_level, "raters": plot_rater_pair_heat_map},
    caption=make_caption,
    long=True,
    redact=pseudonymize_raters,
)
