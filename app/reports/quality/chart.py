"""Control items of each rater: how much worse degraded items were scored, and the result of the test."""

from __future__ import annotations

from math import floor, log10

from app.reports.kit import text_formatting
from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BLUE, FAINT, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import RowChart, RowChartMark, attach_chart_declaration
from app.reports.kit.charts.drawing_surface import CHARACTER, HEAD, MARGIN, draw_chart, wrap_sentences
from app.reports.quality.view import RaterQualityView

ROW, PLOT, WIDTH_OF_FIGURES = 16.0, 260.0, 150.0
LONGEST_NAME = 26
MARKS = {"pass": (BLUE, False), "fail": (ORANGE, False), "not_testable": (QUIET, True)}
WORDS = {"pass": "passed", "fail": "failed", "not_testable": "not testable"}


def _declare_controls(view: RaterQualityView) -> RowChart:
    marks = [
        RowChartMark(
            rater.rater,
            rater.control.mean_difference if rater.control else None,
            text=f"{rater.control.n_pairs if rater.control else 0} pairs",
            series=WORDS[rater.verdict],
            to={"rater": rater.rater},
        )
        for rater in view.raters
    ]
    return RowChart(f"Control items of {view.campaign}", "degraded minus original, mean", marks, lines=[0.0])


@attach_chart_declaration(_declare_controls)
def plot_control_differences(view: RaterQualityView) -> bytes:
    """Draw one line per rater as SVG: mean of degraded minus original, with the adjusted p and the verdict in words.

    Raters who failed are shown as orange squares, those without a verdict as hollow marks.
    """
    names = {one.rater: canvas.shorten_in_middle(one.rater, LONGEST_NAME) for one in view.raters}
    longest = max((len(name) for name in names.values()), default=8) * CHARACTER
    left, top = MARGIN + longest + 12, HEAD + 24
    width = left + PLOT + WIDTH_OF_FIGURES + MARGIN
    bottom = top + max(1, len(view.raters)) * ROW
    caption_lines = wrap_sentences([_sentence(view), *map(text_formatting.make_sentence, view.warnings)], width)
    reach = _reach(view)
    with draw_chart(f"Control items of {view.campaign}", width, bottom + 34, caption_lines) as surface:
        surface.add_heading(f"Control items of {view.campaign}", "Mean of degraded minus original, by rater")
        middle = left + PLOT / 2
        for share in (-1.0, -0.5, 0.0, 0.5, 1.0):
            x = middle + share * PLOT / 2
            surface.add_line((x, x), (top - 4, bottom), color=INK if share == 0 else FAINT, thick=0.8)
            surface.add_text(
                x, bottom + 10, text_formatting.format_number(share * reach, 1), ha="center", size=7.5, color=QUIET
            )
        side = "left" if view.higher_is_better else "right"
        surface.add_text(
            middle,
            top - 12,
            f"the further {side}, the worse the degraded items' scores",
            ha="center",
            size=7.5,
            color=QUIET,
        )
        for i, rater in enumerate(view.raters):
            y = top + (i + 0.5) * ROW
            color, hollow = MARKS[rater.verdict]
            surface.add_text(left - 8, y, names[rater.rater], ha="right", color=INK)
            test = rater.control
            if test and test.mean_difference is not None:
                x = middle + test.mean_difference / reach * PLOT / 2
                marker = "s" if rater.verdict == "fail" else "o"
                surface.add_line((middle, x), (y, y), color=color, thick=1.4)
                surface.add_line((x, x), (y, y), color=color, marker=marker, hollow=hollow)
            pairs = test.n_pairs if test else 0
            text = WORDS[rater.verdict] + (
                f", q {text_formatting.format_p_value(test.q_value)}" if test and test.q_value else ""
            )
            surface.add_text(left + PLOT + 10, y, f"{pairs} pairs, {text}", size=8, color=color)
    return surface.svg


def _reach(view: RaterQualityView) -> float:
    sizes = [abs(one.control.mean_difference or 0.0) for one in view.raters if one.control]
    return _round_up(max(sizes, default=0.0))


def _round_up(size: float) -> float:
    """Round up to 1, 2, 4, 10, 20, 40, 100 …, so that half of the result is a round number too.

    >>> _round_up(61.7), _round_up(0.3), _round_up(0.0), _round_up(3e-15)
    (100.0, 0.4, 1.0, 4e-15)
    """
    if size <= 0:
        return 1.0
    decade = 10.0 ** floor(log10(size))
    return next(float(f"{step * decade:.6g}") for step in (1, 2, 4, 10) if step * decade >= size)


def _sentence(view: RaterQualityView) -> str:
    c = view.choices
    rule = f"{c.test.replace('_', ' ')} test, one-sided, at least {c.min_pairs} pairs"
    return (
        f"{text_formatting.make_sentence(rule)} q is p adjusted over the raters ({c.adjust}); passed below {c.alpha:g}."
    )
