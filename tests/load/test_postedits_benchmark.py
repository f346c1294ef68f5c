"""A small twin of the benchmark of counting edits: what it times is no test; that counts agree and pairs vary is."""

from __future__ import annotations

import random

from benchmarks import postedits


def test_counts_are_those_of_sacrebleu_and_every_kind_of_pair_has_a_line() -> None:
    rows = [line.split("|") for line in postedits.table(30, 7).splitlines()[2:]]
    assert [row[1].split(" (")[0].strip() for row in rows] == ["all pairs", "with a change", "one word replaced"]
    assert all(float(row[5]) > 0 for row in rows)


def test_post_edits_change_a_few_words_and_move_phrases() -> None:
    drawn = postedits.pairs(300, 3)
    assert drawn == postedits.pairs(300, 3) != postedits.pairs(300, 4)
    unchanged = sum(output == edited for output, edited in drawn)
    assert 70 < unchanged < 130
    kept = [len(set(output) & set(edited)) / len(set(output)) for output, edited in drawn]
    assert min(kept) > 0.3
    words = [f"w{n}" for n in range(20)]
    moved = [postedits.post_edit(words, random.Random(seed)) for seed in range(60)]
    in_order = [[word for word in edited if word in words] for edited in moved]
    assert 5 < sum(order != sorted(order, key=words.index) for order in in_order) < 45
