"""Adjustment of p-values for testing many pairs at once."""

from __future__ import annotations

import numpy as np

from app.domain.recipe import Adjust
from app.stats.aggregate import Indices
from app.stats.ratings import Floats


def adjust_p_values(p_values: Floats, method: Adjust) -> Floats:
    """Adjusted p-values of one family, shape (pairs,), in the order given.

    `none` returns a copy. So does `maxT`, which needs more than p-values: see `step_down`.
    """
    if method == "holm":
        return holm(p_values)
    return benjamini_hochberg(p_values) if method == "bh" else p_values.copy()


def holm(p_values: Floats) -> Floats:
    """Step-down adjustment that bounds the chance of any false claim (Holm 1979, §2); shape (pairs,) → (pairs,).

    >>> import numpy as np
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(p_values.size, 0, -1)
    stepped = np.maximum.accumulate(np.minimum(1.0, p_values[order] * factors))
    return _in_place(stepped, order)


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Step-up adjustment that bounds the expected share of false claims; shape (pairs,) → (pairs,).

    Source: Benjamini & Hochberg 1995, §3.

    >>> import numpy as np
    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.04, 0.04]
    """
    order = np.argsort(p_values, kind="stable")
    factors = p_values.size / np.arange(1, p_values.size + 1)
    stepped = np.minimum.accumulate((p_values[order] * factors)[::-1])[::-1]
    return _in_place(np.minimum(1.0, stepped), order)


def _in_place(values: Floats, order: Indices) -> Floats:
    back = np.empty(values.size)
    back[order] = values
    return back


def convert_to_two_sided_p_values(p_values: Floats, reverse: Floats) -> Floats:
    """Convert one-sided p-values before adjustment: min(1, 2·min(p, p_reverse)), because either system may be better.

    Both of shape (pairs,), without NaN. Bonferroni over the two directions; our own choice.
    """
    return np.asarray(np.minimum(1.0, 2 * np.minimum(p_values, reverse)), dtype=np.float64)
