"""Errors planted in translations: the change to the text, and its position afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.demo.grammar import POOR_TERMS, DomainGrammar
from app.demo.texts import DemoSegment, TranslationPiece, choose_random_option

Severity = Literal["major", "minor"]
_LONG_WORD = 7


@dataclass(frozen=True, slots=True)
class PlantedError:
    """An error that a translation really contains: code point offsets on one side; `end` is exclusive."""

    severity: Severity
    category: str
    side: Literal["source", "target"]
    start: int
    end: int
    omission: bool = False


@dataclass(frozen=True, slots=True)
class TranslationPieceReplacement:
    """Replaces the pieces from `first` to `last` by `text`. omitted: the English words that are then missing."""

    first: int
    last: int
    text: str
    category: str
    omitted: str | None = None


@dataclass(frozen=True, slots=True)
class TranslationWithErrors:
    """A text, and the errors planted in it."""

    text: str
    mistakes: tuple[PlantedError, ...]


@dataclass(frozen=True, slots=True)
class _EditContext:
    """What an edit can use: the segment, its pieces, and the indices of pieces that no edit has changed."""

    segment: DemoSegment
    domain: DomainGrammar
    pieces: Sequence[TranslationPiece]
    free: frozenset[int]

    def slots(self) -> list[tuple[int, str]]:
        """Return index and name of unchanged slots."""
        return [(i, p.slot) for i, p in enumerate(self.pieces) if p.slot is not None and i in self.free]

    def words(self, longer_than: int = 1) -> list[int]:
        """Return the indices of unchanged words."""
        return [i for i, p in enumerate(self.pieces) if p.is_word and len(p.text) > longer_than and i in self.free]


Maker = Callable[[_EditContext, np.random.Generator], TranslationPieceReplacement | None]


def plant_errors(
    segment: DemoSegment, domain: DomainGrammar, variant: int, severities: Sequence[Severity], rng: np.random.Generator
) -> TranslationWithErrors:
    """Return a translation with one error for each given severity, as far as the sentence has room for them."""
    pieces = segment.make_translation_pieces(variant)
    edits: dict[int, tuple[Severity, TranslationPieceReplacement]] = {}
    free = set(range(len(pieces)))
    for severity in severities:
        edit = _edit(_EditContext(segment, domain, pieces, frozenset(free)), severity, rng)
        if edit is not None:
            edits[edit.first] = (severity, edit)
            free -= set(range(edit.first - 1, edit.last + 2))
    return _assemble(segment, pieces, edits)


def _edit(place: _EditContext, severity: Severity, rng: np.random.Generator) -> TranslationPieceReplacement | None:
    makers = MAKERS[severity]
    for i in rng.permutation(len(makers)):
        edit: TranslationPieceReplacement | None = makers[int(i)](place, rng)
        if edit is not None:
            return edit
    return None


def _assemble(
    segment: DemoSegment,
    pieces: Sequence[TranslationPiece],
    edits: dict[int, tuple[Severity, TranslationPieceReplacement]],
) -> TranslationWithErrors:
    text, mistakes, i = "", [], 0
    while i < len(pieces):
        if i not in edits:
            text += pieces[i].text
            i += 1
            continue
        severity, edit = edits[i]
        if edit.omitted is not None:
            start = segment.source.index(edit.omitted)
            end = start + len(edit.omitted)
            mistakes.append(PlantedError(severity, edit.category, "source", start, end, omission=True))
        else:
            mistakes.append(PlantedError(severity, edit.category, "target", len(text), len(text) + len(edit.text)))
        text += edit.text
        i = edit.last + 1
    return TranslationWithErrors(text, tuple(mistakes))


def _wrong_phrase(place: _EditContext, rng: np.random.Generator) -> TranslationPieceReplacement | None:
    """Fill a slot with other words, which are fluent but wrong."""
    slots = place.slots()
    if not slots:
        return None
    at, name = choose_random_option(rng, slots)
    others = [german for english, german in place.domain.slots[name] if german != place.pieces[at].text]
    return TranslationPieceReplacement(at, at, choose_random_option(rng, others), "Accuracy/Mistranslation")


def _plant_untranslated(place: _EditContext, rng: np.random.Generator) -> TranslationPieceReplacement | None:
    """Leave the English words untranslated."""
    slots = [(i, name) for i, name in place.slots() if place.segment.filling[name][0] != place.pieces[i].text]
    if not slots:
        return None
    at, name = choose_random_option(rng, slots)
    return TranslationPieceReplacement(at, at, place.segment.filling[name][0], "Accuracy/Untranslated text")


def _omission(place: _EditContext, rng: np.random.Generator) -> TranslationPieceReplacement | None:
    """Leave out an adverbial and the space before it."""
    slots = [(i, n) for i, n in place.slots() if n in place.domain.omissible and i - 1 in place.free]
    slots = [(i, n) for i, n in slots if i > 0 and place.pieces[i - 1].text.isspace()]
    if not slots:
        return None
    at, name = choose_random_option(rng, slots)
    return TranslationPieceReplacement(at - 1, at, "", "Accuracy/Omission", omitted=place.segment.filling[name][0])


def _poor_term(place: _EditContext, rng: np.random.Generator) -> TranslationPieceReplacement | None:
    words = [i for i in place.words() if place.pieces[i].text in POOR_TERMS]
    if not words:
        return None
    at = choose_random_option(rng, words)
    return TranslationPieceReplacement(
        at, at, POOR_TERMS[place.pieces[at].text], "Terminology/Inappropriate for context"
    )


def _word_order(place: _EditContext, rng: np.random.Generator) -> TranslationPieceReplacement | None:
    """Swap two neighbouring words, but never the first, because its capital would give the change away."""
    words = set(place.words(0))
    pairs = [i for i in words if i > 0 and i + 2 in words and i + 1 in place.free and place.pieces[i + 1].text == " "]
    if not pairs:
        return None
    at = choose_random_option(rng, sorted(pairs))
    return TranslationPieceReplacement(
        at, at + 2, f"{place.pieces[at + 2].text} {place.pieces[at].text}", "Fluency/Grammar"
    )


def _spelling(place: _EditContext, rng: np.random.Generator) -> TranslationPieceReplacement | None:
    """Swap two letters inside a long word."""
    words = [i for i in place.words(_LONG_WORD) if _swappable(place.pieces[i].text)]
    if not words:
        return None
    at = choose_random_option(rng, words)
    word = place.pieces[at].text
    j = choose_random_option(rng, _swappable(word))
    return TranslationPieceReplacement(at, at, f"{word[:j]}{word[j + 1]}{word[j]}{word[j + 2 :]}", "Fluency/Spelling")


def _swappable(word: str) -> list[int]:
    return [j for j in range(2, len(word) - 2) if word[j] != word[j + 1]]


def _addition(place: _EditContext, rng: np.random.Generator) -> TranslationPieceReplacement | None:
    """Repeat a short word."""
    words = [i for i in place.words() if len(place.pieces[i].text) < _LONG_WORD and i > 0]
    if not words:
        return None
    at = choose_random_option(rng, words)
    return TranslationPieceReplacement(at, at, f"{place.pieces[at].text} {place.pieces[at].text}", "Accuracy/Addition")


def _punctuation(place: _EditContext, rng: np.random.Generator) -> TranslationPieceReplacement | None:
    """Leave out a comma; the error is marked on the word before it."""
    words = set(place.words(0))
    commas = [i for i, p in enumerate(place.pieces) if p.text == "," and i in place.free and i - 1 in words]
    if not commas:
        return None
    at = choose_random_option(rng, commas)
    return TranslationPieceReplacement(at - 1, at, place.pieces[at - 1].text, "Fluency/Punctuation")


MAKERS: dict[Severity, tuple[Maker, ...]] = {
    "major": (_wrong_phrase, _wrong_phrase, _plant_untranslated, _omission),
    "minor": (_poor_term, _word_order, _spelling, _addition, _punctuation),
}
