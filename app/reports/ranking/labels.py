"""Labels of systems in charts."""

from __future__ import annotations

from functools import cache

from app.reports.kit.charts import canvas
from app.reports.ranking import tables as ranking_tables
from app.reports.ranking.view import SystemLine

LONGEST = 40


def label_system_in_chart(line: SystemLine) -> str:
    """Return the name of a system with its key if the font has all its characters; else the key alone."""
    text = ranking_tables.label_system_with_key(line)
    return canvas.shorten_in_middle(text if _drawable() >= set(text) else line.system, LONGEST)


@cache
def _drawable() -> frozenset[str]:
    """Return the characters of the font with which texts are measured; the width of others is unknown."""
    from matplotlib import font_manager

    font = font_manager.get_font(font_manager.findfont(canvas.FONTS[0]))
    return frozenset(map(chr, font.get_charmap()))
