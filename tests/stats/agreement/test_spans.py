"""Marked errors: worked examples, and character by character in a loop."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from app.stats.agreement import spans
from app.stats.agreement.spans import (
    MAJOR,
    MINOR,
    MarkedJudgments,
    character_f1,
    count_character_overlaps,
    count_mark_overlaps,
    mark_overlap_shares,
)

Mark = tuple[int, int, int, int]


def marked(judgments: list[tuple[int, int, list[Mark]]]) -> MarkedJudgments:
    """(text, rater, [(start, end, severity, category)]) sorted by text and rater; a document is two texts."""
    marks = [(j, *mark) for j, (_, _, found) in enumerate(judgments) for mark in found]
    row, start, end, grave, category = (np.array(c, dtype=np.int32) for c in zip(*marks, strict=True))
    unit, rater = (np.array(c, dtype=np.int32) for c in list(zip(*judgments, strict=True))[:2])
    document = (unit // 2).astype(np.int32)
    n = int(document.max()) + 1
    return MarkedJudgments(unit, rater, document, row, start, end, grave, category, n, ("a", "b", "c"))


GOLD: list[Mark] = [(0, 5, MAJOR, 0), (10, 14, MINOR, 1)]
OTHER: list[Mark] = [(2, 7, MAJOR, 0), (10, 12, MAJOR, 1), (20, 23, MINOR, 2)]


def once(data: MarkedJudgments) -> np.ndarray:
    return np.ones((1, data.n_documents))


def test_the_check_values_of_wmt25() -> None:
    data = marked([(0, 0, GOLD), (0, 1, OTHER)])
    found = count_character_overlaps(data)
    assert (found.credit.tolist(), found.of_first.tolist(), found.of_second.tolist()) == ([4.0], [9.0], [10.0])
    assert found.credit[0] / found.of_second[0] == pytest.approx(0.4)
    assert found.credit[0] / found.of_first[0] == pytest.approx(0.444444, abs=5e-7)
    assert character_f1(data, found)(once(data))[0] == pytest.approx(0.421053, abs=5e-7)


def test_marks_overlap_with_the_same_severity_and_category() -> None:
    data = marked([(0, 0, GOLD), (0, 1, OTHER)])
    found = {name: float(of(once(data))[0]) for name, of in mark_overlap_shares(count_mark_overlaps(data)).items()}
    assert found == {"overlap": 4 / 5, "same_severity": 2 / 4, "same_category": 1.0}


def test_texts_on_which_nobody_marked_anything_agree() -> None:
    data = marked([(0, 0, []), (0, 1, []), (1, 0, GOLD)])
    assert character_f1(data, count_character_overlaps(data))(once(data))[0] == 1.0


def test_a_text_judged_once_counts_nowhere() -> None:
    data = marked([(0, 0, GOLD), (1, 0, OTHER)])
    assert np.isnan(character_f1(data, count_character_overlaps(data))(once(data))[0])


def made(seed: int) -> list[tuple[int, int, list[Mark]]]:
    rng = np.random.default_rng(seed)
    out = []
    for text in range(12):
        for rater in sorted(rng.choice(3, size=int(rng.integers(1, 4)), replace=False).tolist()):
            starts = rng.integers(0, 25, size=int(rng.integers(0, 4))).tolist()
            marks = [
                (s, s + int(rng.integers(1, 9)), int(rng.integers(0, 2)), int(rng.integers(-1, 3))) for s in starts
            ]
            out.append((text, rater, marks))
    return out


def counts(marks: list[Mark]) -> np.ndarray:
    out = np.zeros((2, 40))
    for start, end, grave, _ in marks:
        for at in range(start, end):
            out[grave, at] += 1
    return out


@pytest.mark.parametrize("seed", range(4))
def test_characters_are_what_a_loop_counts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "_CELLS", 64)  # several batches
    judgments = made(seed)
    credit = total = 0.0
    for text in range(12):
        for one, other in combinations([counts(m) for t, _, m in judgments if t == text], 2):
            for at in range(40):
                same = [min(one[s, at], other[s, at]) for s in (0, 1)]
                rest = min(one[:, at].sum() - sum(same), other[:, at].sum() - sum(same))
                credit += sum(same) + 0.5 * rest
            total += one.sum() + other.sum()
    data = marked(judgments)
    assert character_f1(data, count_character_overlaps(data))(once(data))[0] == pytest.approx(2 * credit / total)


@pytest.mark.parametrize("seed", range(4))
def test_overlaps_are_what_a_loop_counts(seed: int) -> None:
    judgments = made(seed)
    n = met = like = kind = 0
    for text in range(12):
        mine = [m for t, _, m in judgments if t == text]
        for i, one in enumerate(mine):
            for j, other in enumerate(mine):
                if i != j:
                    for mark in one:
                        hits = [o for o in other if mark[0] < o[1] and o[0] < mark[1]]
                        n, met = n + 1, met + bool(hits)
                        like += any(o[2] == mark[2] for o in hits)
                        kind += any(o[3] == mark[3] >= 0 for o in hits)
    data = marked(judgments)
    assert count_mark_overlaps(data).sums.sum(axis=0).tolist() == [n, met, like, kind]


def test_marks_drawn_twice_count_twice() -> None:
    data = marked(made(1))
    of = character_f1(data, count_character_overlaps(data))
    weights = np.ones((1, data.n_documents))
    weights[0, 0] = 0
    without = [j for j in made(1) if j[0] // 2 > 0]
    alone = marked(without)
    alone = replace(alone, n_documents=data.n_documents)
    assert of(weights)[0] == pytest.approx(character_f1(alone, count_character_overlaps(alone))(once(data))[0])
