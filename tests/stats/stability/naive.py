"""Studies and SRP as the `definition` of expected/srp_ende.json says, in loops over plain dictionaries.

Slow and obvious: what the vectorized code must agree with, and what its speed is measured against.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from app.stats.stability.multiply_rated_documents import MultiplyRatedDocuments

Study = dict[tuple[int, int, int], float]
"""Score by (document, segment of the data, system)."""


def study_scores(
    data: MultiplyRatedDocuments, documents: Sequence[int], raters: list[list[list[int]]], method: str
) -> Study:
    """Normalized segment scores. raters: of [document of the study][system], as many as rate an item."""
    rows: list[tuple[tuple[int, int, int], int, float, float]] = []
    for d, document in enumerate(documents):
        pool = list(data.pools[data.bucket[document]])
        for g in range(len(data.document)):
            if data.document[g] != document:
                continue
            for s in range(len(data.systems)):
                for rater in raters[d][s]:
                    nth = pool.index(rater)
                    errors = 0.0 if data.errors is None else float(data.errors[g, s, nth])
                    rows.append(((document, g, s), rater, float(data.score[g, s, nth]), errors))
    scores = normalized([(r, x, e) for _, r, x, e in rows], method)
    found: dict[tuple[int, int, int], list[float]] = defaultdict(list)
    for (cell, _, _, _), score in zip(rows, scores, strict=True):
        found[cell].append(score)
    return {cell: sum(values) / len(values) for cell, values in found.items()}


def normalized(rows: list[tuple[int, float, float]], method: str) -> list[float]:
    """Scores of rows (rater, score, errors) under a method."""
    if method == "none":
        return [x for _, x, _ in rows]
    theirs: dict[int, list[float]] = defaultdict(list)
    errors: dict[int, float] = defaultdict(float)
    for rater, x, e in rows:
        theirs[rater].append(x)
        errors[rater] += e
    mean = {rater: sum(xs) / len(xs) for rater, xs in theirs.items()}
    whole = sum(x for _, x, _ in rows) / len(rows)
    if method == "z":
        sd = {
            r: math.sqrt(sum((x - mean[r]) ** 2 for x in xs) / (len(xs) - 1)) if len(xs) > 1 else 0.0
            for r, xs in theirs.items()
        }
        return [(x - mean[r]) / sd[r] if round(sd[r], 10) else 0.0 for r, x, _ in rows]
    if method == "center":
        return [x - mean[r] + whole for r, x, _ in rows]
    scaled = [x * whole / mean[r] if round(mean[r], 10) else x for r, x, _ in rows]
    if method == "mean":
        return scaled
    weight = {r: errors[r] / (len(theirs[r]) if method == "error_rate" else 1) for r in theirs}
    total = sum(x * weight[r] for x, (r, _, _) in zip(scaled, rows, strict=True))
    if total <= 0:
        return scaled
    constant = sum(x for _, x, _ in rows) / total
    return [constant * x * weight[r] for x, (r, _, _) in zip(scaled, rows, strict=True)]


def system_means(study: Study, n_systems: int) -> list[float]:
    """Mean over segments of each system."""
    values: list[list[float]] = [[] for _ in range(n_systems)]
    for (_, _, s), x in study.items():
        values[s].append(x)
    return [sum(xs) / len(xs) for xs in values]


def p_value(study: Study, documents: Sequence[int], i: int, j: int, signs: Sequence[Sequence[float]]) -> float:
    """Two-sided with +1: the labels of a whole document are swapped together."""
    apart: dict[int, float] = defaultdict(float)
    for (document, g, s), x in study.items():
        if s == i:
            apart[document] += x - study[document, g, j]
    observed = sum(apart.values())
    beyond = 0
    for row in signs:
        permuted = sum(sign * apart[document] for sign, document in zip(row, documents, strict=True))
        beyond += abs(permuted) >= abs(observed) - 1e-9 * max(1.0, abs(observed))
    return (beyond + 1) / (len(signs) + 1)


def significant(
    study: Study, documents: Sequence[int], n_systems: int, signs: Sequence[Sequence[float]], alpha: float = 0.05
) -> set[tuple[int, int]]:
    """Pairs (better, worse) where lower is better."""
    means = system_means(study, n_systems)
    found = set()
    for i in range(n_systems):
        for j in range(i + 1, n_systems):
            if p_value(study, documents, i, j, signs) <= alpha:
                found.add((i, j) if means[i] < means[j] else (j, i))
    return found


def srp(means: Sequence[Sequence[float]], claimed: Sequence[set[tuple[int, int]]]) -> float:
    """Mean of SR over ordered pairs of different studies, lower is better."""
    held = pairs = 0
    for e, made in enumerate(claimed):
        for other, theirs in enumerate(means):
            if other != e:
                pairs += 1
                held += all(round(theirs[i], 10) < round(theirs[j], 10) for i, j in made)
    return held / pairs
