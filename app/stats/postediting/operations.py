"""Edits from one text to another, by kind: the edits that TER counts, and edit distance without shifts.

sacrebleu is imported on first use, because it is slow to load and few campaigns contain post-editing.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.stats.postediting import shifts

LONGEST_SHIFTED = 500
"""Tokens; in longer texts no shifts are searched, as in the scores of judgments, because finding them takes seconds."""


@dataclass(frozen=True, slots=True)
class EditOperations:
    """Edits that turn a text into a reference, and the length of the reference, in tokens."""

    insertions: int
    deletions: int
    substitutions: int
    shifts: int
    length: int

    @property
    def total_edits(self) -> int:
        """Number of all edits, which TER divides by the length."""
        return self.insertions + self.deletions + self.substitutions + self.shifts


@dataclass(frozen=True, slots=True)
class Tokenization:
    """How texts are split into tokens.

    by_character: for languages without spaces. cased: whether upper and lower case differ. normalized: whether
    punctuation is split off as in Tercom.
    """

    by_character: bool = False
    cased: bool = True
    normalized: bool = False

    def tokenize(self, text: str) -> tuple[str, ...]:
        """The tokens of a text.

        >>> Tokenization(by_character=True).tokenize("a bc"), Tokenization(normalized=True).tokenize("Yes, no.")
        (('a', 'b', 'c'), ('Yes', ',', 'no', '.'))
        """
        words = tuple(_metric(self).tokenizer(text.strip()).split())
        return tuple("".join(words)) if self.by_character else words

    @property
    def signature(self) -> str:
        """The tokenization in sacrebleu's notation."""
        metric = _metric(self)
        metric.sentence_score("a", ["a"])
        return f"{metric.get_signature()}|unit:{'character' if self.by_character else 'word'}"


@cache
def _metric(tokens: Tokenization) -> Any:
    from sacrebleu.metrics.ter import TER

    return TER(case_sensitive=tokens.cased, normalized=tokens.normalized)


@cache
def _load_sacrebleu() -> Any:
    from sacrebleu.metrics import lib_ter

    return lib_ter


def count_edit_operations(text: Sequence[str], reference: Sequence[str]) -> EditOperations:
    """Insertions, deletions, substitutions and shifts of phrases, as few as sacrebleu's search finds.

    text, reference : tokens.

    Source: Snover et al. 2006, as sacrebleu 2.6 counts it (its search for shifts, edit distance by beam).

    >>> count_edit_operations("d e f g h a b c".split(), "a b c d e f g h".split())
    EditOperations(insertions=0, deletions=0, substitutions=0, shifts=1, length=8)
    """
    words, wanted = list(text), list(reference)
    if not words or not wanted:
        return EditOperations(len(wanted), len(words), 0, 0, len(wanted))
    seek = max(len(words), len(wanted)) <= LONGEST_SHIFTED
    try:
        n_shifts, trace = shifts.find_shift_count_and_edits(words, wanted, seek=seek)
    except shifts.CheapestPathOutsideBeam:
        n_shifts, trace = _by_sacrebleu(words, wanted, seek=seek)
    return EditOperations(trace.count("i"), trace.count("d"), trace.count("s"), n_shifts, len(wanted))


def _by_sacrebleu(words: list[str], wanted: list[str], *, seek: bool) -> tuple[int, str]:
    """Return the number of shifts and the remaining steps, by sacrebleu's own loop of TER. seek: whether to shift."""
    lib = _load_sacrebleu()
    distance = lib.BeamEditDistance(wanted)
    n_shifts = tried = 0
    while seek:
        gain, following, tried = lib._shift(words, wanted, distance, tried)
        if tried >= lib._MAX_SHIFT_CANDIDATES or gain <= 0:
            break
        words, n_shifts = following, n_shifts + 1
    return n_shifts, distance(words)[1]


def levenshtein_distance(text: Sequence[Hashable], reference: Sequence[Hashable]) -> int:
    """Levenshtein distance: insertions, deletions and substitutions of items, no shifts.

    Computes one column of the table at a time, as the bits of two numbers.

    Source: Levenshtein 1966; Hyyrö 2003 (the columns); Licht et al. 2022, §5.1.

    >>> levenshtein_distance("kitten", "sitting")
    3
    """
    if not reference:
        return len(text)
    masks: dict[Hashable, int] = {}
    for n, item in enumerate(reference):
        masks[item] = masks.get(item, 0) | 1 << n
    last, whole = 1 << (len(reference) - 1), (1 << len(reference)) - 1
    up, down, score = whole, 0, len(reference)
    for item in text:
        match = masks.get(item, 0)
        diagonal = (((match & up) + up) ^ up) | match | down
        rise, fall = down | (whole & ~(diagonal | up)), diagonal & up
        score += bool(rise & last) - bool(fall & last)
        rise = (rise << 1 | 1) & whole
        up, down = ((fall << 1) & whole) | (whole & ~(diagonal | rise)), rise & diagonal
    return score


def chrf(pairs: Sequence[tuple[str, str]]) -> float:
    """chrF2 of a corpus, 0 to 100, NaN without a text: n-grams of up to 6 characters are counted over all pairs.

    pairs : (output, post-edit).

    Source: Popović 2015, with sacrebleu's defaults; Licht et al. 2022, §5.1.

    >>> chrf([("the cat", "the cat")])
    100.0
    """
    kept = [(text, reference) for text, reference in pairs if reference.strip()]
    if not kept:
        return float("nan")
    texts, references = zip(*kept, strict=True)
    return float(_chrf().corpus_score(list(texts), [list(references)]).score)


@cache
def _chrf() -> Any:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()


def chrf_signature() -> str:
    """Return the signature of chrF in sacrebleu's notation."""
    chrf([("a", "a")])
    return str(_chrf().get_signature())
