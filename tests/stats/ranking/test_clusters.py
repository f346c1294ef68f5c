"""Cluster rules: where they differ, and a slow twin for each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.stats.ranking.clusters import assign_clusters, compute_rank_ranges


def table(*rows: str) -> np.ndarray:
    """Rows of 1 and 0: row i, column j is 1 where i beats j."""
    return np.array([[mark == "1" for mark in row] for row in rows])


RULES = ["wmt21", "wmt22", "wmt24", "wmt25", "wmt26", "paper", "strict"]


def grown(wins: np.ndarray, system: int) -> tuple[int, int]:
    first = last = system + 1
    while first > 1 and not wins[first - 2][system]:
        first -= 1
    while last < len(wins) and not wins[system][last]:
        last += 1
    return first, last


# B beats A although it is ranked lower: the published WMT21 rule then hides lines.
REVERSAL = table("0011", "1011", "0001", "0000")


def test_a_win_over_a_higher_system_hides_a_line_under_wmt21_only() -> None:
    # wins are 2, 3, 1, 0 and would have to be 3, 2, 1, 0 for a line
    assert assign_clusters(REVERSAL, "wmt21") == (1, 1, 1, 2)
    assert assign_clusters(REVERSAL, "paper") == (1, 1, 2, 3)
    assert assign_clusters(REVERSAL, "strict") == (1, 1, 2, 3)


def test_the_running_minimum_of_wins_draws_the_line_that_a_reversal_hides() -> None:
    # wins 2, 3, 1, 0: the minima 2, 2, 1 meet S − i at the second and third system
    assert assign_clusters(REVERSAL, "wmt22") == (1, 1, 2, 3)


def test_the_running_minimum_of_wins_draws_no_line_below_a_system_that_wins_too_little() -> None:
    # wins 0, 1, 0: the second has as many as a line needs, but the first has not
    assert assign_clusters(table("000", "001", "000"), "wmt21") == (1, 1, 2)
    assert assign_clusters(table("000", "001", "000"), "wmt22") == (1, 1, 1)


def test_chains_of_p_above_alpha_hold_together_what_lies_between() -> None:
    # neighbours 1–2 and 2–3 are told apart, but 1–3 are not: one cluster
    assert assign_clusters(table("0101", "0011", "0001", "0000"), "wmt24") == (1, 1, 1, 2)
    # a significant reversal tells systems apart too
    assert assign_clusters(table("00", "10"), "wmt24") == (1, 2)
    assert assign_clusters(table("00", "00"), "wmt24", separated=table("01", "10")) == (1, 2)


# A beats C and D; B beats D; D beats nobody; the reversal C > A is beyond the neighbours.
GROWN = table("0011", "0001", "0001", "0000")


def test_ranges_grow_over_neighbours_until_the_first_significant_one() -> None:
    assert compute_rank_ranges(GROWN, "wmt25") == ((1, 2), (1, 3), (2, 3), (4, 4))
    assert assign_clusters(GROWN, "wmt25") == (1, 1, 1, 2)


def test_growing_ranges_do_not_see_what_lies_beyond_the_first_significant_neighbour() -> None:
    # D beats A though it is ranked last, and B beats C: A's range ends at B either way
    wins = table("0100", "0010", "0001", "1000")
    assert compute_rank_ranges(wins, "wmt25") == ((1, 1), (2, 2), (3, 3), (4, 4))
    assert compute_rank_ranges(wins) == ((2, 3), (2, 3), (2, 3), (2, 3))
    assert assign_clusters(wins, "wmt25") == (1, 2, 3, 4)
    assert assign_clusters(wins, "wmt26") == (1, 1, 1, 1)


def test_strict_needs_every_system_above_to_beat_every_system_below() -> None:
    # A does not beat C, though B does
    wins = table("000", "001", "000")
    assert assign_clusters(wins, "paper") == (1, 1, 2)
    assert assign_clusters(wins, "strict") == (1, 1, 1)


def test_without_a_rule_there_are_no_clusters() -> None:
    assert assign_clusters(REVERSAL, "none") is None


def test_one_system_is_one_cluster() -> None:
    assert [assign_clusters(np.zeros((1, 1), dtype=bool), rule) for rule in RULES] == [(1,)] * 7


def test_rank_ranges_count_wins_and_losses() -> None:
    assert compute_rank_ranges(REVERSAL) == ((2, 2), (1, 1), (3, 3), (4, 4))
    assert compute_rank_ranges(table("001", "000", "000")) == ((1, 2), (1, 3), (2, 3))


WINS = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=n, max_size=n)
)


@settings(max_examples=80, deadline=None)
@given(WINS, st.sampled_from(RULES))
def test_lines_agree_with_their_slow_twin(rows: list[list[bool]], rule: str) -> None:
    wins = np.array(rows) & ~np.eye(len(rows), dtype=bool)
    n = len(wins)
    number, expected = 1, [1]
    for rank in range(1, n):
        above, below = range(rank), range(rank, n)
        line = {
            "wmt21": sum(wins[rank - 1]) == n - rank,
            "wmt22": min(sum(wins[i]) for i in above) == n - rank,
            "wmt24": all(wins[i][j] or wins[j][i] for i in above for j in below),
            "wmt25": all(grown(wins, i)[1] <= rank for i in above) and all(grown(wins, j)[0] > rank for j in below),
            "wmt26": all(wins[i][j] for i in above for j in below),
            "paper": all(wins[rank - 1][j] for j in below),
            "strict": all(wins[i][j] for i in above for j in below),
        }[rule]
        number += line
        expected.append(number)
    assert assign_clusters(wins, rule) == pytest.approx(expected)
    assert compute_rank_ranges(wins, "wmt25") == tuple(grown(wins, i) for i in range(n))
    ranges = [grown(wins, i) for i in range(n)]
    assert compute_rank_ranges(wins, "wmt26") == (*((a, min(b, n - 1)) for a, b in ranges[:-1]), ranges[-1])
