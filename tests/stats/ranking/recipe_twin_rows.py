"""Slow twins of recipes, the first part: which ratings count, on which scale, and the scores of segments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import fmean, median, stdev
from typing import NamedTuple

from app.stats.ratings import RatingRole


class Row(NamedTuple):
    """One rating. nth: which rating of this output by this rater; accepted: quality control took the task."""

    system: str
    document: str
    position: int
    rater: str
    score: float
    role: RatingRole = RatingRole.RATING
    nth: int = 1
    accepted: bool = True


Unit = tuple[str, ...]  # a segment, or one rating of it: starts with its document
Scores = dict[Unit, float]


# --- which rows, and on which scale


def ranked(rows: list[Row], *roles: RatingRole) -> list[Row]:
    return [row for row in rows if row.role in roles and row.accepted]


def as_given(*roles: RatingRole) -> Callable[[list[Row]], tuple[list[Row], list[Row]]]:
    return lambda rows: (ranked(rows, *roles), ranked(rows, *roles))


def standardized(rows: list[Row], behind: list[Row], *, constant_is_zero: bool = False) -> tuple[list[Row], list[Row]]:
    """Rows as z by the moments of `behind`, and raw; constant raters are left out of both, or are z = 0."""
    of: dict[str, list[float]] = defaultdict(list)
    for row in behind:
        of[row.rater].append(row.score)
    varied = {rater for rater, scores in of.items() if len(set(scores)) > 1}
    raw = [row for row in rows if row.rater in varied or constant_is_zero]
    scored = [
        row._replace(score=(row.score - fmean(of[row.rater])) / stdev(of[row.rater]) if row.rater in varied else 0.0)
        for row in raw
    ]
    return scored, raw


def worker_z(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    return standardized(ranked(rows, RatingRole.RATING, RatingRole.REPEAT), rows)


def worker_z_of_wmt22(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    return standardized(ranked(rows, RatingRole.RATING, RatingRole.REPEAT), rows, constant_is_zero=True)


def z_if_comparable(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    kept = ranked(rows, RatingRole.RATING, RatingRole.REPEAT)
    systems = {row.system for row in kept}
    documents = {row.document for row in kept}
    same = 0
    for document in documents:
        raters = [{r.rater for r in kept if (r.document, r.system) == (document, system)} for system in systems]
        same += all(seen == raters[0] for seen in raters)
    return standardized(kept, kept) if same / len(documents) >= 0.95 else (kept, kept)


# --- from ratings to segment scores


def pooled(rows: list[Row]) -> float:
    return fmean(row.score for row in rows)


def of_raters(rows: list[Row]) -> dict[str, list[Row]]:
    own = defaultdict(list)
    for row in rows:
        own[row.rater].append(row)
    return own


def mean_of_raters(rows: list[Row]) -> float:
    return fmean(pooled(own) for own in of_raters(rows).values())


def median_of_raters(rows: list[Row]) -> float:
    return median(pooled(own) for own in of_raters(rows).values())


def latest_of_raters(rows: list[Row]) -> float:
    return fmean(max(own, key=lambda row: row.nth).score for own in of_raters(rows).values())


def segment(row: Row) -> Unit:
    return (row.document, str(row.position))


def wave(row: Row) -> Unit:
    return (row.document, str(row.position), row.rater, str(row.nth))


def by_unit(rows: list[Row], unit: Callable[[Row], Unit], score: Callable[[list[Row]], float]) -> dict[str, Scores]:
    cells: dict[str, dict[Unit, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        cells[row.system][unit(row)].append(row)
    return {system: {u: score(of) for u, of in sorted(units.items())} for system, units in cells.items()}


# --- from segment scores to system scores: a weight for each unit


def alike(units: Sequence[Unit], domain: dict[str, str]) -> Scores:
    return dict.fromkeys(units, 1.0)


def domains_alike(units: Sequence[Unit], domain: dict[str, str]) -> Scores:
    of = [domain[unit[0]] for unit in units]
    return {unit: 1 / (len(set(of)) * of.count(domain[unit[0]])) for unit in units}
