"""Marked errors for which the weight profile has no weight: they count 0, and the ranking has a warning.

Source: Riley et al. 2024 §4.1, whose weights name severities and categories; errors that they do not name must be
visible.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from app.stats.ratings import Codes, Ratings

MOST_PATHS = 8
LONGEST_PATH = 80


@dataclass(frozen=True, slots=True)
class ErrorsWithoutWeight:
    """Errors without a weight, one entry per error.

    judgment: int32 code of the ratings; path: int32 code of `paths` (`severity/category`).
    """

    judgment: Codes
    path: Codes
    paths: tuple[str, ...]


def warn_of_errors_without_weight(errors: ErrorsWithoutWeight | None, counted: Ratings) -> tuple[str, ...]:
    """Return warnings about errors of the rows that count, one per path; an error of several systems counts once.

    >>> found = ErrorsWithoutWeight(np.array([0, 0, 1]), np.array([0, 0, 0]), ("critical/Other",))
    >>> one = Ratings.from_columns(
    ...     system=["A"], document=["d"], position=[1], rater=["r"], score=[0.0], higher_is_better=False
    ... )
    >>> warn_of_errors_without_weight(found, one)
    ('no weight for critical/Other: 2 errors count 0; add the kind to the weights, or choose others',)
    """
    if errors is None or not errors.judgment.size:
        return ()
    known = np.zeros(int(max(errors.judgment.max(), counted.judgment.max(initial=0))) + 1, dtype=np.bool_)
    known[counted.judgment] = True
    times = Counter(errors.paths[code] for code in errors.path[known[errors.judgment]])
    labels = sorted(times.items())
    warnings = [f"no weight for {path[:LONGEST_PATH]}: {_weigh(n)}" for path, n in labels[:MOST_PATHS]]
    rest = labels[MOST_PATHS:]
    if rest:
        warnings.append(f"no weight for {len(rest)} more kinds of errors: {_weigh(sum(n for _, n in rest), 'kinds')}")
    return tuple(warnings)


def _weigh(n: int, kinds: str = "kind") -> str:
    counted = "1 error counts 0" if n == 1 else f"{n:,} errors count 0"
    return f"{counted}; add the {kinds} to the weights, or choose others"
