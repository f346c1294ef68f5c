"""Cluster rules: where they differ, and a slow twin for each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.stats.clusters import clusters, rank_ranges


def table(*rows: str) -> np.ndarray:
    """Rows of 1 and 0: row i, column j is 1 where i beats j."""
    return np.array([[mark == "1" for mark in row] for row in rows])


# B beats A although it is ranked lower: the published WMT21 rule then hides lines.
REVERSAL = table("0011", "1011", "0001", "0000")


def test_a_win_over_a_higher_system_hides_a_line_under_wmt21_only() -> None:
    # wins are 2, 3, 1, 0 and would have to be 3, 2, 1, 0 for a line
    assert clusters(REVERSAL, "wmt21") == (1, 1, 1, 2)
    assert clusters(REVERSAL, "paper") == (1, 1, 2, 3)
    assert clusters(REVERSAL, "strict") == (1, 1, 2, 3)


def test_strict_needs_every_system_above_to_beat_every_system_below() -> None:
    # A does not beat C, though B does
    wins = table("000", "001", "000")
    assert clusters(wins, "paper") == (1, 1, 2)
    assert clusters(wins, "strict") == (1, 1, 1)


def test_without_a_rule_there_are_no_clusters() -> None:
    assert clusters(REVERSAL, "none") is None


def test_one_system_is_one_cluster() -> None:
    assert [clusters(np.zeros((1, 1), dtype=bool), rule) for rule in ("wmt21", "paper", "strict")] == [(1,)] * 3


def test_rank_ranges_count_wins_and_losses() -> None:
    assert rank_ranges(REVERSAL) == ((2, 2), (1, 1), (3, 3), (4, 4))
    assert rank_ranges(table("001", "000", "000")) == ((1, 2), (1, 3), (2, 3))


WINS = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=n, max_size=n)
)


@settings(max_examples=80, deadline=None)
@given(WINS, st.sampled_from(["wmt21", "paper", "strict"]))
def test_lines_agree_with_their_slow_twin(rows: list[list[bool]], rule: str) -> None:
    wins = np.array(rows) & ~np.eye(len(rows), dtype=bool)
    n = len(wins)
    number, expected = 1, [1]
    for rank in range(1, n):
        above, below = range(rank), range(rank, n)
        line = {
            "wmt21": sum(wins[rank - 1]) == n - rank,
            "paper": all(wins[rank - 1][j] for j in below),
            "strict": all(wins[i][j] for i in above for j in below),
        }[rule]
        number += line
        expected.append(number)
    assert clusters(wins, rule) == pytest.approx(expected)
