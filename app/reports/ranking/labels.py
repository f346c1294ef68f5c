"""What pictures call a system."""

from __future__ import annotations

from functools import cache

from app.reports.kit.charts import canvas
from app.reports.ranking import tables as ranking_tables
from app.reports.ranking.view import SystemLine

LONGEST = 40


def label_system(line: SystemLine) -> str:
    """The name of a system with its key, where the font has its letters; else the key alone."""
    text = ranking_tables.label_system_with_key(line)
    return canvas.shorten_in_middle(text if _drawable() >= set(text) else line.system, LONGEST)


@cache
def _drawable() -> frozenset[str]:
    """The characters of the font that texts are measured with; of others the width is unknown."""
    from matplotlib import font_manager

    font = font_manager.get_font(font_manager.findfont(canvas.FONTS[0]))
    return frozenset(map(chr, font.get_charmap()))
