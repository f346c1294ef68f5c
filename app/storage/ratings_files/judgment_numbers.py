"""Number judgments as `Ratings` does, for rows that arrive in blocks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


class JudgmentRenumbering:
    """New numbers for judgments, in the order of their first appearance."""

    def __init__(self, n: int) -> None:
        self._number = np.full(n, -1, dtype=np.int32)
        self._next = 0

    def renumber(self, judgments: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return the numbers of the next rows."""
        new, first = np.unique(judgments[self._number[judgments] < 0], return_index=True)
        new = new[np.argsort(first, kind="stable")]
        self._number[new] = np.arange(self._next, self._next + new.size, dtype=np.int32)
        self._next += new.size
        return self._number[judgments]
