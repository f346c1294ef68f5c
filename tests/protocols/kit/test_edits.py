"""Edits between a text and its post-edit: distances, shifts, and what stayed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.protocols.kit.edits import EditCounts, compute_chrf, count_character_edits, count_ter_edits
from app.stats.postediting.operations import LONGEST_SHIFTED

TEXTS = st.text("ab c", max_size=12)
WORDS = st.lists(st.sampled_from("abcd"), max_size=9).map(" ".join)


def slow_distance(one: str, other: str) -> int:
    """Levenshtein distance cell by cell."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        above, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]


def slow_chrf(one: str, other: str) -> float:
    """chrF2 with lists for counters."""
    one, other = one.replace(" ", ""), other.replace(" ", "")
    precisions, recalls = [], []
    for n in range(1, 7):
        first = [one[i : i + n] for i in range(len(one) - n + 1)]
        second = [other[i : i + n] for i in range(len(other) - n + 1)]
        if first and second:
            common = sum(min(first.count(gram), second.count(gram)) for gram in set(first))
            precisions.append(common / len(first))
            recalls.append(common / len(second))
    precision, recall = sum(precisions) / max(len(precisions), 1), sum(recalls) / max(len(recalls), 1)
    return 100 * 5 * precision * recall / (4 * precision + recall) if precision + recall else 100.0 * (one == other)


@given(TEXTS, TEXTS)
def test_characters_are_counted_as_a_slow_table_counts_them(one: str, other: str) -> None:
    assert count_character_edits(one, other) == EditCounts(slow_distance(one, other), len(other))


@given(TEXTS, TEXTS)
def test_chrf_is_that_of_a_slow_twin(one: str, other: str) -> None:
    assert compute_chrf(one, other) == pytest.approx(slow_chrf(one, other), abs=1e-6)


@given(WORDS, WORDS)
def test_ter_lies_between_the_words_that_differ_as_a_bag_and_the_distance_without_shifts(one: str, other: str) -> None:
    first, second = one.replace(" ", ""), other.replace(" ", "")
    missing = sum(max(second.count(w) - first.count(w), 0) for w in set(second))
    surplus = sum(max(first.count(w) - second.count(w), 0) for w in set(first))
    assert max(missing, surplus) <= count_ter_edits(one, other).edits <= slow_distance(first, second)
    assert (count_ter_edits(one, other).edits == 0) == (first == second)


# The short cases that the tests of sacrebleu 2 state for its TER (rates × 100), and Bentivogli et al. 2018, Table 3:
# three and five substitutions.
@pytest.mark.parametrize(
    ("text", "post_edit", "edits", "length"),
    [
        ("aaaa bbbb cccc dddd", "aaaa bbbb cccc dddd", 0, 4),
        ("dddd eeee ffff", "aaaa bbbb cccc", 3, 3),
        ("", "a", 1, 1),
        ("d e f g h a b c", "a b c d e f g h", 1, 8),
        ("a b c d e", "a X c Y Z", 3, 5),
        ("A B", "a b", 2, 2),
        ("a b c x y z", "x y z a b c", 1, 6),
        ("a b c d", "b c d", 1, 3),
        ("", "", 0, 0),
    ],
)
def test_ter_counts_a_moved_stretch_once(text: str, post_edit: str, edits: int, length: int) -> None:
    assert count_ter_edits(text, post_edit) == EditCounts(edits, length)


def test_a_very_long_text_is_compared_without_shifts() -> None:
    words = [f"w{n}" for n in range(LONGEST_SHIFTED + 1)]
    moved = [*words[1:], words[0]]
    assert count_ter_edits(" ".join(words), " ".join(moved)).edits == 2
    assert count_ter_edits(" ".join(words[:50]), " ".join([*words[1:50], words[0]])).edits == 1


def test_words_of_a_language_without_spaces_are_its_characters() -> None:
    assert count_ter_edits("我喜欢猫", "我爱猫") == EditCounts(1, 1)
    assert count_ter_edits("我喜欢猫", "我爱猫", by_character=True) == EditCounts(2, 3)


# sacrebleu 2 states 100, 100, 0 and 25 for these (without smoothing of missing orders).
@pytest.mark.parametrize(
    ("text", "post_edit", "score"), [("a", "a", 100.0), ("a b c", "abc", 100.0), ("", "c", 0.0), ("aa", "ab", 25.0)]
)
def test_chrf_skips_orders_that_a_text_is_too_short_for(text: str, post_edit: str, score: float) -> None:
    assert compute_chrf(text, post_edit) == pytest.approx(score)


def test_a_text_deleted_altogether_is_a_hundred_and_nothing_kept_empty_is_none() -> None:
    assert (EditCounts(7, 0).rate, EditCounts(0, 0).rate, EditCounts(1, 4).rate) == (100.0, 0.0, 25.0)


def test_the_longest_texts_do_not_hold_up_a_request() -> None:
    words = [f"w{n * 7919 % 3001}" for n in range(3000)]
    began = time.process_time()
    count_ter_edits(" ".join(words), " ".join(reversed(words)))
    count_character_edits("ab" * 10_000, "ba" * 10_000)
    assert time.process_time() - began < 5
