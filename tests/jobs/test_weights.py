"""Queues by weight: what somebody waits for never waits behind a simulation."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.recipe import NAMED
from app.services.access.tokens import THE_OPERATOR
from app.services.jobs import jobs, rankings
from app.services.jobs.jobs import CHUNK, JobView
from tests.jobs.conftest import Bench
from tests.working import until, working


def test_a_ranking_waits_behind_no_simulation(bench: Bench, tmp_path: Path) -> None:
    """The worker's only process is in the middle of the first of two large simulations when a ranking is asked for."""
    simulations = [bench.job(bench.asked(40 + n, permutations=25_000)) for n in range(2)]
    recipe = NAMED["google-mqm"]
    with working(bench.spine.url, tmp_path):
        until(lambda: bench.queue("doing", simulations[0], CHUNK), "a part of it is being computed")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rankings, "AT_ONCE", 0.0)
            ranking = rankings.find_or_queue_ranking(bench.spine.database, "thrice", recipe=recipe)
        assert isinstance(ranking, JobView)
        until(lambda: bench.now(ranking).has_ended, "the ranking is there")
        assert bench.now(ranking).state == "done"
        left = [(one.total or 99) - one.done for one in map(bench.now, simulations)]
    assert min(left) >= 12, left  # of 18 parts each; behind them all the ranking would have come last
    for one in simulations:
        with bench.spine.database.transaction() as session:
            jobs.cancel_job(session, one.job, THE_OPERATOR)
