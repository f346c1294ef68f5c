"""TER's search for phrase shifts: the numbers of sacrebleu with a fraction of its work.

sacrebleu fills a table of costs, cell by cell, for every shift that it tries. Here a column of the table is a few
integers, with one bit per cell. What both texts begin and end with needs no table. A shift is evaluated from the column
where it begins to the last word that it moves, and one that cannot be the best is not evaluated.

sacrebleu looks only at cells near the diagonal: its beam. A cheapest path that stays in the beam is the path that
sacrebleu takes, because both prefer the same steps at equal cost. A path that leaves the beam raises
`CheapestPathOutsideBeam`, and the caller must use sacrebleu itself; this happens with long texts that have little in
common.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

BEAM = 25
LONGEST_SHIFT = 10
FARTHEST_SHIFT = 50
MOST_TRIED = 1000
"""Limits of sacrebleu's search.

Cells beside the diagonal; words of a shift; positions between the words in the text and the same words in the
reference; shifts tried in all.
"""
KEEP, SUBSTITUTE, DELETE, INSERT = " ", "s", "d", "i"

Column = tuple[int, int, int, int]
"""One column of the table.

Bits of the cells that are one more than the cell above, one less than it, one more than the cell to the left, one less
than it.
"""


class CheapestPathOutsideBeam(Exception):
    """The cheapest path leaves the beam, so sacrebleu may take a more expensive one."""


class EditCostColumnComputer:
    """The tokens of a reference, at least one, from which columns of the table of costs are computed."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = list(tokens)
        self._bits: dict[str, int] = {}
        bits, place = self._bits, 1
        for token in tokens:
            bits[token] = bits.get(token, 0) | place
            place <<= 1
        self._every = place - 1

    @cached_property
    def token_positions(self) -> dict[str, list[int]]:
        """Positions of each token."""
        places: dict[str, list[int]] = {}
        for place, token in enumerate(self.tokens):
            places.setdefault(token, []).append(place)
        return places

    def columns_of_equal_prefix(self, n_equal: int) -> list[Column]:
        """The columns before any word and after each of the first `n_equal` words, which equal the first tokens.

        After n of these, the cost of a cell is its distance from the n-th.
        """
        every, columns = self._every, [(self._every, 0, 0, 0)]
        below = 0
        for _ in range(n_equal):
            rise, below = below, below << 1 | 1
            columns.append((every ^ below, below, rise, every ^ rise))
        return columns

    def next_columns(self, words: Sequence[str], start: Column) -> list[Column]:
        """The columns after each of some words, starting from the column before them.

        Source: Hyyrö 2003.
        """
        every, bits = self._every, self._bits
        above, below, _, _ = start
        columns: list[Column] = []
        for word in words:
            match = bits.get(word, 0)
            diagonal = (((((match & above) + above) ^ above) | match | below) & every) if match else below
            rise, fall = below | (every ^ (diagonal | above)), diagonal & above
            shifted = (rise << 1 | 1) & every
            above, below = ((fall << 1) & every) | (every ^ (diagonal | shifted)), shifted & diagonal
            columns.append((above, below, rise, fall))
        return columns


def _cost_of(columns: Sequence[Column], n_tokens: int) -> int:
    """The cost in a cell of the last column: deleting every word, then going down the column to `n_tokens` tokens."""
    above, below, _, _ = columns[-1]
    cells = (1 << n_tokens) - 1
    return len(columns) - 1 + (above & cells).bit_count() - (below & cells).bit_count()


def _count_alike(words: Sequence[str], tokens: Sequence[str]) -> tuple[int, int]:
    """Number of equal words and tokens at the start, and at the end; the end is counted first."""
    least, last = min(len(words), len(tokens)), 0
    while last < least and words[-1 - last] == tokens[-1 - last]:
        last += 1
    first, least = 0, least - last
    while first < least and words[first] == tokens[first]:
        first += 1
    return first, last


def _least_cost(words: Sequence[str], tokens: Sequence[str]) -> int:
    """Number of edits that remain whatever the order of the words."""
    left: dict[str, int] = {}
    for token in tokens:
        left[token] = left.get(token, 0) + 1
    kept = 0
    for word in words:
        n = left.get(word, 0)
        if n:
            left[word], kept = n - 1, kept + 1
    return max(len(words), len(tokens)) - kept


@dataclass(frozen=True, slots=True)
class EditAlignment:
    """The cheapest path from some words to a reference.

    partner : for each token of the reference, the last word matched to it or to an earlier token; -1 for none.
    word_errors, token_errors : for each word and each token, the position of the first error at or after it; the number
    of words or tokens if there is none.
    """

    partner: list[int]
    word_errors: list[int]
    token_errors: list[int]


def find_shift_count_and_edits(words: Sequence[str], tokens: Sequence[str], *, seek: bool = True) -> tuple[int, str]:
    """Number of sacrebleu's shifts, and the remaining steps KEEP, SUBSTITUTE, DELETE, INSERT, the last first.

    seek: whether to search for shifts.

    Raises CheapestPathOutsideBeam.
    """
    if words == tokens:
        return 0, KEEP * len(words)  # raters leave many outputs unchanged
    reference, text = _reference(tuple(tokens)), list(words)
    shifts = tried = 0
    while True:
        first, last = _count_alike(text, tokens)
        words_end, tokens_end = len(text) - last, len(tokens) - last
        columns = reference.columns_of_equal_prefix(first)
        columns += reference.next_columns(text[first:words_end], columns[-1])
        cost = _cost_of(columns, tokens_end)
        trace = _trace(text, reference.tokens, columns, first)
        if _may_leave_beam(cost, len(text), len(tokens)):
            _check_in_beam(trace, len(text), len(tokens))
        # Shifts only reorder words, so most pairs need no search.
        if not seek or cost <= 1 or cost == _least_cost(text[first:words_end], tokens[first:tokens_end]):
            return shifts, trace
        alignment = _alignment_of(trace, len(text), len(tokens))
        following, tried = _best_shift(text, reference, columns, alignment, before=cost, tried=tried)
        if following is None or tried >= MOST_TRIED:
            return shifts, trace
        text, shifts = following, shifts + 1


_reference = lru_cache(maxsize=64)(EditCostColumnComputer)  # a reference is compared with the outputs of all systems


def _trace(words: Sequence[str], tokens: Sequence[str], columns: Sequence[Column], first: int) -> str:
    """The steps of the cheapest path, the last first.

    At equal cost, keeping or substituting comes before deleting, and deleting before inserting. Therefore the last
    words that equal the last tokens are kept, and need no columns.

    first : how many of the first words equal the first tokens.
    """
    i = len(columns) - 1
    kept = len(words) - i
    j, steps = len(tokens) - kept, [KEEP] * kept
    while i and j:
        if words[i - 1] == tokens[j - 1]:
            if i == j <= first:
                return "".join(steps) + KEEP * i
            steps.append(KEEP)
            i -= 1
            j -= 1
            continue
        above, below, rise, fall = columns[i]
        bit = 1 << (j - 1)
        if _row_step(above, below, bit) + (_row_step(rise, fall, bit >> 1) if j > 1 else 1) == 1:
            step = SUBSTITUTE
        else:
            step = DELETE if rise & bit else INSERT
        steps.append(step)
        i -= step != INSERT
        j -= step != DELETE
    return "".join(steps) + DELETE * i + INSERT * j


def _check_in_beam(trace: str, n_words: int, n_tokens: int) -> None:
    """Raise CheapestPathOutsideBeam if a path has cells that sacrebleu does not look at."""
    ratio = n_tokens / n_words
    width = BEAM if ratio / 2 <= BEAM else math.ceil(ratio / 2 + BEAM)
    if n_tokens < width:
        return
    i, j = n_words, n_tokens
    for step in trace:
        if not (i and j):
            break
        away = j - int(i * ratio)
        if away < -width or (away >= width and i < n_words):
            raise CheapestPathOutsideBeam
        i -= step != INSERT
        j -= step != DELETE
    if int(i * ratio) > width:
        raise CheapestPathOutsideBeam


def _may_leave_beam(cost: int, n_words: int, n_tokens: int) -> bool:
    """Return whether a path of this cost can leave the beam: each cell off the diagonal costs a step there and back."""
    return (cost + abs(n_words - n_tokens) + 1) // 2 >= BEAM


def _row_step(more: int, less: int, bit: int) -> int:
    return 1 if more & bit else -1 if less & bit else 0


def _alignment_of(trace: str, n_words: int, n_tokens: int) -> EditAlignment:
    partner, word_errors, token_errors = [0] * n_tokens, [0] * n_words, [0] * n_tokens
    word, token = word_error, token_error = n_words, n_tokens
    for step in trace:
        if step != DELETE:
            token -= 1
            token_error = token_error if step == KEEP else token
            token_errors[token] = token_error
        if step != INSERT:
            word -= 1
            word_error = word_error if step == KEEP else word
            word_errors[word] = word_error
        if step != DELETE:
            partner[token] = word - (step == INSERT)
    return EditAlignment(partner, word_errors, token_errors)


def _best_shift(
    words: list[str],
    reference: EditCostColumnComputer,
    columns: Sequence[Column],
    alignment: EditAlignment,
    *,
    before: int,
    tried: int,
) -> tuple[list[str] | None, int]:
    """Return the words after the shift that saves most, None if none saves, and how many shifts were tried so far.

    columns : all but those of the last words that equal the last tokens. before : the cost of the words as they are.
    Among shifts that save the same: the longest, then the leftmost start, then the leftmost target.
    """
    best: tuple[int, int, int, int, list[str]] | None = None
    costs: dict[tuple[str, ...], int] = {}
    unlike = len(columns) - 1
    for start, size, targets in _candidates(words, reference, alignment):
        for target in targets:
            if 2 * size < (best[0] if best else 1):
                continue  # a shift saves at most a deletion and an insertion of each of its words
            following = _shift_words(words, start, size, target)
            key = tuple(following)
            if key not in costs:
                moved = target if target > start + size else min(max(start, target) + size, len(words))
                costs[key] = _cost(following, reference, columns[: min(start, target) + 1], max(moved, unlike))
            candidate = (before - costs[key], size, -start, -target, following)
            if candidate[0] > 0 and (best is None or candidate > best):
                best = candidate
        tried += len(targets)
        if tried >= MOST_TRIED:
            break
    return best and best[-1], tried


def _candidates(
    words: Sequence[str], reference: EditCostColumnComputer, alignment: EditAlignment
) -> Iterator[tuple[int, int, list[int]]]:
    """Yield phrases that the reference has elsewhere, with an error in both places: start, number of words, targets."""
    tokens, partner = reference.tokens, alignment.partner
    for start, word in enumerate(words):
        wrong_word = alignment.word_errors[start] - start
        if wrong_word >= LONGEST_SHIFT:
            continue
        for place in reference.token_positions.get(word, ()):
            inside = partner[place] - start  # no phrase moves into itself
            if inside == 0:
                continue
            shortest = max(wrong_word, alignment.token_errors[place] - place) + 1
            longest = min(LONGEST_SHIFT, len(words) - start, len(tokens) - place)
            longest = min(longest, inside) if inside > 0 else longest
            if shortest > longest or abs(place - start) > FARTHEST_SHIFT:
                continue
            size = 1
            while size < longest and words[start + size] == tokens[place + size]:
                size += 1
            for length in range(shortest, size + 1):
                targets = [0] * (place == 0) + [n + 1 for n in partner[place - 1 if place else 0 : place + length]]
                yield start, length, [t for n, t in enumerate(targets) if n == 0 or t != targets[n - 1]]


def _shift_words(words: list[str], start: int, size: int, target: int) -> list[str]:
    """Move a phrase before the word at `target`; a target inside the phrase moves it right."""
    stretch, rest = words[start : start + size], words[:start] + words[start + size :]
    at = target - size if target > start + size else target
    return [*rest[:at], *stretch, *rest[at:]]


def _cost(words: list[str], reference: EditCostColumnComputer, columns: Sequence[Column], end: int) -> int:
    """The edit distance from the words to the reference.

    columns : the known ones, from the start. end : end of the words that need columns; the words after it equal the
    last tokens.
    """
    table = [*columns, *reference.next_columns(words[len(columns) - 1 : end], columns[-1])]
    n_tokens = len(reference.tokens)
    cost = _cost_of(table, n_tokens - (len(words) - end))
    if _may_leave_beam(cost, len(words), n_tokens):
        _check_in_beam(_trace(words, reference.tokens, table, 0), len(words), n_tokens)
    return cost
