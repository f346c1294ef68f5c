"""Strings of a module that people would read and that go through no catalogue; found by reading it letter by letter."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

SAY = {"t", "count"}
# Calls whose strings name something: parts of a page, headers, what an error says to developers.
NAMES = {
    *("$", "querySelector", "querySelectorAll", "closest", "matches", "getElementsByTagName", "getAttribute"),
    *("Error", "TypeError"),
}
FORMATS = {"JSON", "CSV", "LaTeX", "Markdown", "SVG"}
HEADERS = re.compile(r"(Accept|[A-Z][A-Za-z]*(-[A-Z][A-Za-z]*)+)$")
READS = re.compile(r"[A-Z][a-z]+(?![A-Za-z])|.*[a-z]{2,},? [a-z]{2,}")
CALL = re.compile(r"([\w$]+)\s*$")
KEY = re.compile(r'(class|className|prefix|"?[A-Z][A-Za-z-]*"?)\s*[:=]\s*$')


@dataclass
class Scan:
    """The text that is left to read, what stood before it without its strings, and the brackets that are open."""

    text: str
    at: int = 0
    before: str = ""
    open: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)

    def run(self, until: str = "") -> None:
        """Read to the end, or to a closing brace at the level where this began."""
        level = len(self.open)
        while self.at < len(self.text):
            one = self.text[self.at]
            if one == until and len(self.open) == level:
                return
            self._step(one)

    def _step(self, one: str) -> None:
        if self.text.startswith("//", self.at):
            self.at = (self.text + "\n").index("\n", self.at)
        elif one in '"`':
            self._string(one)
        else:
            self.at += 1
            if one in "([{":
                called = CALL.search(self.before)
                self.open.append(called[1] if one == "(" and called else one)
            elif one in ")]}" and self.open:
                self.open.pop()
            self.before = (self.before + one)[-80:]

    def _string(self, quote: str) -> None:
        before, self.at, value = self.before, self.at + 1, ""
        while self.text[self.at] != quote:
            if quote == "`" and self.text.startswith("${", self.at):
                self.at += 2
                self.run(until="}")
                value += "¤"
            elif self.text[self.at] == "\\":
                self.at, value = self.at + 1, value + " "
            else:
                value += self.text[self.at]
            self.at += 1
        self.at += 1
        self.before = before + '""'
        if READS.match(value) and not self._excused(value, before):
            self.found.append(value)

    def _excused(self, value: str, before: str) -> bool:
        within = self.open[-1] if self.open else ""
        return within in SAY | NAMES or value in FORMATS or bool(HEADERS.match(value) or KEY.search(before))


def literal_strings(text: str) -> list[str]:
    """The strings of a module that read like words and that are not said with `t` or `count`."""
    scan = Scan(text)
    scan.run()
    return scan.found
