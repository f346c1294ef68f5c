"""The search for shifts gives sacrebleu's numbers, inside its beam and outside, and says when it is outside."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext

import pytest
from sacrebleu.metrics import lib_ter

from app.stats.postediting import shifts
from app.stats.postediting.operations import LONGEST_SHIFTED, count_edit_operations

LENGTHS = (1, 2, 5, 12, 20, 24, 25, 26, 27, 40, 51, 70)
SHORT = (1, 2, 5, 8, 12, 15)  # sacrebleu takes seconds for a long pair


def edited(words: Sequence[str], vocabulary: Sequence[str], edits: int, draw: random.Random) -> list[str]:
    """The words after some substitutions, deletions, insertions and shifts."""
    text = list(words)
    for _ in range(edits):
        place = draw.randrange(len(text))
        match draw.randrange(4):
            case 0:
                text[place] = draw.choice(vocabulary)
            case 1 if len(text) > 1:
                del text[place]
            case 2:
                text.insert(place, draw.choice(vocabulary))
            case _:
                stretch = text[place : place + draw.randint(1, 12)]
                del text[place : place + len(stretch)]
                target = draw.randint(0, len(text))
                text[target:target] = stretch
    return text


def pairs(n: int, lengths: Sequence[int], seed: int) -> list[tuple[list[str], list[str]]]:
    """Texts and references: near, far, unrelated, of unequal length, with few and with many different words."""
    draw = random.Random(seed)
    drawn = []
    for _ in range(n):
        vocabulary = [f"w{k}" for k in range(draw.choice((2, 8, 40, 3000)))]
        reference = draw.choices(vocabulary, k=draw.choice(lengths))
        near = draw.random() < 0.7
        text = edited(reference, vocabulary, draw.randint(0, 1 + len(reference) // 3), draw) if near else []
        drawn.append((text or draw.choices(vocabulary, k=draw.choice(lengths)), reference))
    return drawn


def by_sacrebleu(text: list[str], reference: list[str]) -> tuple[int, int]:
    """Edits and length, by sacrebleu's own function."""
    edits, length = lib_ter.translation_edit_rate(text, reference)
    return edits, length


def differing(n: int, lengths: Sequence[int], seed: int) -> tuple[list[object], Counter[bool]]:
    """Pairs with another number of edits, other shifts or other steps; and how many are inside of the beam."""
    wrong: list[object] = []
    inside: Counter[bool] = Counter()
    for text, reference in pairs(n, lengths, seed):
        counted = count_edit_operations(text, reference)
        if (counted.total_edits, counted.length) != by_sacrebleu(text, reference):
            wrong.append((text, reference, counted))
        try:
            n_shifts, trace = shifts.find_shift_count_and_edits(text, reference)
        except shifts.CheapestPathOutsideBeam:
            inside[False] += 1
            continue
        inside[True] += 1
        if (n_shifts, trace) != _steps_by_sacrebleu(text, reference):
            wrong.append((text, reference, n_shifts, trace))
    return wrong, inside


def _steps_by_sacrebleu(text: list[str], reference: list[str]) -> tuple[int, str]:
    distance, n_shifts, tried = lib_ter.BeamEditDistance(reference), 0, 0
    while True:
        gain, following, tried = lib_ter._shift(text, reference, distance, tried)
        if gain <= 0 or tried >= lib_ter._MAX_SHIFT_CANDIDATES:
            return n_shifts, distance(text)[1][::-1]
        text, n_shifts = following, n_shifts + 1


def test_shifts_and_steps_are_those_of_sacrebleu() -> None:
    wrong, inside = differing(40, LENGTHS, seed=1)
    assert not wrong
    assert inside[True] > 30


@pytest.mark.soak
def test_shifts_and_steps_are_those_of_sacrebleu_for_50_000_pairs() -> None:
    for n, lengths in ((50_000, SHORT), (200, LENGTHS)):
        wrong, inside = differing(n, lengths, seed=2)
        assert not wrong[:3]
        assert inside[True] > n * 3 // 4


@pytest.mark.parametrize("words", [shifts.BEAM - 1, shifts.BEAM])
def test_outside_of_its_beam_sacrebleu_is_asked(words: int) -> None:
    """A text that the reference repeats after many other words is matched only far from the diagonal."""
    text = [f"w{n}" for n in range(27)]
    reference = [f"x{n}" for n in range(words)] + text
    padded = text + [f"y{n}" for n in range(words)]
    with pytest.raises(shifts.CheapestPathOutsideBeam) if words >= shifts.BEAM else nullcontext():
        shifts.find_shift_count_and_edits(padded, reference, seek=False)
    counted = count_edit_operations(padded, reference)
    assert (counted.total_edits, counted.length) == by_sacrebleu(padded, reference)


def test_the_limits_are_those_of_sacrebleu() -> None:
    assert lib_ter._BEAM_WIDTH == shifts.BEAM
    assert lib_ter._MAX_SHIFT_SIZE == shifts.LONGEST_SHIFT
    assert lib_ter._MAX_SHIFT_DIST == shifts.FARTHEST_SHIFT
    assert lib_ter._MAX_SHIFT_CANDIDATES == shifts.MOST_TRIED


def test_too_many_tries_end_the_search_as_in_sacrebleu() -> None:
    text, reference = ["a", "b"] * 30, ["b", "b", "a"] * 20
    counted = count_edit_operations(text, reference)
    assert (counted.total_edits, counted.length) == by_sacrebleu(text, reference)


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_longer_texts_are_compared_without_shifts(extra: int) -> None:
    """Beside the limit: at it shifts are sought, above it they are not."""
    text = [f"w{n}" for n in range(LONGEST_SHIFTED + extra)]
    moved = text[3:6] + text[:3] + text[6:]
    assert (count_edit_operations(moved, text).shifts > 0) is (extra <= 0)
