"""Which documents are hard, for which systems, and whether all systems were judged on the same documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, StringConstraints

from app.domain.errors import Invalid, Place
from app.domain.keys import KEY_PATTERN
from app.reports.inputs.recipe_input import NOTHING, RecipeAndSeedOptions, RecipeInput, load_recipe_input
from app.reports.inputs.segment_scores import RaterOrMetricScores, load_metric_scores, make_rater_segment_scores
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit import text_formatting
from app.reports.kit.charts.heat_map import HeatMap, plot_heat_map, shade_scores
from app.reports.kit.columns import NONE, Column, make_csv_rows_function, make_system_mean_columns, make_table_section
from app.reports.kit.report import Report, ReportComputation, ReportHeader, TableSection, make_undivided_computation
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.stats.difficulty import DocumentDifficultyTable, average_scores_by_document_and_system
from app.stats.plain_values import number_or_none
from app.storage.db import Session

Z_OF_METRIC = "z-scores are computed by rater, and a metric is not a rater"
NOTHING_SCORED = "no output that this recipe counts has a score of this metric; store scores of these outputs"


class DocumentDifficultyOptions(RecipeAndSeedOptions):
    """The recipe that selects the rows (its normalization is not used), and the scores of which means are taken."""

    normalize: Literal["none", "z"] = Field("none", description="z: every rater with mean 0 and SD 1 over these rows.")
    metric: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] | None = Field(
        None,
        description="Name of an automatic metric whose scores of outputs are in the cells instead of raters' ones.",
        examples=["comet-22"],
    )


class SystemMeansOnDocument(FrozenFiniteResultModel):
    """One document. means: by system, in the order of `systems`; null where it was not judged."""

    document: str
    domain: str | None
    segments: int
    n: int = Field(description="Number of segment scores.")
    mean: float
    means: list[float | None]
    counts: list[int]


class SystemDifficultySummary(FrozenFiniteResultModel):
    """One system over the documents that it was judged on."""

    system: str
    kind: str
    n: int
    documents: int
    mean: float
    expected: float = Field(
        description="Its mean if it scored the average of all systems on each document: differs between "
        "systems judged on documents of different difficulty."
    )


class DocumentDifficultyView(ReportHeader):
    """Documents against systems: which are hard, and for whom."""

    recipe: str
    normalize: str
    metric: str | None = Field(None, description="The metric whose scores are in the cells; null for scores by raters.")
    higher_is_better: bool
    coverage: float | None = Field(description="Share of the cells that hold a score.")
    same_documents: bool
    document_sd: float | None = Field(description="SD (n − 1) of the means of documents.")
    system_sd: float | None = Field(description="SD (n − 1) of the means of systems.")
    systems: list[SystemDifficultySummary] = Field(description="Best first.")
    documents: list[SystemMeansOnDocument] = Field(description="Easiest first.")


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: DocumentDifficultyOptions
) -> ReportComputation[DocumentDifficultyView]:
    if options.metric is not None and options.normalize == "z":
        raise Invalid("the query is not valid", places=(Place(("query", "normalize"), Z_OF_METRIC),))
    inputs = load_recipe_input(session, snapshots[0], options)
    scores = None if options.metric is None else load_metric_scores(session, inputs, options.metric)
    return make_undivided_computation(
        lambda: _result(inputs, options, scores or make_rater_segment_scores(inputs, options.normalize))
    )


def _result(
    inputs: RecipeInput, options: DocumentDifficultyOptions, scores: RaterOrMetricScores
) -> DocumentDifficultyView:
    means = average_scores_by_document_and_system(scores.rows)
    done = "judged" if options.metric is None else "scored"
    systems = _systems(means, inputs, scores)
    return DocumentDifficultyView(
        **inputs.report_header_fields(scores.dropped, _warnings(means, scores, systems, done), scores.data_hash),
        recipe=inputs.recipe.name,
        normalize=options.normalize,
        metric=options.metric,
        higher_is_better=scores.rows.higher_is_better,
        coverage=number_or_none(means.filled_cell_share),
        same_documents=means.is_fully_crossed,
        document_sd=number_or_none(means.sd_of_document_means),
        system_sd=number_or_none(means.sd_of_system_means),
        systems=systems,
        documents=list(_documents(means, scores)),
    )


def _systems(
    means: DocumentDifficultyTable, inputs: RecipeInput, scores: RaterOrMetricScores
) -> list[SystemDifficultySummary]:
    names = scores.rows.labels.systems
    return [
        SystemDifficultySummary(
            system=names[code],
            kind="human" if names[code] in inputs.humans else "mt",
            n=int(means.system_n[j]),
            documents=int((means.n[:, j] > 0).sum()),
            mean=float(means.system_mean[j]),
            expected=float(means.expected[j]),
        )
        for j, code in enumerate(means.systems.tolist())
    ]


def _documents(means: DocumentDifficultyTable, scores: RaterOrMetricScores) -> Iterator[SystemMeansOnDocument]:
    for i, code in enumerate(means.documents.tolist()):
        yield SystemMeansOnDocument(
            document=scores.rows.labels.documents[code],
            domain=scores.documents.domain[code],
            segments=int(scores.documents.segments[code]),
            n=int(means.document_n[i]),
            mean=float(means.document_mean[i]),
            means=[number_or_none(mean) for mean in means.cell[i].tolist()],
            counts=means.n[i].tolist(),
        )


def _warnings(
    means: DocumentDifficultyTable, scores: RaterOrMetricScores, systems: list[SystemDifficultySummary], done: str
) -> Iterator[str]:
    yield from scores.warnings
    if not means.documents.size:
        yield NOTHING if done == "judged" else NOTHING_SCORED
        return
    if not scores.rows.documents_known:
        yield (
            "documents are unknown: each row is a unit that was imported as one document; import the documents if "
            "there are any"
        )
    if means.documents.size == 1:
        yield f"only one document was {done}: differences between documents are unknown; judge more documents"
    if not np.ptp(scores.rows.score):
        yield "all scores are equal, so no document is harder than another; check whether raters used the scale"
    if means.systems.size == 1:
        yield (
            f"only one system was {done}: a hard document cannot be distinguished from a system that fails on it; "
            "judge other systems on it"
        )
    if not means.is_fully_crossed:
        ends = [row.expected for row in systems]
        yield (
            f"systems were not {done} on the same documents "
            f"({100 * means.filled_cell_share:.1f} % of the cells are filled): "
            f"the difficulty of their documents alone would make their means differ by {max(ends) - min(ends):.3g}; "
            "compare systems on documents that they share"
        )


def _tables(result: DocumentDifficultyView) -> Sequence[TableSection]:
    """Make a table of systems, and a table of documents with their means by system."""
    if not result.documents:
        return []
    digits = text_formatting.choose_decimals(
        [*(row.mean for row in result.documents), *(row.mean for row in result.systems)]
    )
    systems: list[Column[SystemDifficultySummary]] = [
        Column(heading="System", key="system", names=True),
        Column(heading="Kind", key="kind"),
        Column(heading="Scores", key="n", digits=0),
        Column(heading="Documents", key="documents", digits=0),
        Column(heading="Mean", key="mean", digits=digits),
        Column(heading="Expected from its documents", key="expected", digits=digits),
    ]
    documents: list[Column[SystemMeansOnDocument]] = [
        Column(heading="Document", key="document", names=True),
        Column(heading="Domain", text=lambda row: row.domain or NONE),
        Column(heading="Segments", key="segments", digits=0),
        Column(heading="Scores", key="n", digits=0),
        Column(heading="Mean", key="mean", digits=digits),
        *make_system_mean_columns([row.system for row in result.systems], digits),
    ]
    return [
        make_table_section("Systems", systems, result.systems, target_of_row=lambda row: {"system": row.system}),
        make_table_section(
            "Documents", documents, result.documents, target_of_row=lambda row: {"document": row.document}
        ),
    ]


class _Cell(NamedTuple):
    """One system on one document, without a mean if there are no scores."""

    document: SystemMeansOnDocument
    system: SystemDifficultySummary
    mean: float | None
    n: int


CELLS: Sequence[Column[_Cell]] = (
    Column(key="document", value=attrgetter("document.document")),
    Column(key="domain", value=attrgetter("document.domain")),
    Column(key="system", value=attrgetter("system.system")),
    Column(key="mean"),
    Column(key="n"),
    Column(key="document_mean", value=attrgetter("document.mean")),
    Column(key="system_mean", value=attrgetter("system.mean")),
)


def _cells(result: DocumentDifficultyView) -> Iterator[_Cell]:
    for document in result.documents:
        for each in zip(result.systems, document.means, document.counts, strict=True):
            yield _Cell(document, *each)


def _caption(result: DocumentDifficultyView) -> str:
    """Say what the figures are and which data they come from."""
    version = next(iter(result.campaigns.values()))
    scores = "z-scores by rater" if result.normalize == "z" else "scores as given"
    taken = f"{scores}, rows of recipe {result.recipe}"
    if result.metric is not None:
        taken = f"scores of metric {result.metric}"
    spread = ""
    if result.document_sd is not None and result.system_sd is not None:
        places = text_formatting.choose_decimals([result.document_sd, result.system_sd])
        spread = (
            f" SD between documents {text_formatting.format_number(result.document_sd, places)}, "
            f"between systems {text_formatting.format_number(result.system_sd, places)}."
        )
    cover = "" if result.coverage is None else f"; {100 * result.coverage:.1f} % of the cells are filled"
    return (
        f"Mean segment score of {text_formatting.pluralize(len(result.systems), 'system')} on "
        f"{text_formatting.pluralize(len(result.documents), 'document')}, {taken}{cover}."
        f"{spread} Data version {version}, method {result.method_version}."
    )


def _map(result: DocumentDifficultyView) -> bytes:
    """Draw the map: the better the score, the darker the cell."""
    cells, ends = shade_scores([row.means for row in result.documents], higher_is_better=result.higher_is_better)
    drawn = HeatMap(
        title=f"Documents and systems of {next(iter(result.campaigns))}",
        below="Mean segment score; documents from the easiest down, systems from the best on the left",
        rows=[row.document for row in result.documents],
        columns=[row.system for row in result.systems],
        cells=cells,
        ends=ends,
        notes=[*map(text_formatting.make_sentence, result.warnings), _caption(result)],
        of_rows="document",
        of_columns="system",
        nothing="nothing is rated yet" if result.metric is None else "nothing has a score",
    )
    return plot_heat_map(drawn)


EXAMPLE: dict[str, Any] = {
    "campaigns": {"newstest2021": 3},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "recipe": "recommended",
    "normalize": "none",
    "metric": None,
    "higher_is_better": True,
    "coverage": 0.75,
    "same_documents": False,
    "document_sd": 21.2,
    "system_sd": 24.7,
    "systems": [
        {"system": "A", "kind": "mt", "n": 20, "documents": 2, "mean": 75.0, "expected": 70.0},
        {"system": "B", "kind": "mt", "n": 10, "documents": 1, "mean": 40.0, "expected": 50.0},
    ],
    "documents": [
        {
            "document": "d2",
            "domain": "news",
            "segments": 10,
            "n": 10,
            "mean": 90.0,
            "means": [90.0, None],
            "counts": [10, 0],
        },
        {
            "document": "d1",
            "domain": "news",
            "segments": 10,
            "n": 20,
            "mean": 50.0,
            "means": [60.0, 40.0],
            "counts": [10, 10],
        },
    ],
}
REPORT: Report[DocumentDifficultyOptions, DocumentDifficultyView] = Report(
    name="difficulty",
    title="Difficulty of documents",
    summary="Mean segment score of each system on each document, the share of cells filled, and the consequences.",
    options=DocumentDifficultyOptions,
    result=DocumentDifficultyView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=_tables,
    csv=make_csv_rows_function(CELLS, _cells),
    charts={"default": _map},
    caption=_caption,
)
