"""A surface to draw on in points from the top left: texts, boxes, lines, and a caption. Use it under the lock."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from app.reports.kit import text_formatting
from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import INK, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARGIN = 16.0
LINE = 11.5  # height of a caption line
CHARACTER = 5.6  # width of a character in a name, generous, so that any font fits
CAPTION_CHARACTER = 4.2
HEAD = 46.0  # space for the heading and the line below it
Across = Literal["left", "center", "right"]


@dataclass(slots=True)
class DrawingSurface:
    """An empty surface; sizes in points. svg: the drawing, once `draw_chart` has finished it."""

    width: float
    height: float
    svg: bytes = field(init=False, repr=False)
    figure: Figure = field(init=False)
    axes: Axes = field(init=False)

    def __post_init__(self) -> None:
        self.figure = canvas.new_figure(self.width, self.height)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_xlim(0, self.width)
        self.axes.set_ylim(self.height, 0)
        self.axes.axis("off")

    def add_text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        ha: Across = "left",
        color: str = INK,
        size: float = 9.0,
        bold: bool = False,
        vertical: bool = False,
    ) -> None:
        """Draw a text with its middle line at y. vertical: rotate it so that it reads from below."""
        self.axes.text(
            x,
            y,
            canvas.clean_chart_text(text),
            ha=ha,
            va="bottom" if vertical else "center_baseline",
            color=color,
            size=size,
            weight="bold" if bold else "normal",
            rotation=90 if vertical else 0,
            rotation_mode="default",
        )

    def add_box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str | None = None,
        edge: str | None = None,
        thick: float = 1.0,
        hatch: str | None = None,
    ) -> None:
        """Draw a filled or outlined rectangle."""
        from matplotlib.patches import Rectangle

        self.axes.add_patch(
            Rectangle(
                (x, y),
                width,
                height,
                facecolor=fill or "none",
                edgecolor=edge or "none",
                linewidth=thick if edge else 0.0,
                hatch=hatch,
                joinstyle="miter",
                zorder=2,
            )
        )

    def add_line(
        self,
        xs: Sequence[float],
        ys: Sequence[float],
        *,
        color: str = INK,
        thick: float = 1.0,
        marker: str = "",
        hollow: bool = False,
        dashed: bool = False,
    ) -> None:
        """Draw a line through points, with a marker at each if one is given."""
        self.axes.plot(
            xs,
            ys,
            color=color,
            zorder=1,
            linewidth=thick,
            linestyle=(0, (3, 2)) if dashed else "solid",
            marker=marker or None,
            markersize=5.0,
            markerfacecolor=canvas.GROUND if hollow else color,
            markeredgecolor=color,
        )

    def add_heading(self, title: str, subtitle: str) -> None:
        """The title and a line below it."""
        most = int((self.width - 2 * MARGIN) / 6.6)
        self.add_text(MARGIN, 18, canvas.shorten_in_middle(title, most), size=11.5, bold=True)
        self.add_text(MARGIN, 33, subtitle, size=8.5, color=QUIET)

    def add_caption(self, lines: Sequence[str], y: float) -> None:
        """Write lines below the drawing, the first at y."""
        for i, line in enumerate(lines):
            self.add_text(MARGIN, y + i * LINE, line, size=7.5, color=QUIET)


def wrap_sentences(sentences: Iterable[str], width: float) -> tuple[str, ...]:
    """Wrap sentences into lines that fit a surface of this width."""
    columns = int((width - 2 * MARGIN) / CAPTION_CHARACTER)
    return tuple(
        line for text in sentences for line in textwrap.wrap(canvas.clean_chart_text(text), columns, max_lines=5)
    )


def wrap_notes_as_sentences(notes: Iterable[str], width: float) -> tuple[str, ...]:
    """Turn statements, such as warnings, into sentences and wrap them to fit a surface of this width."""
    return wrap_sentences([text_formatting.make_sentence(text.rstrip(".")) for text in notes], width)


@contextmanager
def draw_chart(svg_title: str, width: float, bottom: float, caption: Sequence[str]) -> Iterator[DrawingSurface]:
    """Yield a surface to draw on; afterwards, add the lines of the caption from `bottom` on, and store the `svg`."""
    with canvas.drawing_lock():
        canvas.prepare_matplotlib()
        surface = DrawingSurface(width, bottom + len(caption) * LINE + MARGIN)
        yield surface
        surface.add_caption(caption, bottom)
        surface.svg = canvas.figure_to_svg(surface.figure, title=svg_title)
