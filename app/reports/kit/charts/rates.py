"""What a recipe promises and keeps: simulated rates with their errors beside the promised ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.reports.kit import captions
from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BAND, BLUE, INK, ORANGE, QUIET
from app.reports.kit.charts.sheet import CHARACTER, HEAD, LINE, MARGIN, Sheet, wrapped

ROW, SCALE, FIGURES = 18.0, 260.0, 170.0


@dataclass(frozen=True, slots=True)
class RateLine:
    """One rate: the world it is of, what it counts, what is promised, and what simulation found."""

    world: str
    name: str
    expected: float | None
    bound: str
    rate: float | None
    ends: tuple[float, float] | None
    kept: bool | None


def rates_picture(title: str, lines: Sequence[RateLine], told: Sequence[str]) -> bytes:
    """A row a rate on a scale from 0 to 1; broken promises in another colour and said so; as SVG."""
    left = MARGIN + max((len(line.name) for line in lines), default=8) * CHARACTER + 12
    width = left + SCALE + FIGURES + MARGIN
    sentences = wrapped(told, width)
    worlds = list(dict.fromkeys(line.world for line in lines))
    bottom = HEAD + 6 + len(lines) * ROW + len(worlds) * 28
    with canvas.drawing():
        canvas.prepare()
        sheet = Sheet(width, bottom + 18 + len(sentences) * LINE + MARGIN)
        sheet.heading(title, "Simulated shares with one-sided bounds at 99 %; the upright line is what is promised")
        y = HEAD + 6
        for world in worlds:
            sheet.text(MARGIN, y + 16, world, bold=True)
            y += 28
            for line in lines:
                if line.world == world:
                    _line(sheet, line, left, y)
                    y += ROW
        sheet.caption(sentences, bottom + 18)
        return canvas.to_svg(sheet.figure, title=title)


def _line(sheet: Sheet, line: RateLine, left: float, y: float) -> None:
    middle = y + ROW / 2
    sheet.text(left - 8, middle, line.name, ha="right")
    sheet.box(left, y + 4, SCALE, ROW - 8, fill=BAND)
    if line.rate is None or line.ends is None:
        sheet.text(left + SCALE + 8, middle, "nothing to say", size=8, color=QUIET)
        return
    colour = ORANGE if line.kept is False else BLUE
    low, high = line.ends
    sheet.box(left + low * SCALE, middle - 1, (high - low) * SCALE, 2, fill=colour)
    sheet.box(left + line.rate * SCALE - 3, middle - 3, 6, 6, fill=colour)
    if line.expected is not None:
        sheet.box(left + line.expected * SCALE - 0.6, y + 2, 1.2, ROW - 4, fill=INK)
    promised = "" if line.expected is None else f" · {line.bound} {line.expected:g}"
    broken = " · broken" if line.kept is False else ""
    said = f"{captions.number(line.rate, 3)}{promised}{broken}"
    sheet.text(left + SCALE + 8, middle, said, size=8, color=INK if broken else QUIET)
