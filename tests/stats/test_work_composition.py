"""Contents of raters and tasks, and systems that meet: against slow twins that count one thing at a time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from app.stats.ratings import RatingRole, Ratings
from app.stats.work_composition import (
    PARTS,
    compute_co_occurrence_shares,
    count_judgments_by_rater_or_task,
    count_system_co_occurrence,
    count_system_pairs_rarely_together,
)


def drawn(seed: int, n: int = 60) -> Ratings:
    """Random work; every seventh judgment is shared by two systems."""
    rng = np.random.default_rng(seed)
    rows = Ratings.from_columns(
        system=[f"S{i}" for i in rng.integers(4, size=n)],
        document=[f"d{i}" for i in rng.integers(5, size=n)],
        position=rng.integers(1, 4, size=n).tolist(),
        rater=[f"r{i}" for i in rng.integers(3, size=n)],
        task=[f"t{i}" for i in rng.integers(6, size=n)],
        role=[RatingRole(int(i)) for i in rng.integers(5, size=n)],
        score=rng.integers(0, 101, size=n).astype(float),
        higher_is_better=True,
    )
    shared = rows.judgment.copy()
    shared[::7] = shared[(np.arange(n)[::7] + 1) % n]
    return replace(rows, judgment=shared)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_contents_are_what_counting_one_by_one_gives(seed: int) -> None:
    rows = drawn(seed)
    humans = np.array([i == 1 for i in range(rows.n_systems)])
    found = count_judgments_by_rater_or_task(rows, rows.rater, humans)

    for i, owner in enumerate(found.owner.tolist()):
        mine = [k for k in range(len(rows)) if rows.rater[k] == owner]
        once = [k for k in mine if k == min(np.flatnonzero(rows.judgment == rows.judgment[k]))]
        regular = {int(rows.system[k]) for k in mine if rows.role[k] in (RatingRole.RATING, RatingRole.REPEAT)}
        assert (found.judgments[i], found.systems[i]) == (len(once), len(regular))
        assert found.documents[i] == len({int(rows.document[k]) for k in mine})
        for part, role in PARTS.items():
            of = [k for k in once if rows.role[k] == (RatingRole.RATING if role is None else role)]
            of = [k for k in of if role is not None or humans[rows.system[k]]]
            assert found.count[part][i] == len(of)
            mean = found.mean[part][i]
            assert math.isnan(mean) if not of else abs(mean - sum(rows.score[k] for k in of) / len(of)) < 1e-9


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_systems_that_meet_are_those_of_a_double_loop(seed: int) -> None:
    rows = drawn(seed, 25)
    table = count_system_co_occurrence(rows, rows.task)
    met: dict[int, set[int]] = {}
    for task, system, role in zip(rows.task.tolist(), rows.system.tolist(), rows.role.tolist(), strict=True):
        if role in (RatingRole.RATING, RatingRole.REPEAT):
            met.setdefault(task, set()).add(system)
    for i in range(rows.n_systems):
        for j in range(rows.n_systems):
            assert table[i, j] == sum({i, j} <= systems for systems in met.values())


def test_all_outputs_of_a_source_in_one_task_put_every_system_with_every_other() -> None:
    """The alternate tasks of 2018: Knowles 2021, §5.4."""
    rows = Ratings.from_columns(
        system=["A", "B", "C"] * 4,
        document=["d"] * 12,
        position=[1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4],
        rater=["r"] * 12,
        task=["t1"] * 6 + ["t2"] * 6,
        score=[1.0] * 12,
        higher_is_better=True,
    )
    assert count_system_co_occurrence(rows, rows.task).tolist() == [[2, 2, 2]] * 3
    assert count_system_pairs_rarely_together(count_system_co_occurrence(rows, rows.task)) == 0


def test_systems_that_rarely_meet_are_counted_as_apart_and_unmet_ones_are_not() -> None:
    table = np.array([[10, 4, 0], [4, 5, 0], [0, 0, 0]])
    assert compute_co_occurrence_shares(table)[0, 1] == 0.4
    assert np.isnan(compute_co_occurrence_shares(table)[2]).all()
    assert count_system_pairs_rarely_together(table) == 1
    assert count_system_pairs_rarely_together(table, 0.3) == 0


def test_nothing_judged_has_no_shares_and_no_pairs() -> None:
    rows = drawn(1).where(np.zeros(60, dtype=bool))
    found = count_judgments_by_rater_or_task(rows, rows.rater, np.zeros(rows.n_systems, dtype=bool))
    assert found.owner.size == 0
    assert found.share_of_owners_with_judgments("human") is None
    assert count_system_pairs_rarely_together(count_system_co_occurrence(rows, rows.task)) == 0
