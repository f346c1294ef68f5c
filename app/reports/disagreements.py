"""The largest disagreements: outputs on which raters disagree, or segments on which two systems differ most."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app.domain.errors import Invalid, Place
from app.domain.keys import KEY_PATTERN
from app.reports.inputs.recipe_input import NOTHING, RecipeAndSeedOptions, RecipeInput, load_recipe_input
from app.reports.inputs.segment_scores import make_rater_segment_scores
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit import text_formatting
from app.reports.kit.charts.dot_and_scatter_plots import DotPlotRow, plot_dot_rows
from app.reports.kit.columns import Column, make_csv_rows_function, make_table_section
from app.reports.kit.report import Report, ReportComputation, ReportHeader, TableSection, make_undivided_computation
from app.stats.disagreements import find_rater_differences_on_outputs, find_system_differences_on_segments
from app.stats.ratings import Ratings
from app.storage.db import Session

MOST, FEW = 1000, 10
Key = Annotated[str, StringConstraints(pattern=KEY_PATTERN)]
NO_PAIR = "no segment has scores of both systems, so the pair has no disagreement to show: name two that share segments"
ONE_RATER = "no output was scored by two raters, so raters cannot be compared: name two systems instead"


class DisagreementOptions(RecipeAndSeedOptions):
    """What is compared, and where: two systems if they are named, otherwise raters."""

    system: Key | None = Field(None, description="Only outputs of this system; the first of a pair.", examples=["A"])
    other: Key | None = Field(None, description="The second system of a pair.", examples=["B"])
    document: Key | None = Field(None, description="Only segments of this document.", examples=["news.1"])
    rater: Key | None = Field(None, description="Only outputs that this rater scored.", examples=["r1"])
    most: int = Field(50, ge=1, le=MOST, description="How many are listed, the largest disagreement first.")


class DisagreementRow(BaseModel):
    """One segment. first, second: mean scores of the two systems, or the lowest and the highest of raters."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    document: str
    segment: int = Field(description="Position in the document, from 1.")
    system: str
    other: str | None = Field(description="Second system; null if raters are compared.")
    first: float
    second: float
    spread: float
    n: int = Field(description="Number of raters compared, or of ratings of both systems.")
    rater: list[str] = Field(description="Raters with the lowest and the highest score, if raters are compared.")


class DisagreementView(ReportHeader):
    """The largest disagreements, in descending order."""

    recipe: str
    between: Literal["raters", "systems"]
    higher_is_better: bool
    compared: int = Field(description="Outputs with two raters or more; segments with scores of both systems.")
    disagreements: list[DisagreementRow]


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: DisagreementOptions
) -> ReportComputation[DisagreementView]:
    if options.other is not None and options.system in (None, options.other):
        problem = "a pair needs two systems: name the first as `system`"
        raise Invalid("the query is not valid", places=(Place(("query", "other"), problem),))
    inputs = load_recipe_input(session, snapshots[0], options)
    return make_undivided_computation(lambda: _compute(inputs, options))


def _compute(inputs: RecipeInput, options: DisagreementOptions) -> DisagreementView:
    scored = make_rater_segment_scores(inputs, "none")
    rows = _rows(scored.rows, options)
    if options.other is None:
        disagreements, compared = _between_raters(rows, options)
    else:
        disagreements, compared = _between_systems(rows, options)
    warnings = list(scored.warnings)
    if not len(scored.rows):
        warnings.append(NOTHING)
    elif not compared:
        warnings.append(ONE_RATER if options.other is None else NO_PAIR)
    elif not any(each.spread for each in disagreements):
        warnings.append("no two of these scores differ, so there is no disagreement to show: look at other outputs")
    return DisagreementView(
        **inputs.report_header_fields(scored.dropped, warnings, scored.data_hash),
        recipe=inputs.recipe.name,
        between="raters" if options.other is None else "systems",
        higher_is_better=rows.higher_is_better,
        compared=compared,
        disagreements=disagreements,
    )


def _rows(rows: Ratings, options: DisagreementOptions) -> Ratings:
    """Return the rows that the options select. Raises Invalid for a name that has no ratings."""
    labels = rows.labels
    if options.document is not None:
        rows = rows.where(rows.document == _code("document", options.document, labels.documents))
    if options.system is not None and options.other is None:
        rows = rows.where(rows.system == _code("system", options.system, labels.systems))
    if options.rater is not None:
        outputs = rows.segment.astype(np.int64) * rows.n_systems + rows.system
        theirs = outputs[rows.rater == _code("rater", options.rater, labels.raters)]
        rows = rows.where(np.isin(outputs, theirs))
    return rows


def _code(name: str, key: str, keys: Sequence[str]) -> int:
    if key not in keys:
        raise Invalid("the query is not valid", places=(Place(("query", name), "it has no ratings here"),))
    return list(keys).index(key)


def _between_raters(rows: Ratings, options: DisagreementOptions) -> tuple[list[DisagreementRow], int]:
    worst, compared = find_rater_differences_on_outputs(rows, options.most)
    labels = rows.labels
    return [
        DisagreementRow(
            **_place(rows, each.segment),
            system=labels.systems[each.system],
            other=None,
            first=each.lowest,
            second=each.highest,
            spread=each.spread,
            n=each.n,
            rater=[labels.raters[each.lowest_rater], labels.raters[each.highest_rater]],
        )
        for each in worst
    ], compared


def _between_systems(rows: Ratings, options: DisagreementOptions) -> tuple[list[DisagreementRow], int]:
    systems = rows.labels.systems
    first, second = options.system or "", options.other or ""
    codes = (_code("system", first, systems), _code("other", second, systems))
    worst, compared = find_system_differences_on_segments(rows, *codes, options.most)
    return [
        DisagreementRow(
            **_place(rows, each.segment),
            system=first,
            other=second,
            first=each.first,
            second=each.second,
            spread=each.spread,
            n=each.n,
            rater=[],
        )
        for each in worst
    ], compared


def _place(rows: Ratings, segment: int) -> dict[str, Any]:
    labels = rows.labels
    return {
        "document": labels.documents[labels.segment_document[segment]],
        "segment": int(labels.segment_position[segment]),
    }


def _tables(result: DisagreementView) -> Sequence[TableSection]:
    if not result.disagreements:
        return []
    digits = text_formatting.choose_decimals(
        value for each in result.disagreements for value in (each.first, each.second, each.spread)
    )
    pair = result.between == "systems"
    names = (result.disagreements[0].system, result.disagreements[0].other or "") if pair else ("Lowest", "Highest")
    columns: list[Column[DisagreementRow]] = [
        Column(heading="Document", key="document", names=True),
        Column(heading="Segment", key="segment", digits=0),
        Column(heading=names[0], key="first", digits=digits),
        Column(heading=names[1], key="second", digits=digits),
        Column(heading="Difference", key="spread", digits=digits),
        Column(heading="Ratings" if pair else "Raters", key="n", digits=0),
    ]
    if not pair:
        columns.insert(2, Column(heading="System", key="system", names=True))
    if not pair and any(each.rater for each in result.disagreements):
        columns.append(Column(heading="Lowest and highest by", text=lambda row: ", ".join(row.rater), names=True))
    title = "The largest disagreements, in descending order"
    return [make_table_section(title, columns, result.disagreements, target_of_row=_target)]


def _target(row: DisagreementRow) -> dict[str, str]:
    """Return the keys of the system, document and segment that a row is about."""
    pair = {} if row.other is None else {"other": row.other}
    return {"document": row.document, "segment": str(row.segment), "system": row.system, **pair}


def _chart(result: DisagreementView) -> bytes:
    """Draw both scores of each of the largest disagreements."""
    rows = [
        DotPlotRow(
            f"{row.document}, segment {row.segment}",
            [row.first, row.second],
            None,
            ("lowest", "highest") if row.other is None else (row.system, row.other),
            _target(row),
        )
        for row in result.disagreements[:FEW]
    ]
    values = [value for row in rows for value in row.values]
    ends = (min([0.0, *values]), max([1.0, *values]))
    between = "the two systems" if result.between == "systems" else "the lowest and the highest rater"
    title = f"Disagreements in {next(iter(result.campaigns))}"
    return plot_dot_rows(
        title, f"The {FEW} largest disagreements: scores by {between}", rows, [_caption(result)], axis_limits=ends
    )


def _caption(result: DisagreementView) -> str:
    """Say what the figures are and which data they come from."""
    version = next(iter(result.campaigns.values()))
    what = "segments with scores of both systems" if result.between == "systems" else "outputs that raters share"
    return (
        f"Scores as given, rows of recipe {result.recipe}; means where a rater judged an output more than once. "
        f"{len(result.disagreements):,} of {result.compared:,} {what}. "
        f"Data version {version}, method {result.method_version}."
    )


CSV: Sequence[Column[DisagreementRow]] = (
    *(Column(key=name) for name in ("document", "segment", "system", "other", "first", "second", "spread", "n")),
    Column(key="rater", value=lambda row: " ".join(row.rater)),
)


EXAMPLE: dict[str, Any] = {
    "campaigns": {"newstest2021": 3},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "recipe": "recommended",
    "between": "systems",
    "higher_is_better": True,
    "compared": 120,
    "disagreements": [
        {
            "document": "news.7",
            "segment": 3,
            "system": "A",
            "other": "B",
            "first": 92.0,
            "second": 14.0,
            "spread": 78.0,
            "n": 2,
            "rater": [],
        }
    ],
}
REPORT: Report[DisagreementOptions, DisagreementView] = Report(
    name="disagreements",
    title="Largest disagreements",
    summary="The segments on which two systems, or the raters of one output, differ most, with their texts.",
    options=DisagreementOptions,
    result=DisagreementView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=_tables,
    csv=make_csv_rows_function(CSV, attrgetter("disagreements")),
    charts={"default": _chart},
    caption=_caption,
    naming=frozenset({"rater"}),
)
