"""Terms of a glossary in a text: where they stand, and the translations that are wanted for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts that put no spaces between words, or put endings onto them."""


@dataclass(frozen=True, slots=True)
class GlossaryTerm:
    """A term of the source language, and how it is to be translated."""

    term: str
    translation: str


@dataclass(frozen=True, slots=True)
class TermInText:
    """Where a term stands in a text, in code points, and the translation that is wanted."""

    start: int
    end: int
    translation: str


def preselect_terms(texts: Iterable[str], terms: Sequence[GlossaryTerm]) -> tuple[GlossaryTerm, ...]:
    """Those that may stand in any of the texts, so that each text is searched for few."""
    joined = "\n".join(texts).casefold()
    return tuple(term for term in terms if term.term.casefold() in joined)


def find_terms(text: str, terms: Sequence[GlossaryTerm]) -> tuple[TermInText, ...]:
    """Where the terms stand as whole words, in any case of letters; of those that begin at one place the longest.

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
