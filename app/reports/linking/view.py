"""The comparison of linked campaigns, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from app.reports.kit import text_formatting
from app.reports.kit.charts.before_after import BeforeAfterRow, plot_before_after
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.reports.kit.table import Cell
from app.reports.kit.table_making import make_table

PLACES = 3
Ends = tuple[float, float] | None


class ScaleLinkView(FrozenFiniteResultModel):
    """How a campaign is moved to the scale of the first."""

    campaign: str
    anchors: str = Field(description="calibration: calibration items; common: outputs that both judged.")
    n: int
    pearson: float | None
    slope: float | None
    slope_interval: Ends
    intercept: float | None
    intercept_interval: Ends
    residual: float | None = Field(description="SD of the anchors around the line (n − 2).")
    by_kind: float | None = Field(description="Mean residual of human translations minus that of machine ones.")
    by_kind_interval: Ends
    comparable: bool
    why: str | None = None


class ScaleLinkedSystem(FrozenFiniteResultModel):
    """A system as it was scored, and on the scale of the first campaign."""

    campaign: str
    system: str
    n_units: int
    raw: float
    linked: float | None = Field(description="Null if the campaign is not comparable.")
    link_error: float | None = Field(description="Standard error that the link alone adds.")
    interval: Ends = Field(description="Interval of `linked`, including the system's own documents and the link.")
    rank: int | None


class ScaleLinkingView(ReportHeader):
    """Several campaigns on the scale of the first."""

    base: str
    method: str
    higher_is_better: bool
    draws: int
    level: float
    seed: int
    links: list[ScaleLinkView]
    systems: list[ScaleLinkedSystem] = Field(description="Best first; those that cannot be placed are last.")


def _figure(value: float | None) -> str:
    return text_formatting.format_number(value, PLACES)


def make_tables(view: ScaleLinkingView) -> Sequence[TableSection]:
    """Make a table of links and a table of systems."""
    shown = []
    if view.links:
        heads = ("Campaign", "Anchors", "n", "Pearson", "Slope", "Intercept", "Interval", "Residual", "Comparable")
        rows = []
        for link in view.links:
            line = (
                _figure(link.pearson),
                _figure(link.slope),
                _figure(link.intercept),
                text_formatting.format_interval(link.intercept_interval, PLACES),
            )
            comparable = "yes" if link.comparable else "no"
            rows.append((link.campaign, link.anchors, f"{link.n:,}", *line, _figure(link.residual), comparable))
        shown.append(TableSection(f"Links to {view.base}", make_table(heads, rows, 2)))
    if view.systems:
        names = ("Campaign", "System", "Rank", "Raw", "Linked", "Error of the link", f"{view.level:.0%} interval")
        lines: list[tuple[str, ...]] = []
        for s in view.systems:
            rank = "–" if s.rank is None else str(s.rank)
            figures = (
                _figure(s.raw),
                _figure(s.linked),
                _figure(s.link_error),
                text_formatting.format_interval(s.interval, PLACES),
            )
            lines.append((s.campaign, s.system, rank, *figures))
        shown.append(TableSection("Systems", make_table(names, lines, 2), frozenset({0, 1})))
    return shown


CSV = (
    *("campaign", "system", "n_units", "raw", "linked", "link_error", "interval_low", "interval_high", "rank"),
    *("slope", "intercept", "anchors", "n_anchors", "comparable"),
)


def make_csv_rows(view: ScaleLinkingView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per system, with its campaign's link."""
    links = {one.campaign: one for one in view.links}
    rows: list[tuple[Cell, ...]] = []
    for s in view.systems:
        ends: tuple[Cell, Cell] = s.interval or (None, None)
        link = links.get(s.campaign)
        head = (s.campaign, s.system, s.n_units, s.raw, s.linked, s.link_error, *ends, s.rank)
        if link is None:
            rows.append((*head, 1.0, 0.0, None, None, None))
        else:
            rows.append((*head, link.slope, link.intercept, link.anchors, link.n, str(link.comparable).lower()))
    return CSV, rows


def make_caption(view: ScaleLinkingView) -> str:
    """Say what the figures are and which data they come from."""
    versions = ", ".join(f"{key} at {version}" for key, version in view.campaigns.items())
    how = "mean and spread" if view.method == "mean_sigma" else "mean"
    return (
        f"The {how} of the anchors is matched to that of {view.base}; {view.draws:,} draws of documents. "
        f"Data versions: {versions}; seed {view.seed}, method {view.method_version}."
    )


def plot_linked_scores(view: ScaleLinkingView) -> bytes:
    """Draw every system before and after linking."""
    rows = []
    for s in view.systems:
        text = "not comparable" if s.linked is None else f"{s.rank}.  {_figure(s.linked)}"
        rows.append(BeforeAfterRow(f"{s.campaign} {s.system}", s.raw, s.linked, s.interval, text))
    below = f"Hollow: as scored. Filled: on the scale of {view.base}, {view.level:.0%} interval with the link's error."
    title = f"{text_formatting.pluralize(len(view.campaigns), 'campaign')} linked to {view.base}"
    return plot_before_after(title, below, rows, [*view.warnings, make_caption(view)])
