"""Charts of agreement: coefficients with their intervals, and a heat map of all pairs of raters."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from app.reports.agreement.tables import LEVEL_NAMES, label_statistic, make_caption
from app.reports.agreement.view import AgreementStatistic, AgreementView, LevelAgreementView, RaterPairLine
from app.reports.kit import text_formatting
from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BLUE, FAINT, GROUND, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import (
    CellChart,
    ChartCell,
    RowChart,
    RowChartMark,
    attach_chart_declaration,
)
from app.reports.kit.charts.drawing_surface import (
    CHARACTER,
    HEAD,
    LINE,
    MARGIN,
    DrawingSurface,
    draw_chart,
    wrap_sentences,
)

ROW, PLOT, FIGURES = 16.0, 280.0, 150.0
LEFT = 300.0
CELL, SMALL = 34.0, 16.0
MOST_RATERS = 60
LONGEST_NAME = 22
SHADES = ("#f7fbff", "#d6e6f4", "#abd0e6", "#6aaed6", "#3787c0", "#105ba4")
NEGATIVE = "#f3c39b"
ALL_TOLERANCES = frozenset({"kappa"})
NOT_COEFFICIENTS = frozenset({"mean_difference"})
Group = tuple[str, list["AgreementStatistic"]]


def plot_coefficients_by_level(view: AgreementView) -> bytes:
    """Draw one line per coefficient, by level: value, interval, and a hollow mark for the model's prediction."""
    groups = [
        (f"{LEVEL_NAMES[one.level]} ({one.n_pairs:,} pairs)", _statistics_to_draw(one, view)) for one in view.levels
    ]
    title = f"Agreement between raters in {next(iter(view.campaigns))}"
    return plot_coefficients(title, groups, [make_caption(view), *map(text_formatting.make_sentence, view.warnings)])


def _statistics_to_draw(level: LevelAgreementView, view: AgreementView) -> list[AgreementStatistic]:
    """Return only the main tolerance of each statistic, but all tolerances of κ by the closed form."""
    ts = view.tolerances
    main = None if not ts else 15.0 if 15.0 in ts else ts[len(ts) // 2]
    return [s for s in level.statistics if s.statistic in ALL_TOLERANCES or s.tolerance in {None, main}]


def _declare_coefficients(title: str, groups: Sequence[Group], notes: Sequence[str]) -> RowChart:  # noqa: ARG001
    drawn = [(heading, s) for heading, inside in groups for s in inside if s.statistic not in NOT_COEFFICIENTS]
    marks = [RowChartMark(f"{label_statistic(s)} · {head}", s.value, s.interval, series="value") for head, s in drawn]
    marks += [
        RowChartMark(f"{label_statistic(s)} · {head}", s.expected, series="expected by the model")
        for head, s in drawn
        if s.expected is not None
    ]
    return RowChart(title, "coefficient", marks, lines=[0.0])


@attach_chart_declaration(_declare_coefficients)
def plot_coefficients(title: str, groups: Sequence[Group], notes: Sequence[str]) -> bytes:
    """Draw one line per coefficient under the heading of its group, as SVG."""
    drawn = [(heading, [s for s in found if s.statistic not in NOT_COEFFICIENTS]) for heading, found in groups]
    top = HEAD + 24
    bottom = top + max(1, sum(len(found) + 1 for _, found in drawn)) * ROW
    width = LEFT + PLOT + FIGURES + MARGIN
    caption_lines = wrap_sentences(notes, width)
    with draw_chart(title, width, bottom + 34, caption_lines) as surface:
        surface.add_heading(title, "Filled: value and interval; hollow: value expected under the model")
        low = _axis_minimum([one for _, found in drawn for one in found])
        _axis(surface, low, top, bottom)
        y = top
        for heading, statistics in drawn:
            surface.add_text(MARGIN, y + ROW / 2, heading, bold=True, size=8.5)
            y += ROW
            for statistic in statistics:
                surface.add_text(LEFT - 8, y + ROW / 2, label_statistic(statistic), ha="right", size=8)
                _mark(surface, statistic, y + ROW / 2, low)
                y += ROW
        if not any(found for _, found in drawn):
            surface.add_text(MARGIN, y + ROW / 2, "nothing was rated twice", color=QUIET)
    return surface.svg


def _axis_minimum(statistics: Sequence[AgreementStatistic]) -> float:
    """Return the left end of the axis: 0, or the lowest value drawn rounded down to a fifth, but at least −1."""
    values = [v for one in statistics for v in (one.value, one.expected, *(one.interval or ())) if v is not None]
    lowest: float = min([0.0, *values])
    return max(-1.0, floor(lowest * 5) / 5)


def _position_on_axis(value: float, low: float) -> float:
    return LEFT + (min(max(value, low), 1.0) - low) / (1 - low) * PLOT


def _axis(surface: DrawingSurface, low: float, top: float, bottom: float) -> None:
    n = round((1 - low) * 5)
    for i in range(n + 1):
        value = low + i / 5
        x = _position_on_axis(value, low)
        surface.add_line((x, x), (top - 4, bottom), color=INK if abs(value) < 1e-9 else FAINT, thick=0.8)
        surface.add_text(x, bottom + 10, text_formatting.format_number(value, 1), ha="center", size=7.5, color=QUIET)


def _mark(surface: DrawingSurface, statistic: AgreementStatistic, y: float, low: float) -> None:
    text = text_formatting.format_number(statistic.value, 2)
    if statistic.interval is not None:
        ends = tuple(_position_on_axis(v, low) for v in statistic.interval)
        surface.add_line(ends, (y, y), color=BLUE, thick=1.4)
        low_end, high_end = (text_formatting.format_number(end, 2) for end in statistic.interval)
        text += f"  [{low_end}, {high_end}]"
    if statistic.expected is not None:
        x = _position_on_axis(statistic.expected, low)
        surface.add_line((x, x), (y, y), color=ORANGE, marker="D", hollow=True)
    if statistic.value is not None:
        x = _position_on_axis(statistic.value, low)
        surface.add_line((x, x), (y, y), color=BLUE, marker="o")
    else:
        text = "not defined"
    surface.add_text(LEFT + PLOT + 10, y, text, size=8, color=QUIET)


def _declare_rater_pairs(view: AgreementView) -> CellChart:
    """Declare Pearson's correlation above the diagonal and the absolute mean difference below it."""
    names = sorted({rater for pair in view.pairs for rater in pair.rater})
    place = {name: i for i, name in enumerate(names)}
    reach = max((pair.absolute for pair in view.pairs), default=0.0) or 1.0
    cells = []
    for pair in view.pairs:
        row, column = sorted(place[name] for name in pair.rater)
        r, apart = text_formatting.format_number(pair.pearson, 2), text_formatting.format_number(pair.absolute, 2)
        about = f"Pearson {r}, mean difference {apart}"
        cells += [
            ChartCell(row, column, pair.pearson or 0.0, r, about),
            ChartCell(column, row, pair.absolute / reach, apart, about),
        ]
    return CellChart(f"Pairs of raters in {next(iter(view.campaigns))}", names, names, cells, "rater", "rater")


@attach_chart_declaration(_declare_rater_pairs)
def plot_rater_pair_heat_map(view: AgreementView) -> bytes:
    """Draw raters against raters: Pearson's correlation above the diagonal, the mean difference below it."""
    names = sorted({rater for pair in view.pairs for rater in pair.rater})
    shown = names[:MOST_RATERS]
    cell = CELL if len(shown) <= 20 else SMALL
    longest = max((len(canvas.shorten_in_middle(name, LONGEST_NAME)) for name in shown), default=8) * CHARACTER
    left, top = MARGIN + longest + 8, HEAD + longest + 8
    bottom = top + max(1, len(shown)) * cell
    width = max(left + len(shown) * cell + MARGIN, 520.0)
    caption_lines = wrap_sentences(_heat_notes(view, len(names)), width)
    with canvas.drawing_lock():
        canvas.prepare_matplotlib()
        surface = DrawingSurface(width, bottom + 56 + len(caption_lines) * LINE + MARGIN)
        campaign = next(iter(view.campaigns))
        surface.add_heading(
            f"Pairs of raters in {campaign}", "Above the diagonal: Pearson's r; below: mean absolute difference"
        )
        _names(surface, shown, left, top, cell)
        reach = max((pair.absolute for pair in view.pairs), default=0.0)
        place = {name: i for i, name in enumerate(shown)}
        for pair in view.pairs:
            if pair.rater[0] in place and pair.rater[1] in place:
                _cells(surface, pair, (place[pair.rater[0]], place[pair.rater[1]]), (left, top, cell), reach)
        if not shown:
            surface.add_text(MARGIN, top + 8, "no text was rated by two raters", color=QUIET)
        _legend(surface, bottom + 20)
        surface.add_caption(caption_lines, bottom + 48)
        return canvas.figure_to_svg(surface.figure, title=f"Pairs of raters in {campaign}")


def _heat_notes(view: AgreementView, n: int) -> list[str]:
    level: LevelAgreementView | None = next((one for one in view.levels if one.n_units), None)
    notes = [] if level is None else [f"On {level.level} that both raters rated; empty if they share none."]
    if n > MOST_RATERS:
        notes.append(f"The first {MOST_RATERS} of {n} raters; the table lists all.")
    return notes + [text_formatting.make_sentence(w) for w in view.warnings]


def _names(surface: DrawingSurface, names: list[str], left: float, top: float, cell: float) -> None:
    for i, name in enumerate(names):
        short = canvas.shorten_in_middle(name, LONGEST_NAME)
        surface.add_text(left - 6, top + (i + 0.5) * cell, short, ha="right", size=7.5)
        surface.add_text(left + (i + 0.5) * cell, top - 6, short, ha="center", size=7.5, vertical=True)
        surface.add_box(left + i * cell, top + i * cell, cell, cell, fill=FAINT, edge=GROUND, thick=0.6)


def _cells(
    surface: DrawingSurface, pair: RaterPairLine, at: tuple[int, int], grid: tuple[float, float, float], reach: float
) -> None:
    left, top, cell = grid
    low, high = min(at), max(at)
    for (row, column), value, share, places in (
        ((low, high), pair.pearson, pair.pearson, 2),
        ((high, low), pair.absolute, pair.absolute / reach if reach else 0.0, 1),
    ):
        x, y = left + column * cell, top + row * cell
        shade = GROUND if share is None else NEGATIVE if share < 0 else SHADES[min(int(share * 6), 5)]
        surface.add_box(x, y, cell, cell, fill=shade, edge=FAINT, thick=0.6)
        if cell >= CELL:
            ink = GROUND if share is not None and share >= 0.66 else INK
            surface.add_text(x + cell / 2, y + cell / 2, _format_value(value, places), ha="center", size=7, color=ink)


def _format_value(value: float | None, places: int) -> str:
    text = text_formatting.format_number(value, places)
    return text.replace("0.", ".", 1) if text.startswith(("0.", "−0.")) else text


def _legend(surface: DrawingSurface, y: float) -> None:
    x = MARGIN
    for shade, text in ((NEGATIVE, "below 0"), *((s, f"from {i / 6:.2f}") for i, s in enumerate(SHADES))):
        surface.add_box(x, y - 5, 10, 10, fill=shade, edge=FAINT, thick=0.6)
        surface.add_text(x + 14, y, text, size=7.5, color=QUIET)
        x += 70
    surface.add_text(MARGIN, y + 14, "Differences are shaded by their share of the largest.", size=7.5, color=QUIET)
