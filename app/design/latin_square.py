"""Post-editing by Latin squares: each rater edits every sentence once, and each system's outputs equally often."""

from __future__ import annotations

import numpy as np

from app.design.design_inputs import Codes
from app.design.plan import UnmetRequest
from app.domain.plural_forms import pluralize


def make_random_latin_square(rng: np.random.Generator, order: int) -> Codes:
    """Return a cyclic Latin square with rows, columns and symbols in random order, shape (order, order)."""
    cyclic = np.add.outer(rng.permutation(order), rng.permutation(order)) % order
    return np.asarray(rng.permutation(order)[cyclic], dtype=np.int64)


def describe_outputs_without_rater(number: int, systems: int) -> tuple[UnmetRequest, ...]:
    """Report outputs that no rater edits because their bucket has fewer raters than there are systems."""
    if not number:
        return ()
    why = f"a rater edits each segment once, and some bucket has fewer raters than the {systems} systems"
    what = pluralize(number, "output is edited by nobody", "outputs are edited by nobody")
    return (UnmetRequest(what, f"{why}: enrol more raters, or leave systems out"),)


def assign_outputs_by_latin_squares(rng: np.random.Generator, sentences: int, systems: int, raters: int) -> Codes:
    """Return which system's output each rater edits for each sentence, shape (sentences, raters).

    Each block of as many sentences as there are systems gets its own square (rows are sentences, columns raters,
    symbols systems); the remaining sentences use rows of another. So nobody sees a sentence twice, no two raters edit
    the same output, and a rater's counts of the systems differ by at most one.

    Raises
    ------
    ValueError
        There are more raters than systems.

    Source: Bentivogli et al. 2018, §3.1.

    Examples
    --------
    >>> dealt = assign_outputs_by_latin_squares(np.random.default_rng(1), 603, 9, 9)
    >>> set(np.bincount(dealt[:, 4]).tolist())
    {67}
    """
    if raters > systems:
        raise ValueError("more raters than systems: two would edit the same output")
    squares = [make_random_latin_square(rng, systems) for _ in range(-(-sentences // systems))]
    rows = np.concatenate(squares) if squares else np.empty((0, systems), dtype=np.int64)
    return rows[:sentences][rng.permutation(sentences)][:, :raters]  # neighbouring sentences are from different squares
