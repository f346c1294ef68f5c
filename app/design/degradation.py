"""Degrades a text so that an attentive rater must find it worse, in languages with and without spaces.

The amounts are published: spans by Knowles 2021 (§2, Appraise), mixed words by WMT24 (`corrupt_text_by_mixing`),
rotation by WMT26.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from app.design.design_choices import Degradation
from app.domain.errors import Invalid

_UNSPACED = ("zh", "ja", "th", "lo", "km", "my", "bo", "yue", "wuu")
_SPAN_LENGTHS = ((1, 1), (5, 2), (8, 3), (15, 4), (20, 5))
_LONGEST_SPAN = 6
_MIXED = 6
_ROTATED_WORDS = 5
_ROTATED_CHARACTERS = 10
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class DegradedText:
    """A degraded text, and the changed parts of it as half-open ranges of code points."""

    text: str
    changed: tuple[tuple[int, int], ...]


def has_no_word_spaces(language: str | None) -> bool:
    """Whether a language is written without spaces between words.

    >>> has_no_word_spaces("zh-Hant"), has_no_word_spaces("de")
    (True, False)
    """
    return (language or "").replace("_", "-").split("-")[0].lower() in _UNSPACED


def compute_replaced_span_length(length: int, *, characters: bool = False) -> int:
    """Return how many words (characters: twice as many) are replaced in a text of the given length.

    >>> [compute_replaced_span_length(n) for n in (1, 5, 8, 15, 20, 21)]
    [1, 2, 3, 4, 5, 6]

    Source: Knowles 2021, §2 (Appraise).
    """
    words = -(-length // 2) if characters else length
    limit = next((span for most, span in _SPAN_LENGTHS if words <= most), _LONGEST_SPAN)
    return min(2 * limit if characters else limit, length)


@dataclass(frozen=True, slots=True)
class DonorTexts:
    """Texts from which words are taken, split once for all texts to be degraded. The caller gives the language.

    units: of each text that has any, sorted by text. places: in that order, by the words of a text.
    """

    units: tuple[list[str], ...]
    places: Mapping[tuple[str, ...], tuple[int, ...]]

    @classmethod
    def from_texts(cls, texts: Sequence[str], language: str | None) -> DonorTexts:
        """Make donors from texts, using each text once."""
        able = [text for text in sorted(set(texts)) if text.split()]
        places: dict[tuple[str, ...], tuple[int, ...]] = {}
        for place, text in enumerate(able):
            words = tuple(text.split())
            places[words] = (*places.get(words, ()), place)
        return cls(tuple(_units(text, has_no_word_spaces(language)) for text in able), MappingProxyType(places))

    def list_units_of_other_texts(self, text: str) -> Sequence[list[str]]:
        """Return the units of texts whose words differ from those of a text."""
        same = self.places.get(tuple(text.split()), ())
        return [units for place, units in enumerate(self.units) if place not in same] if same else self.units


def degrade_text(
    rng: np.random.Generator | Sequence[int],
    text: str,
    *,
    method: Degradation,
    language: str | None,
    donors: Sequence[str] | DonorTexts = (),
) -> DegradedText:
    """Degrade a text.

    Parameters
    ----------
    rng : a generator, or the seed of one.
    donors : other texts of the language, from which span replacement and word mixing take words (references, according
        to the source); rotation needs none. To degrade many texts, split them once (`DonorTexts.from_texts`).

    Returns
    -------
    The text, different from the given one whenever possible.

    Raises
    ------
    Invalid
        There are no words to take, or nothing to change.
    """
    rng = np.random.default_rng(rng)
    characters = has_no_word_spaces(language)
    units = _units(text, characters)
    if method == "rotation":
        return _rotation(rng, units, characters)
    able = (
        donors if isinstance(donors, DonorTexts) else DonorTexts.from_texts(donors, language)
    ).list_units_of_other_texts(text)
    if not able or not units:
        raise Invalid(f"{method} needs a text, and others of the language to take words from")
    if method == "span_replacement":
        return _span_replacement(rng, units, characters, able)
    return _word_mixing(rng, text, characters, able)


def _units(text: str, characters: bool) -> list[str]:
    return list(text.strip()) if characters else text.split()


def _join_units(units: Sequence[str], changed: Sequence[tuple[int, int]], characters: bool) -> DegradedText:
    """Join units into a text, with ranges of units converted to ranges of code points."""
    gap = "" if characters else " "
    starts = np.cumsum([0] + [len(unit) + len(gap) for unit in units]).tolist()
    return DegradedText(gap.join(units), tuple((starts[first], starts[last] - len(gap)) for first, last in changed))


def _draw_integer(rng: np.random.Generator, low: int, high: int) -> int:
    """Draw a whole number from low to high, both included."""
    return int(rng.integers(low, high + 1))


def _span_replacement(
    rng: np.random.Generator, units: Sequence[str], characters: bool, donors: Sequence[Sequence[str]]
) -> DegradedText:
    """Replace a random span by one of the same length from another text.

    In texts of more than three units, the span is neither at the beginning nor at the end.
    """
    inner = int(len(units) > 3)
    span = min(compute_replaced_span_length(len(units), characters=characters), len(units) - 2 * inner)
    start = _draw_integer(rng, inner, len(units) - span - inner)
    replacement = _donor_span(rng, donors, units[start : start + span])
    return _join_units(
        [*units[:start], *replacement, *units[start + span :]], ((start, start + len(replacement)),), characters
    )


def _donor_span(rng: np.random.Generator, donors: Sequence[Sequence[str]], replaced: Sequence[str]) -> list[str]:
    """Return a span of a random donor, from its inside if it is long enough, that differs from the replaced one."""
    span: list[str] = []
    for pick in rng.permutation(len(donors)):
        units = donors[int(pick)]
        inner = int(len(units) >= len(replaced) + 2)
        start = _draw_integer(rng, inner, max(inner, len(units) - len(replaced) - inner))
        span = list(units[start : start + len(replaced)])
        if span != list(replaced):
            break
    return span


def _word_mixing(
    rng: np.random.Generator, text: str, characters: bool, donors: Sequence[Sequence[str]]
) -> DegradedText:
    """In each sentence, replace one run of 2 to 6 words (4 to 12 characters) by words of another text."""
    double = 1 + characters
    units: list[str] = []
    changed = []
    for sentence in _SENTENCE_END.split(text.strip()):
        part = _units(sentence, characters)
        span = min(_draw_integer(rng, 2 * double, _MIXED * double), len(part))
        if not span:
            continue
        start = _draw_integer(rng, 0, len(part) - span)
        replacement = _donor_span(rng, donors, part[start : start + span])
        changed.append((len(units) + start, len(units) + start + len(replacement)))
        units += [*part[:start], *replacement, *part[start + span :]]
    return _join_units(units, changed, characters)


def _rotation(rng: np.random.Generator, units: list[str], characters: bool) -> DegradedText:
    """Rotate a run of 5 words (10 characters), so that its end comes first; a shorter text is rotated as a whole."""
    span = min(_ROTATED_CHARACTERS if characters else _ROTATED_WORDS, len(units))
    start = _draw_integer(rng, 0, len(units) - span)
    run = units[start : start + span]
    turned = [[*run[turn:], *run[:turn]] for turn in range(1, span)]
    able = [order for order in turned if order != run]
    if not able:
        return _join_units(units, (), characters)
    units[start : start + span] = able[int(rng.integers(len(able)))]
    return _join_units(units, ((start, start + span),), characters)
