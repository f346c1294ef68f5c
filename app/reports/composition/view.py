"""The report on what raters and tasks contained, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from app.reports.agreement.view import make_pseudonymizer
from app.reports.kit import text_formatting
from app.reports.kit.charts.heat_map import HeatMap, plot_heat_map
from app.reports.kit.charts.heat_map import HeatMapCell as Shade
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.reports.kit.table import Alignment, Cell, Table
from app.stats.work_composition import PARTS

PLACES = 2
Owner = Literal["task", "rater"]
IN_WORDS = {
    "rating": "ratings",
    "human": "human translations as systems",
    "repeat": "repeats",
    "reference": "references",
    "degraded": "degraded outputs",
    "calibration": "calibration items",
}


class JudgmentKindExposure(FrozenFiniteResultModel):
    """How many met something at least once. Null where there are none at all."""

    part: str
    raters: float | None
    tasks: float | None


class RaterOrTaskContents(FrozenFiniteResultModel):
    """What one rater or one task contained. Means are of raw scores, of segments where any were scored."""

    tasks: int
    judgments: int
    systems: int = Field(description="Systems with a rating or a repeat.")
    documents: int
    count: dict[str, int] = Field(description="Judgments by part; `human` is included in `rating`.")
    mean: dict[str, float | None]


class RaterContents(RaterOrTaskContents):
    """What one rater judged."""

    rater: str


class TaskContents(RaterOrTaskContents):
    """One task as one rater did it."""

    task: str
    rater: str


class SystemCoOccurrences(FrozenFiniteResultModel):
    """Systems that met in tasks, or with raters. counts[i][j]: with both; the diagonal counts those with the system."""

    counts: list[list[int]]
    least: float | None = Field(description="Smallest count[i][j] / count[i][i]; null with fewer than two systems.")
    apart: int = Field(
        description="Pairs in which one system meets the other in less than half of its own tasks or raters."
    )


class CompositionView(ReportHeader):
    """What each rater and each task contained, and which systems met."""

    n_raters: int
    n_tasks: int
    n_judgments: int
    systems: list[str] = Field(description="Systems in the order of the maps.")
    humans: list[str]
    shares: list[JudgmentKindExposure]
    by_task: SystemCoOccurrences
    by_rater: SystemCoOccurrences
    raters: list[RaterContents]
    tasks: list[TaskContents]


def pseudonymize_raters_and_tasks(view: CompositionView) -> CompositionView:
    """Return the view with raters and tasks numbered in an order that reveals nothing."""
    rater = make_pseudonymizer({one.rater for one in view.raters}, view.data_hash)
    number = make_pseudonymizer({one.task for one in view.tasks}, view.data_hash)
    raters = [one.model_copy(update={"rater": rater(one.rater)}) for one in view.raters]
    tasks = [
        one.model_copy(update={"task": number(one.task).replace("rater", "task"), "rater": rater(one.rater)})
        for one in view.tasks
    ]
    update = {"raters": sorted(raters, key=lambda r: r.rater), "tasks": sorted(tasks, key=lambda t: (t.task, t.rater))}
    return view.model_copy(update=update)


def make_tables(view: CompositionView) -> Sequence[TableSection]:
    """Make tables of exposure, co-occurrences, raters and tasks."""
    if not view.raters:
        return []
    return (
        TableSection("Share of raters and tasks with each part", _shares(view), frozenset()),
        TableSection("Systems in the same task", _system_pairs_table(view, view.by_task)),
        TableSection("Systems with the same rater", _system_pairs_table(view, view.by_rater)),
        TableSection("Raters", _owners(view.raters, [(one.rater,) for one in view.raters], ("Rater",))),
        TableSection(
            "Tasks",
            _owners(view.tasks, [(one.task, one.rater) for one in view.tasks], ("Task", "Rater")),
            frozenset({0, 1}),
        ),
    )


def _shares(view: CompositionView) -> Table:
    rows = tuple((IN_WORDS[one.part], _percent(one.raters), _percent(one.tasks)) for one in view.shares)
    return Table(("Part", "Raters", "Tasks"), ("left", "right", "right"), rows)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _system_pairs_table(view: CompositionView, meetings: SystemCoOccurrences) -> Table:
    sides: list[Alignment] = ["left" if i == 0 else "right" for i in range(len(view.systems) + 1)]
    rows = tuple((name, *(f"{n:,}" for n in row)) for name, row in zip(view.systems, meetings.counts, strict=True))
    return Table(("System", *view.systems), tuple(sides), rows)


def _owners(lines: Sequence[RaterOrTaskContents], names: Sequence[tuple[str, ...]], heads: tuple[str, ...]) -> Table:
    there = [part for part in PARTS if any(one.count[part] for one in lines)]
    headings = [*heads, "Tasks", "Judgments", "Systems", "Documents"]
    for part in there:
        headings += [part.capitalize(), f"Mean of {part}"]
    rows = []
    for name, line in zip(names, lines, strict=True):
        row = [*name, f"{line.tasks:,}", f"{line.judgments:,}", f"{line.systems:,}", f"{line.documents:,}"]
        for part in there:
            row += [f"{line.count[part]:,}", text_formatting.format_number(line.mean[part], PLACES)]
        rows.append(tuple(row))
    sides: list[Alignment] = ["left" if i < len(heads) else "right" for i in range(len(headings))]
    return Table(tuple(headings), tuple(sides), tuple(rows))


COLUMNS = ("what", "rater", "task", "system", "other_system", "together", "tasks", "judgments", "systems", "documents")
ORIGIN = ("campaign", "data_version")


def make_csv_rows(view: CompositionView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per rater, per task, and per pair of systems by task and by rater."""
    origin = next(iter(view.campaigns.items()))
    none = (None, None, None)
    rows: list[tuple[Cell, ...]] = [("rater", r.rater, None, *none, *_figures(r), *origin) for r in view.raters]
    rows += [("task", t.rater, t.task, *none, *_figures(t), *origin) for t in view.tasks]
    blank = (None,) * (4 + 2 * len(PARTS))
    for what, meetings in (("by_task", view.by_task), ("by_rater", view.by_rater)):
        for name, counts in zip(view.systems, meetings.counts, strict=True):
            pairs = zip(view.systems, counts, strict=True)
            rows += [(what, None, None, name, other, n, *blank, *origin) for other, n in pairs]
    return (*COLUMNS, *(f"n_{p}" for p in PARTS), *(f"mean_{p}" for p in PARTS), *ORIGIN), rows


def _figures(line: RaterOrTaskContents) -> tuple[Cell, ...]:
    counts, means = (line.count[p] for p in PARTS), (line.mean[p] for p in PARTS)
    return (line.tasks, line.judgments, line.systems, line.documents, *counts, *means)


def make_caption(view: CompositionView) -> str:
    """Say what the figures are and which data they come from."""
    counts = (view.n_judgments, "judgment"), (view.n_raters, "rater"), (view.n_tasks, "task")
    counted = ", ".join(text_formatting.pluralize(n, noun) for n, noun in counts)
    version = next(iter(view.campaigns.values()))
    return (
        f"{counted}. Each row shows, of the tasks (or raters) with its "
        f"system, the share that also had the system of the column. Data version {version}, method "
        f"{view.method_version}."
    )


def plot_system_pairs_by_shared_tasks(view: CompositionView) -> bytes:
    """Draw which systems occurred together in tasks."""
    return _map(view, view.by_task, "task")


def plot_system_pairs_by_shared_raters(view: CompositionView) -> bytes:
    """Draw which systems were judged by the same raters."""
    return _map(view, view.by_rater, "rater")


def _map(view: CompositionView, meetings: SystemCoOccurrences, owner: Owner) -> bytes:
    cells: list[list[Shade | None]] = []
    for i, row in enumerate(meetings.counts):
        own = row[i]
        cells.append([Shade(n / own, f"{n / own:.2f}") if own else None for n in row])
    where = "in the same task" if owner == "task" else "with the same rater"
    title = f"Systems {where}: {next(iter(view.campaigns))}"
    notes = [*map(text_formatting.make_sentence, view.warnings), make_caption(view)]
    drawn = HeatMap(
        title=title,
        below=f"Of the {owner}s with the system of the row: the share that also had the system of the column",
        rows=view.systems,
        columns=view.systems,
        cells=cells,
        ends=("0", "1"),
        notes=notes,
        nothing="nothing is judged yet",
    )
    return plot_heat_map(drawn)
