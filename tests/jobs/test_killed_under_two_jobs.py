"""A worker that is killed in the middle of two jobs loses neither."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.conftest import Bench
from tests.working import until, working


@pytest.mark.soak
def test_a_worker_killed_in_the_middle_of_two_jobs_loses_neither(bench: Bench, tmp_path: Path) -> None:
    wanted = [bench.asked(301, points=1), bench.asked(302, points=1)]
    expected = [bench.undisturbed(one) for one in wanted]
    asked = [bench.job(one) for one in wanted]
    with working(bench.spine.url, tmp_path / "a", processes=2) as first:
        until(lambda: any(bench.now(job).done for job in asked), "it has stored something")
        first.kill()
    assert not all(bench.now(job).has_ended for job in asked), "it came too late to mean anything"
    assert bench.queue("doing"), "the control: who is killed hands nothing back"
    with working(bench.spine.url, tmp_path / "b", processes=2):
        until(lambda: all(bench.now(job).has_ended for job in asked), "another does what is left")
    assert [bench.now(job).state for job in asked] == ["done", "done"]
    assert [bench.report(job) for job in asked] == expected
