"""Managers' Markdown as HTML: raw HTML and pictures are not allowed, and links open in a new tab."""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup


def markdown_to_html(text: str) -> Markup:
    """Return the text as HTML that is safe on a page. Headings start at level 2, as the page itself has level 1."""
    reader = _reader()
    tokens = reader.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
        for inner in token.children or ():
            if inner.type == "link_open":
                _leaves(inner)
    return Markup(reader.renderer.render(tokens, reader.options, {}))  # noqa: S704  (the reader escapes all HTML)


def _leaves(link: Token) -> None:
    link.attrSet("rel", "noopener noreferrer nofollow")
    link.attrSet("target", "_blank")


@cache
def _reader() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").disable("image")
