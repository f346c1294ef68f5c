"""Jobs by workers that are processes of their own: shared, killed, paused, stopped, cut off."""

from __future__ import annotations

import itertools
import signal
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import sqlalchemy as sa

from app.domain.recipe import NAMED
from app.jobs import computing, job_steps, queue_worker
from app.jobs import worker as loop
from app.reports import registry, validation
from app.reports.kit import store
from app.reports.kit.report import ReportComputation
from app.reports.kit.request import ReportRequest
from app.services.access.tokens import THE_OPERATOR
from app.services.jobs import jobs, rankings, report_requests
from app.services.jobs.jobs import BLOCK, CHUNK, MOST_TRIES, STALLED_AFTER, JobPartsChanged, JobRequest, JobView
from app.storage import embedded, jobs_queue, migrate
from app.storage.db import Database
from app.storage.jobs_queue import LANES, QueueEntry
from tests.jobs import poison
from tests.jobs.conftest import Bench
from tests.patience import soon
from tests.reports.toy_reports import ToyOptions
from tests.spine import opened
from tests.stats.stability.worlds import as_mqm, made_up
from tests.working import LIMIT, drained, started, stopped, until, working

SLACK = 10.0  # seconds, beside the limit for stalled workers: a look every two, a start of a process, a busy machine


def computing_of(worker: int) -> list[psutil.Process]:
    """The processes of a worker that compute now."""
    try:
        children = psutil.Process(worker).children(recursive=True)
        return [one for one in children if one.cpu_percent(0.2) > 2]  # nice: a busy machine leaves it little
    except psutil.NoSuchProcess:
        return []


def held(bench: Bench, job: JobView) -> set[tuple[object, ...]]:
    """What is held of a job, with how often it was taken back before."""
    entries = "procrastinate.procrastinate_jobs WHERE status = 'doing'"
    return set(bench.spine.ask(f"SELECT id, attempts FROM {entries} AND (args->>'job')::bigint = {job.number}"))


def both_at_work(bench: Bench) -> None:
    """Let both workers that there are begin to compute: else the first to be there may do all of a job."""
    workers = "SELECT count(*) FROM procrastinate.procrastinate_workers"
    until(lambda: bench.spine.ask(workers) == [(2 * len(LANES),)], "both have come")
    seeds = itertools.count(100)

    def shared() -> bool:
        pair = [bench.job(bench.asked(next(seeds), permutations=10, points=1)) for _ in range(2)]
        until(lambda: all(bench.now(job).has_ended for job in pair), "two small jobs are done")
        return len({worker for job in pair for worker in bench.now(job).workers}) == 2

    until(shared, "each has done one of them")


def share_and_finish_alone(bench: Bench, one: subprocess.Popen[bytes], other: subprocess.Popen[bytes]) -> None:
    """Two workers share a job; one is killed, and the other, whose connections are cut, goes on and finishes it."""
    others = "datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    cut = f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {others}"
    wanted = bench.asked(1, points=2)
    expected = bench.undisturbed(wanted)
    both_at_work(bench)
    job = bench.job(wanted)
    of = f"SELECT count(DISTINCT worker) FROM chunk_results WHERE job_id = {job.number}"
    until(lambda: bench.spine.ask(of) == [(2,)], "both have stored chunks")
    until(lambda: bench.queue("doing", job) == 2 or bench.now(job).has_ended, "both are in the middle of one")
    assert not bench.now(job).has_ended
    one.kill()
    killed = time.monotonic()
    left, chunks = held(bench, job), (bench.now(job).total or 0) - bench.now(job).done
    assert left
    assert bench.spine.ask(cut)[0][0] > 2
    until(lambda: not left & held(bench, job), "what it had is taken", within=STALLED_AFTER + SLACK)
    # What the other has to do by itself depends on the machine: two seconds a chunk, of some tenths each.
    rest = STALLED_AFTER + SLACK + 2 * chunks - (time.monotonic() - killed)
    until(lambda: bench.now(job).has_ended, "the other finishes", within=rest)
    print(f"\nfinished {time.monotonic() - killed:.1f} s after the kill, {chunks} chunks were left")  # noqa: T201  (a figure)
    assert other.poll() is None

    done = bench.now(job)
    assert (done.state, done.done, len(done.workers)) == ("done", done.total, 2)
    assert sum(done.workers.values()) == done.total
    assert min(done.workers.values()) >= 1
    assert bench.report(job) == expected


def test_a_report_is_made_as_soon_as_its_data_are_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process holds the data of few jobs: to read those of all before the first is made is to read them twice."""
    monkeypatch.setattr(rankings, "AT_ONCE", 0.0)
    read: list[int] = []
    load = job_steps.load_job_work

    def look(database: Database, request: JobRequest) -> ReportComputation[Any]:
        read.append(len(made()))
        return load(database, request)

    monkeypatch.setattr(job_steps, "load_job_work", look)
    asked = [
        rankings.find_or_queue_ranking(bench.spine.database, "thrice", recipe=replace(NAMED["google-mqm"], seed=seed))
        for seed in range(job_steps.MOST_HELD + 2)
    ]

    def made() -> list[JobView]:
        return [job for job in asked if isinstance(job, JobView) and bench.now(job).state == "done"]

    drained(bench.spine.database)
    assert made() == asked
    assert read == list(range(len(asked)))  # how many were made before


def test_entries_that_nobody_holds_any_more_are_entered_again(bench: Bench) -> None:
    job = bench.job(bench.asked(77))
    taken = "UPDATE procrastinate_jobs SET status = 'doing' WHERE status = 'todo' RETURNING id"
    with bench.spine.database.transaction() as session:
        jobs_queue.set_queue_search_path(session)
        n = len(session.execute(sa.text(taken)).all())
        assert n > 0
        assert jobs_queue.requeue_orphaned_entries(session) == n
        jobs.cancel_job(session, job.job, THE_OPERATOR)


def test_a_job_that_an_earlier_version_divided_otherwise_is_refused_and_begun_anew(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunk 1 of 2 and chunk 1 of 4 hold other studies: what one version computed is never put beside the other's."""
    asked = ReportRequest(
        validation.REPORT, ("thrice",), validation.RecipeValidationOptions(recipe="google-mqm", studies=4)
    )
    with bench.spine.database.transaction() as session:
        lookup = store.look_up_report(session, asked)
        work = validation.REPORT.prepare(session, lookup.about, asked.options)
    whole = store.compute_report(work, on_progress=lambda *_: None, should_stop=lambda: False)

    job = bench.job(asked)
    drained(bench.spine.database, most=2)  # what it is divided into, and a chunk
    assert (bench.now(job).done, bench.now(job).total) == (1, 2)
    monkeypatch.setattr(validation, "RATINGS_AT_ONCE", 1)
    drained(bench.spine.database)
    refused = bench.now(job)
    assert refused.state == "failed"
    assert refused.error is not None
    assert JobPartsChanged.published in str(refused.error)
    again = bench.job(asked)
    assert again.job == job.job
    drained(bench.spine.database)
    assert (bench.now(job).state, bench.now(job).done, bench.now(job).total) == ("done", 4, 4)
    assert bench.report(job) == whole  # however it is divided


@pytest.mark.soak
def test_a_killed_worker_hands_nothing_back(bench: Bench, tmp_path: Path) -> None:
    """The control of what one that is stopped hands back."""
    job = bench.job(bench.asked(22, permutations=100_000))  # a chunk takes seconds
    with working(bench.spine.url, tmp_path) as worker:
        until(lambda: bench.queue("doing", job, CHUNK) == 1, "it is in the middle of a chunk")
        stopped(worker)
    assert (bench.queue("doing", job), bench.queue("doing")) == (1, 1)
    with bench.spine.database.transaction() as session:
        jobs.cancel_job(session, job.job, THE_OPERATOR)


def most_done_before(bench: Bench, small: JobView, large: JobView) -> int:
    """Chunks of the large job that were done by the end of the small one, entry by entry as workers take them."""
    before = bench.now(large).done
    while not bench.now(small).has_ended:
        assert drained(bench.spine.database, most=1) == 1
    return bench.now(large).done - before


@pytest.mark.parametrize(("block", "sets"), [(4, 1), pytest.param(BLOCK, 3, marks=pytest.mark.soak)])
def test_a_small_job_waits_for_a_few_chunks_of_a_large_one_and_not_for_all(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, block: int, sets: int
) -> None:
    """block: chunks of one priority, a fifth of those of the large job or fewer."""
    monkeypatch.setattr(jobs, "BLOCK", block)

    def both(seed: int) -> tuple[JobView, JobView]:
        large = bench.job(bench.asked(seed, permutations=10, points=10, sets=sets))
        drained(bench.spine.database, most=4)
        return bench.job(bench.asked(seed + 1, permutations=10, points=1, sets=sets)), large

    small, large = both(40)
    assert (most_done_before(bench, small, large) <= block, bench.now(large).has_ended) == (True, False)
    drained(bench.spine.database)
    assert bench.now(large).state == "done"

    monkeypatch.setattr(
        jobs, "make_chunk_queue_entry", lambda row, n: QueueEntry(CHUNK, row.id, n)
    )  # the control: first come
    small, large = both(50)
    assert most_done_before(bench, small, large) > 3 * block
    drained(bench.spine.database)


def seconds_of_computing(bench: Bench, worker: int, seed: int) -> float:
    """For how long a worker computes that whose job is cancelled."""
    job = bench.job(bench.asked(seed, permutations=100_000))  # a chunk takes longer than what is measured
    until(lambda: bench.now(job).state == "running" and computing_of(worker), "it computes")
    time.sleep(1)
    busy: list[psutil.Process] = []

    def goes_on() -> bool:
        busy[:] = computing_of(worker)
        return bool(busy)

    until(goes_on, "the control: by itself it goes on")
    begun = time.monotonic()
    with bench.spine.database.transaction() as session:
        jobs.cancel_job(session, job.job, THE_OPERATOR)
    assert psutil.wait_procs(busy, timeout=LIMIT)[1] == []
    took = time.monotonic() - begun
    print(f"\nnothing computed {took:.1f} s after cancelling")  # noqa: T201  (a figure)
    for _ in range(2):
        assert not computing_of(worker)
        time.sleep(0.5)
    done = bench.now(job)
    assert done.state == "cancelled"
    another = bench.job(bench.asked(seed, permutations=100, points=1))
    until(lambda: bench.now(another).state == "done", "the worker goes on with others")
    assert bench.now(job).done == done.done
    return took


def stop_computing_and_go_on(bench: Bench, worker: subprocess.Popen[bytes]) -> None:
    """Cancelling stops the CPU within two seconds, and the worker goes on."""
    seeds = itertools.count(300)
    assert soon(lambda: seconds_of_computing(bench, worker.pid, next(seeds)), 2)
    assert worker.poll() is None


def rank_meanwhile_and_hand_back(bench: Bench, worker: subprocess.Popen[bytes]) -> None:
    """A ranking waits behind no simulation, and a worker that is stopped hands back what it has, within ten seconds.

    The worker's only process is in the middle of the first of two large simulations when a ranking is asked for.
    """
    simulations = [bench.job(bench.asked(40 + n, permutations=25_000)) for n in range(2)]
    recipe = NAMED["google-mqm"]
    until(lambda: bench.queue("doing", simulations[0], CHUNK), "a part of it is being computed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rankings, "AT_ONCE", 0.0)
        ranking = rankings.find_or_queue_ranking(bench.spine.database, "thrice", recipe=recipe)
    assert isinstance(ranking, JobView)
    until(lambda: bench.now(ranking).has_ended, "the ranking is there")
    assert bench.now(ranking).state == "done"
    left = [(one.total or 99) - one.done for one in map(bench.now, simulations)]
    until(lambda: bench.now(simulations[0]).done > 0, "it has stored chunks")
    worker.send_signal(signal.SIGTERM)
    begun = time.monotonic()
    assert worker.wait(LIMIT) == 0
    assert time.monotonic() - begun < 10
    assert min(left) >= 12, left  # of 18 parts each; behind them all the ranking would have come last
    assert bench.queue("doing") == 0
    assert all(bench.queue("todo", job) > 0 and not bench.now(job).has_ended for job in simulations)

    for job in simulations:
        with bench.spine.database.transaction() as session:
            jobs.cancel_job(session, job.job, THE_OPERATOR)


def test_two_workers_share_a_job_and_who_is_left_when_one_is_killed_stops_goes_on_ranks_and_hands_back(
    bench: Bench, tmp_path: Path
) -> None:
    """One after another with the same workers, as each takes seconds to begin."""
    with working(bench.spine.url, tmp_path / "a") as one, working(bench.spine.url, tmp_path / "b") as other:
        share_and_finish_alone(bench, one, other)
        stop_computing_and_go_on(bench, other)
        rank_meanwhile_and_hand_back(bench, other)


@pytest.mark.parametrize("tries", [2, pytest.param(MOST_TRIES, marks=pytest.mark.soak)])
def test_a_chunk_that_ends_its_process_is_tried_so_often_and_ends_the_job_with_its_reason(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tries: int
) -> None:
    monkeypatch.setattr(jobs, "MOST_TRIES", tries)
    traces = tmp_path / "traces"
    monkeypatch.setenv(poison.TRACES, str(traces))
    monkeypatch.setattr(computing, "run_computing_child", poison.compute)
    monkeypatch.setattr(registry, "ALL", poison.KINDS)
    monkeypatch.setattr(
        queue_worker, "POLL", 0.1
    )  # what is tried again is due after a second or two, and found by looking
    for module in (jobs, queue_worker):  # a worker that the machine lets stand still would count as one more that ended
        monkeypatch.setattr(module, "STALLED_AFTER", LIMIT)
    job = report_requests.find_or_queue_report(
        bench.spine.database, ReportRequest(poison.POISON, ("mqm",), ToyOptions(parts=4))
    )
    assert isinstance(job, JobView)
    stop = threading.Event()
    worker = threading.Thread(
        target=lambda: loop.run_worker(bench.spine.database, stop=stop, every=60, beat=lambda: None, low_priority=False)
    )
    worker.start()
    try:
        until(lambda: bench.now(job).has_ended, "the job ends")
    finally:
        stop.set()
        worker.join(LIMIT)
    assert not worker.is_alive()
    ended = bench.now(job)
    assert ended.state == "failed"
    assert ended.error
    assert ended.error["detail"] == f"computing (part 2) ended with exit code 7, {tries} times"
    assert traces.read_text().split().count("1") == tries


@pytest.mark.soak
def test_a_paused_worker_that_wakes_finds_its_chunks_done_and_damages_nothing(bench: Bench, tmp_path: Path) -> None:
    wanted = bench.asked(5)
    expected = bench.undisturbed(wanted)
    job = bench.job(wanted)
    paused = started(bench.spine.url, tmp_path / "a")
    try:
        until(lambda: bench.now(job).done > 0, "it has stored chunks")
        everyone = [psutil.Process(paused.pid), *psutil.Process(paused.pid).children(recursive=True)]
        for process in everyone:
            process.suspend()
        with working(bench.spine.url, tmp_path / "b"):
            until(lambda: bench.now(job).has_ended, "another finishes it")
            for process in everyone:
                process.resume()
            another = bench.job(bench.asked(6))
            until(lambda: bench.now(another).has_ended, "both go on")
        assert len(bench.now(another).workers) == 2, "who woke up works again"
        assert paused.poll() is None
    finally:
        stopped(paused)
    assert bench.report(job) == expected


@pytest.mark.soak
def test_many_kills_change_no_byte(bench: Bench, tmp_path: Path) -> None:
    wanted = bench.asked(7, points=8)
    expected = bench.undisturbed(wanted)
    job = bench.job(wanted)
    steady = started(bench.spine.url, tmp_path / "steady")
    try:
        for n in range(6):
            if bench.now(job).has_ended:
                break
            with working(bench.spine.url, tmp_path / str(n)):
                before = bench.now(job).done
                until(lambda: bench.now(job).has_ended or bench.now(job).done > before + 2, "chunks are stored")  # noqa: B023  (called at once)
        until(lambda: bench.now(job).has_ended, "the job ends")
    finally:
        stopped(steady)
    assert bench.report(job) == expected


@pytest.mark.soak
def test_a_database_that_is_restarted_while_a_job_runs_is_waited_for(data_dir: Path, tmp_path: Path) -> None:
    data_dir.mkdir(mode=0o700)
    with embedded.start_server(data_dir) as server:
        migrate.upgrade_schema(server.url("owner"))
        with opened(server.url("owner")) as spine:
            spine.take("thrice", "mqm-tsv", as_mqm(made_up(1, documents=20)))
            bench = Bench(spine)
            wanted = bench.asked(8)
            expected = bench.undisturbed(wanted)
            job = bench.job(wanted)
            with working(spine.url, tmp_path) as worker:
                until(lambda: bench.now(job).done > 0, "it has stored chunks")
                embedded.stop_server(data_dir)
                time.sleep(2)
                with embedded.start_server(data_dir):
                    until(lambda: bench.now(job).has_ended, "the job ends")
                    assert worker.poll() is None
                    assert bench.report(job) == expected
