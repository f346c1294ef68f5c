"""The forest plot of a ranking: systems by rank, with intervals, clusters and rank ranges."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from app.reports.kit import text_formatting
from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BAND, BLUE, FAINT, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import RowChart, RowChartMark, attach_chart_declaration
from app.reports.ranking import captions as ranking_captions
from app.reports.ranking.labels import label_system_in_chart
from app.reports.ranking.view import Range, RankingView, SystemLine

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 640.0
ROW = 17.0
BLOCK_GAP = 1.25  # rows between human translations and systems
TOP, AXIS_BELOW, LINE, MARGIN = 62.0, 46.0, 11.5, 16.0
RIGHT = 118.0
CHARACTER = 5.6  # width of a character in the name column, in points; generous, so that any font fits
CAPTION_COLUMNS = 136


@dataclass(frozen=True, slots=True)
class ForestRow:
    """A system and its position; y counts rows downwards."""

    line: SystemLine
    y: float


@dataclass(frozen=True, slots=True)
class ForestLayout:
    """Everything that is determined before drawing; lengths in points.

    relative: intervals are of the system minus the mean of all systems, not of the score.
    """

    rows: tuple[ForestRow, ...]
    relative: bool
    places: int
    left: float
    depth: float
    caption: tuple[str, ...]

    @property
    def height(self) -> float:
        """The height of the whole figure."""
        return TOP + self.depth * ROW + AXIS_BELOW + (len(self.caption) - 1) * LINE + MARGIN


def _declare_forest(view: RankingView) -> RowChart:
    layout = _lay_out(view)
    marks = [_declare_row(row.line, layout) for row in layout.rows]
    return RowChart(f"Ranking by {view.recipe.name}", _axis_text(view, layout), marks, [0.0] if layout.relative else [])


def _declare_row(line: SystemLine, layout: ForestLayout) -> RowChartMark:
    value, interval = _mark_and_interval(line, relative=layout.relative)
    facts = [
        f"score {text_formatting.format_number(line.score, layout.places)}",
        f"rank {text_formatting.format_rank(line.rank)}",
    ]
    if line.rank_range is not None:
        facts.append(f"rank range {text_formatting.format_rank_range(line.rank_range)}")
    if line.cluster is not None:
        facts.append(f"cluster {line.cluster}")
    return RowChartMark(
        label_system_in_chart(line),
        value,
        interval,
        text=", ".join(facts),
        series="human translation" if line.kind == "human" else "system",
        to={"system": line.system},
    )


@attach_chart_declaration(_declare_forest)
def plot_forest(view: RankingView) -> bytes:
    """Draw systems by rank with their intervals, as SVG; human translations are separate, at the top.

    If the design is paired, intervals are relative (the system minus the mean of all systems on the same documents),
    else marginal; the axis says which.
    """
    layout = _lay_out(view)
    with canvas.drawing_lock():
        canvas.prepare_matplotlib()
        figure = canvas.new_figure(WIDTH, layout.height)
        _draw(figure, view, layout)
        return canvas.figure_to_svg(
            figure, title=f"Ranking of {ranking_captions.make_ranking_title(view)} by {view.recipe.name}"
        )


def _lay_out(view: RankingView) -> ForestLayout:
    humans = [s for s in view.systems if s.kind == "human"]
    others = [s for s in view.systems if s.kind != "human"]
    gap = BLOCK_GAP if humans and others else 0.0
    rows = [ForestRow(s, i + 0.5) for i, s in enumerate(humans)]
    rows += [ForestRow(s, len(humans) + gap + i + 0.5) for i, s in enumerate(others)]
    longest = max((len(label_system_in_chart(s)) for s in view.systems), default=8)
    return ForestLayout(
        rows=tuple(rows),
        relative=view.has_relative_intervals,
        places=text_formatting.choose_decimals(s.score for s in view.systems),
        left=max(130.0, 78.0 + longest * CHARACTER),
        depth=max(1.0, len(rows) + gap),
        caption=_caption(view),
    )


def _caption(view: RankingView) -> tuple[str, ...]:
    sentences = [ranking_captions.make_caption(view)]
    if view.warnings:
        sentences.append(f"{text_formatting.pluralize(len(view.warnings), 'warning')}: {'; '.join(view.warnings)}.")
    return tuple(
        line
        for text in sentences
        for line in textwrap.wrap(canvas.clean_chart_text(text), CAPTION_COLUMNS, max_lines=4)
    )


def _draw(figure: Figure, view: RankingView, layout: ForestLayout) -> None:
    height = layout.height
    axes = figure.add_axes(
        (
            layout.left / WIDTH,
            1 - (TOP + layout.depth * ROW) / height,
            (WIDTH - RIGHT - layout.left) / WIDTH,
            layout.depth * ROW / height,
        )
    )
    _scale(axes, view, layout)
    _bands(axes, layout)
    _intervals(axes, layout)
    _columns(axes, layout)
    _words(figure, view, layout)


def _scale(axes: Axes, view: RankingView, layout: ForestLayout) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_ylim(layout.depth, 0)
    axes.set_xlim(*_limits(layout))
    axes.set_yticks([])
    axes.patch.set_visible(False)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(QUIET)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    axes.tick_params(axis="x", colors=QUIET, labelsize=8, length=3, width=0.8)
    axes.grid(visible=True, axis="x", color=FAINT, linewidth=0.4, alpha=0.7)
    axes.set_axisbelow(True)
    axes.set_xlabel(_axis_text(view, layout), fontsize=8, color=QUIET, labelpad=4)
    if layout.relative:
        axes.axvline(0, color=QUIET, linewidth=0.8, dashes=(3, 2), zorder=1.5)


def _axis_text(view: RankingView, layout: ForestLayout) -> str:
    better = "better →" if view.higher_is_better else "← better"
    what = ranking_captions.describe_score(view)
    level = f"{view.interval_level:.0%} interval"
    if layout.relative:
        return f"{what} minus the mean of all systems on the same documents, {level}  ·  {better}"
    known = any(row.line.interval for row in layout.rows)
    return f"{what}{f', {level} for new documents' if known else ''}  ·  {better}"


def _limits(layout: ForestLayout) -> Range:
    values = [0.0] if layout.relative else []
    for row in layout.rows:
        at, bounds = _mark_and_interval(row.line, relative=layout.relative)
        values += [at, *(bounds or ())]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    pad = 0.04 * (high - low) or max(1e-6, 0.05 * abs(high)) or 1.0
    return low - pad, high + pad


def _mark_and_interval(line: SystemLine, *, relative: bool) -> tuple[float, Range | None]:
    """Return the position of a system's mark, and its interval."""
    if relative and line.relative is not None:
        return line.relative, line.relative_interval
    return line.score, line.interval


def _bands(axes: Axes, layout: ForestLayout) -> None:
    """Draw a band under every other cluster, and the number of each at the left."""
    from matplotlib.patches import Rectangle

    across = -layout.left + MARGIN / 2
    width = WIDTH - MARGIN
    scale = WIDTH - RIGHT - layout.left
    for (_, cluster), group in groupby(layout.rows, key=lambda row: (row.line.kind, row.line.cluster)):
        rows = list(group)
        if cluster is None:
            continue
        top, bottom = rows[0].y - 0.5, rows[-1].y + 0.5
        if cluster % 2:
            axes.add_patch(
                Rectangle(
                    (across / scale, top),
                    width / scale,
                    bottom - top,
                    transform=axes.get_yaxis_transform(),
                    facecolor=BAND,
                    edgecolor="none",
                    clip_on=False,
                    zorder=-1,
                )
            )
        _text(axes, across + 20, (top + bottom) / 2, str(cluster), ha="center", weight="bold", color=QUIET)


def _intervals(axes: Axes, layout: ForestLayout) -> None:
    for row in layout.rows:
        at, bounds = _mark_and_interval(row.line, relative=layout.relative)
        human = row.line.kind == "human"
        colour = ORANGE if human else BLUE
        if bounds is not None:
            axes.plot(bounds, (row.y, row.y), color=colour, linewidth=1.4, solid_capstyle="butt", zorder=3)
        axes.plot(
            [at],
            [row.y],
            marker="D" if human else "o",
            markersize=5.2 if human else 5.0,
            markerfacecolor=canvas.GROUND if human else colour,
            markeredgecolor=colour,
            markeredgewidth=1.3,
            zorder=4,
        )


def _columns(axes: Axes, layout: ForestLayout) -> None:
    """Write the texts beside the plot: rank and name at the left, score and rank range at the right."""
    plot = WIDTH - RIGHT - layout.left
    right = (("Score", plot + 52), ("Rank range", plot + 106))
    left = -layout.left
    if any(row.line.cluster is not None for row in layout.rows):
        _text(axes, left + 28, -0.75, "Cluster", ha="center", color=QUIET, size=7.5)
    _text(axes, left + 70, -0.75, "Rank", ha="right", color=QUIET, size=7.5)
    _text(axes, -8, -0.75, "System", ha="right", color=QUIET, size=7.5)
    for heading, x in right:
        _text(axes, x, -0.75, heading, ha="right", color=QUIET, size=7.5)
    for row in layout.rows:
        line = row.line
        _text(axes, left + 70, row.y, text_formatting.format_rank(line.rank), ha="right", color=QUIET)
        _text(axes, -8, row.y, label_system_in_chart(line), ha="right")
        _text(axes, right[0][1], row.y, text_formatting.format_number(line.score, layout.places), ha="right")
        _text(axes, right[1][1], row.y, text_formatting.format_rank_range(line.rank_range), ha="right", color=QUIET)


def _text(
    axes: Axes,
    x: float,
    y: float,
    text: str,
    *,
    ha: str,
    color: str = INK,
    size: float = 9.0,
    weight: Literal["normal", "bold"] = "normal",
) -> None:
    """Write a text at x points from the plot's left edge, in row y."""
    across = x / (axes.get_position().width * WIDTH)
    place = axes.get_yaxis_transform()
    axes.text(across, y, text, transform=place, ha=ha, va="center_baseline", color=color, size=size, weight=weight)


def _words(figure: Figure, view: RankingView, layout: ForestLayout) -> None:
    height = layout.height
    heading = f"{ranking_captions.make_ranking_title(view)}: {view.recipe.name}"
    figure.text(
        MARGIN / WIDTH, 1 - 18 / height, canvas.shorten_in_middle(heading, 84), size=11.5, weight="bold", color=INK
    )
    below = ranking_captions.describe_score_direction(view).capitalize()
    if view.has_human_translations:
        below += "; human translations shown separately, as diamonds"
    figure.text(MARGIN / WIDTH, 1 - 33 / height, below, size=8.5, color=QUIET)
    for i, line in enumerate(layout.caption):
        y = 1 - (TOP + layout.depth * ROW + AXIS_BELOW + i * LINE) / height
        figure.text(MARGIN / WIDTH, y, line, size=7.5, color=QUIET)
