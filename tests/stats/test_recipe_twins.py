"""Every named recipe against a slow twin: plain dictionaries, loops and SciPy, from ratings to p-values and wins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import product
from statistics import fmean, median, stdev

import numpy as np
import pytest
from scipy import stats

from app.domain.recipe import NAMED, Recipe
from app.stats.permutation import drawn_patterns
from app.stats.ranking import rank
from app.stats.ratings import Ratings
from app.stats.side_tables import Documents

Row = tuple[str, str, int, str, float]  # system, document, position, rater, score
Scores = dict[str, dict[tuple[str, ...], float]]  # system → unit → score; a unit starts with its document

DOMAIN = {f"d{d}": ("news", "speech", "social")[d % 3] for d in range(8)}


def rows() -> list[Row]:
    """Three systems on eight documents of three segments, two raters who see everything."""
    rng = np.random.default_rng(12)
    return [
        (f"s{s}", f"d{d}", p, f"r{r}", float(np.round(60 - 3 * s + 8 * r + (6 + 3 * r) * rng.normal(), 0)))
        for s in range(3) for d in range(8) for p in (1, 2, 3) for r in range(2)
    ]  # fmt: skip


def standardized(given: list[Row]) -> list[Row]:
    of_rater = defaultdict(list)
    for row in given:
        of_rater[row[3]].append(row[4])
    return [(*row[:4], (row[4] - fmean(of_rater[row[3]])) / stdev(of_rater[row[3]])) for row in given]


def segments(given: list[Row], combine: Callable[[list[float]], float] = fmean, *, waves: bool = False) -> Scores:
    cells: dict[str, dict[tuple[str, ...], list[float]]] = defaultdict(lambda: defaultdict(list))
    for system, document, position, rater, score in given:
        cells[system][(document, str(position), *([rater] if waves else []))].append(score)
    return {system: {unit: combine(scores) for unit, scores in units.items()} for system, units in cells.items()}


def macro(units: dict[tuple[str, ...], float]) -> float:
    domains = defaultdict(list)
    for unit, score in units.items():
        domains[DOMAIN[unit[0]]].append(score)
    return fmean(fmean(scores) for scores in domains.values())


def mean(units: dict[tuple[str, ...], float]) -> float:
    return fmean(units.values())


def apart(a: dict[tuple[str, ...], float], b: dict[tuple[str, ...], float], domain: str | None = None) -> np.ndarray:
    return np.round([a[u] - b[u] for u in sorted(a) if domain in {None, DOMAIN[u[0]]}], 10)


def by_document(a: dict[tuple[str, ...], float], b: dict[tuple[str, ...], float]) -> np.ndarray:
    sums: dict[str, float] = defaultdict(float)
    for unit in sorted(a):
        sums[unit[0]] += a[unit] - b[unit]
    return np.array([sums[d] for d in sorted(sums)])


def rank_sum(a, b, recipe):
    x, y = (np.round(list(units.values()), 10) for units in (a, b))
    return stats.mannwhitneyu(x, y, alternative="greater", method="asymptotic", use_continuity=True).pvalue


def marot(a, b, recipe):
    d = apart(a, b)
    signs = np.concatenate(list(drawn_patterns(d.size, 10_000, recipe.seed, 4096))) * 2 - 1
    return (1 + sum(signs @ d >= d.sum() - 1e-9 * max(1, abs(d.sum())))) / 10_001


def enumerated(a, b, recipe):
    d = by_document(a, b)
    sums = [abs(sum(s * x for s, x in zip(signs, d, strict=True))) for signs in product((1, -1), repeat=d.size)]
    return np.mean([s >= abs(d.sum()) - 1e-9 * max(1, abs(d.sum())) for s in sums])


def stouffer(a, b, recipe):
    p = [stats.wilcoxon(apart(a, b, domain)).pvalue for domain in sorted(set(DOMAIN.values()))]
    return stats.combine_pvalues(p, method="stouffer").pvalue


def signed_rank(a, b, recipe):
    return stats.wilcoxon(apart(a, b), alternative="greater").pvalue


def either_t(a, b, recipe):
    x, y = ([units[u] for u in sorted(units)] for units in (a, b))
    return min(stats.ttest_rel(x, y).pvalue, stats.ttest_ind(x, y, equal_var=False).pvalue)


def bootstrap(a, b, recipe):
    d = by_document(a, b)
    picked = np.random.Generator(np.random.PCG64(recipe.seed)).integers(0, d.size, size=(10_000, d.size))
    sums = np.round(d[picked].sum(axis=1) / (3 * d.size), 10)
    return min(1.0, 2 * (1 + min((sums <= 0).sum(), (sums >= 0).sum())) / 10_001)


# segment scores, system score, p of (higher-ranked, lower-ranked)
TWINS: dict[str, tuple[Callable[[list[Row]], Scores], Callable[..., float], Callable[..., float]]] = {
    "wmt-da": (lambda given: segments(standardized(given)), mean, rank_sum),
    "google-mqm": (segments, mean, marot),
    "wmt22": (lambda given: segments(standardized(given)), mean, rank_sum),
    "wmt24-esa": (segments, macro, stouffer),
    "wmt25": (lambda given: segments(given, waves=True), macro, signed_rank),
    "wmt26": (segments, mean, either_t),
    "nllb-xsts": (lambda given: segments(given, median), mean, bootstrap),
    "srp-paper": (segments, mean, enumerated),
    "recommended": (lambda given: segments(standardized(given)), mean, enumerated),
}


def ratings(given: list[Row]) -> Ratings:
    system, document, position, rater, score = zip(*given, strict=True)
    return Ratings.from_columns(
        system=system, document=document, position=position, rater=rater, score=list(score), higher_is_better=True
    )


def documents() -> Documents:
    n = np.ones(8, dtype=np.int32)
    return Documents(tuple(DOMAIN[f"d{d}"] for d in range(8)), ("test",) * 8, 3 * n, n)


@pytest.mark.parametrize("recipe", NAMED.values(), ids=lambda r: r.name)
def test_a_named_recipe_is_what_its_slow_twin_says(recipe: Recipe) -> None:
    score, aggregate, p_value = TWINS[recipe.name]
    units = score(rows())
    expected = {system: aggregate(scores) for system, scores in units.items()}
    ranking = rank(ratings(rows()), recipe, documents())
    assert [row.system for row in ranking.systems] == sorted(expected, key=expected.__getitem__, reverse=True)
    for row in ranking.systems:
        assert row.score == pytest.approx(expected[row.system], abs=1e-9)
    found = [p_value(units[pair.better], units[pair.worse], recipe) for pair in ranking.pairs]
    assert [pair.p_value for pair in ranking.pairs] == pytest.approx(found, rel=1e-9)
    adjusted = stepped(found) if recipe.adjust == "holm" else found
    assert [pair.p_adjusted for pair in ranking.pairs] == pytest.approx(adjusted, rel=1e-9)
    for pair, p in zip(ranking.pairs, adjusted, strict=True):
        assert pair.significant is bool(p <= recipe.alpha if recipe.inclusive else p < recipe.alpha)


def stepped(p: list[float]) -> list[float]:
    """Holm's adjustment, written out."""
    ordered = sorted(p)
    return [max(min(1.0, (len(p) - k) * q) for k, q in enumerate(ordered) if q <= own) for own in p]


def test_every_named_recipe_has_a_twin() -> None:
    assert set(TWINS) == set(NAMED)
