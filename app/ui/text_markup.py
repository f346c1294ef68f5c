"""Renders a text with light markup and marks as HTML, like the raters' script, for pages without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from markupsafe import Markup, escape

from app.domain.markup import BLOCKS, INLINE, MarkedUpText

Mark = tuple[int, int, str]
"""Start and end in code points of the shown text, and the class."""


def render_markup_as_html(layout: MarkedUpText, marks: Sequence[Mark] = ()) -> Markup:
    """Render a layout with its text and the marks inside; only names in the list of tags become elements.

    >>> from app.domain.markup import parse_markup
    >>> str(render_markup_as_html(parse_markup("<p>a <b>dog</b> <u></p>"), [(2, 5, "is-minor")]))
    '<div class="laid-p">a <b><mark class="is-minor">dog</mark></b> &lt;u&gt;</div>'
    """
    elements = [one for one in layout.elements if one[0] in BLOCKS or one[0] in INLINE]
    between = _between_blocks(layout)
    cuts = {0, len(layout.shown), *(end for one in (*elements, *marks) for end in one[1:3] if isinstance(end, int))}
    cuts |= {start for start, _, _ in marks} | between | {at + 1 for at in between}
    drawn: list[Markup] = []
    opened: list[tuple[str, int, int]] = []
    n = 0
    for start, end in pairwise(sorted(cuts)):
        while opened and opened[-1][2] <= start:
            drawn.append(_end(opened.pop()[0]))
        while n < len(elements) and elements[n][1] <= start:
            opened.append(elements[n])
            drawn.append(_begin(elements[n][0]))
            n += 1
        if start not in between:
            drawn.append(_piece(layout.shown[start:end], [kind for a, b, kind in marks if a <= start and end <= b]))
    drawn += [_end(tag) for tag, _, _ in reversed(opened)]
    return Markup("").join(drawn)


def _between_blocks(layout: MarkedUpText) -> set[int]:
    """Return the line ends that stand for tags between blocks, because a block begins a line by itself."""
    edges = (at for tag, start, end in layout.elements if tag in BLOCKS for at in (start - 1, end))
    return {at for at in edges if 0 <= at < len(layout.shown) and layout.shown[at] == "\n"}


def _begin(tag: str) -> Markup:
    return Markup("<{}>").format(tag) if tag in INLINE else Markup('<div class="laid-{}">').format(tag)


def _end(tag: str) -> Markup:
    return Markup("</{}>").format(tag) if tag in INLINE else Markup("</div>")


def _piece(text: str, kinds: Sequence[str]) -> Markup:
    if not kinds:
        return escape(text)
    return Markup('<mark class="{}">{}</mark>').format(" ".join(sorted(set(kinds))), text)
