"""Terms of a glossary in a text: their positions, and the required translations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Characters of scripts that do not separate words by spaces, or that attach endings to them."""


@dataclass(frozen=True, slots=True)
class GlossaryTerm:
    """A term of the source language, and its required translation."""

    term: str
    translation: str


@dataclass(frozen=True, slots=True)
class TermInText:
    """The position of a term in a text, in code points, and the required translation."""

    start: int
    end: int
    translation: str


def preselect_terms(texts: Iterable[str], terms: Sequence[GlossaryTerm]) -> tuple[GlossaryTerm, ...]:
    """Select the terms that may occur in any of the texts, so that each text is searched for few."""
    joined = "\n".join(texts).casefold()
    return tuple(term for term in terms if term.term.casefold() in joined)


def find_terms(text: str, terms: Sequence[GlossaryTerm]) -> tuple[TermInText, ...]:
    """Find the terms as whole words, ignoring case; of terms that start at the same position, the longest.

    >>> find_terms("Hot dogs and a hot dog", (GlossaryTerm("hot dog", "Hotdog"), GlossaryTerm("dog", "Hund")))
    (TermInText(start=15, end=22, translation='Hotdog'),)
    """
    if not terms:
        return ()
    translations = {term.term.casefold(): term.translation for term in terms}
    return tuple(
        TermInText(match.start(), match.end(), translations[said])
        for match in _pattern(tuple(term.term for term in terms)).finditer(text)
        if (said := match[0].casefold()) in translations
    )


@lru_cache(maxsize=64)
def _pattern(terms: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(set(terms), key=lambda term: (-len(term), term))
    return re.compile("|".join(map(_whole_words, longest_first)), re.IGNORECASE)


def _whole_words(term: str) -> str:
    before = r"(?<!\w)" if term[0].isalnum() and not _UNSPACED.match(term[0]) else ""
    after = r"(?!\w)" if term[-1].isalnum() and not _UNSPACED.match(term[-1]) else ""
    return before + re.escape(term) + after
