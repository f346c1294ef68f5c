"""Figures as SVG bytes that depend only on what is drawn."""

from __future__ import annotations

import io
import re
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 72.0
INK, QUIET, FAINT, BAND, GROUND = "#1b1f24", "#57606a", "#b8c0c8", "#f1f4f7", "#ffffff"
BLUE, ORANGE = "#0b5fa5", "#b35806"  # distinguishable under every common form of colour blindness, and by shape too
FONTS = ["DejaVu Sans", "Helvetica", "Arial", "sans-serif"]

# matplotlib sets all line styles in a style sheet; here the root passes them on. A tag ends with the first `>`, because
# attributes and texts contain it as an entity.
_SHEET = '  <style type="text/css">*{stroke-linejoin: round; stroke-linecap: butt}</style>\n'
_LINES = 'stroke-linejoin="round" stroke-linecap="butt"'
_TAG, _STYLE = re.compile(r"<[a-z][^<>]*+>"), re.compile(r'style="([^"]*+)"')

_lock = threading.Lock()
_prepared = False


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure on a light background; sizes in points. Draw and save it under `drawing_lock()`."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width / POINTS, height / POINTS), facecolor=GROUND)


def drawing_lock() -> threading.Lock:
    """Return the lock for drawing; matplotlib's settings and font caches are shared by the whole process."""
    return _lock


def figure_to_svg(figure: Figure, *, title: str) -> bytes:
    """Return SVG with text as text, no date or version, and ids from a fixed salt. Call under `drawing_lock()`."""
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Title": clean_chart_text(title)})
    return turn_styles_into_attributes(out.getvalue().decode()).encode()


def turn_styles_into_attributes(svg: str) -> str:
    """Return the same picture with attributes instead of styles, which a content security policy could block.

    >>> turn_styles_into_attributes('<svg><path style="fill: none; stroke-width: 0.8"/><text>style="x: y"</text></svg>')
    '<svg><path fill="none" stroke-width="0.8"/><text>style="x: y"</text></svg>'
    """
    bare = svg.replace(_SHEET, "", 1)
    lines = bare if bare == svg else bare.replace("<svg ", f"<svg {_LINES} ", 1)
    return _TAG.sub(lambda tag: _STYLE.sub(_attributes, tag[0]), lines)


def _attributes(style: re.Match[str]) -> str:
    """Write each property of a style as a separate attribute."""
    pairs = (one.split(":", 1) for one in style[1].split(";") if one.strip())
    return " ".join(f'{name.strip()}="{value.strip()}"' for name, value in pairs)


def prepare_matplotlib() -> None:
    """Set matplotlib's process-wide settings once, overriding the user's configuration. Call under `drawing_lock()`."""
    global _prepared
    if _prepared:
        return
    import matplotlib as mpl

    mpl.rcdefaults()
    mpl.rcParams.update(
        {
            "svg.hashsalt": "plumbline",
            "svg.fonttype": "none",
            "font.family": "sans-serif",
            "font.sans-serif": FONTS[:-1],
            "font.size": 9.0,
            "text.parse_math": False,
            "axes.unicode_minus": True,
            "path.simplify": False,
        }
    )
    _prepared = True


def clean_chart_text(text: str) -> str:
    """Return the text on one line, without characters that XML cannot contain."""
    return "".join(c if c.isprintable() else " " for c in text)


def shorten_in_middle(text: str, most: int) -> str:
    """Shorten a text to `most` characters by cutting from the middle, where names differ least."""
    plain = clean_chart_text(text)
    if len(plain) <= most:
        return plain
    head = (most - 1) * 2 // 3
    return f"{plain[:head]}…{plain[len(plain) - (most - 1 - head) :]}"
