"""Instructions for one item, as text; other tools write them in HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Final

LONGEST: Final = 5_000
"""Maximum number of characters shown."""
_BLOCKS: Final = frozenset({"p", "br", "div", "li", "ul", "ol", "tr", "h1", "h2", "h3", "h4", "h5", "h6"})
_UNSEEN: Final = frozenset({"script", "style", "template"})


class _TextParser(HTMLParser):
    """Collects the readable text of a page: blocks on separate lines, without scripts and styles."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self._unseen += tag in _UNSEEN
        if tag in _BLOCKS:
            self.parts.append("\n")
        if tag == "li":
            self.parts.append("• ")

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= tag in _UNSEEN and self._unseen > 0
        if tag in _BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.parts.append(data)


def extract_instruction_text(html: str | None) -> str | None:
    """Return the text of instructions in HTML, without tags; None if nothing is left.

    >>> extract_instruction_text("<p>Be <b>formal</b>.</p><ul><li>No &lt;tags&gt;</li></ul><script>alert(1)</script>")
    'Be formal.\\n• No <tags>'
    >>> extract_instruction_text("a < b and no mark") , extract_instruction_text("<br>")
    ('a < b and no mark', None)
    """
    if html is None:
        return None
    parser = _TextParser()
    parser.feed(html[: 4 * LONGEST])
    parser.close()
    lines = [" ".join(line.split()) for line in "".join(parser.parts).splitlines()]
    return "\n".join(line for line in lines if line)[:LONGEST] or None
