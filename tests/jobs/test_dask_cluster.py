"""Chunks on a Dask cluster: the same bytes, from data alone; refusals, cancelling, a worker or scheduler that goes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import cloudpickle
import pytest
from sqlalchemy import text

from app.domain.errors import Invalid, Place
from app.jobs import dask_cluster
from app.jobs.computing import ComputingFailed, Ending
from app.jobs.dask_cluster import ChunkInterrupted, DaskCluster, DaskComputingPool, SchedulerAway, unpack_chunk_function
from app.jobs.job_steps import MOST_HELD, QueueEntryComputer, can_compute_without_database
from app.reports import registry
from app.reports.kit.request import ReportRequest, parse_report_options
from app.reports.kit.store import assemble_report_from_chunks, look_up_report
from app.reports.stability.report import REPORT
from app.services.jobs.jobs import CHUNK
from app.storage import jobs_queue
from app.storage.jobs_queue import QueueEntry
from tests.jobs.conftest import Bench
from tests.working import TAKEN, until

DIVIDED = {"campaign/robustness", "campaign/agreement", "campaign/power", "campaign/multiverse"}
"""Reports that a campaign of MQM has, and that are computed in chunks, among others; stability is in another test."""


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """A cluster of one thread, in this process."""
    import distributed

    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1", dashboard_address=":0"
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def cluster(scheduler: str) -> Iterator[DaskCluster]:
    opened = DaskCluster(scheduler)
    yield opened
    opened.close()


class Here:
    """In the place of a worker's own processes."""

    def __init__(self, bench: Bench) -> None:
        self.computer = QueueEntryComputer(bench.spine.database, "here")
        self.tasks: list[str] = []

    def compute_queue_entry(self, entry: QueueEntry, **_asked: object) -> Ending:
        self.tasks.append(entry.task)
        self.computer.compute_queue_entry(entry.task, entry.job_id, entry.n)
        return "done"


def drained_by(computing: DaskComputingPool, bench: Bench) -> None:
    """Have all done that the queue has."""
    while True:
        with bench.spine.database.transaction() as session:
            jobs_queue.set_queue_search_path(session)
            taken = session.execute(text(TAKEN)).one_or_none()
        if taken is None:
            return
        entry = QueueEntry(taken.task_name, taken.args["job"], taken.args.get("n"))
        assert computing.compute_queue_entry(entry, wanted=lambda: True, stopping=threading.Event()) == "done"


def never() -> None:
    return None


def two(n: int) -> bytes:
    return bytes([2 * n])


def refuse(n: int) -> bytes:
    raise Invalid("no such part", places=(Place(("n",), f"{n} is too large"),))


def break_down(n: int) -> bytes:
    return bytes([1 // (n - n)])


def refuse_data(theirs: str, packed: bytes) -> None:
    raise dask_cluster.WorkerVersionMismatch(f"{len(packed)} bytes of {theirs}")


def wait_long(n: int) -> bytes:
    time.sleep(n)
    return b""


def test_a_job_has_the_same_bytes_as_one_computed_here(bench: Bench, cluster: DaskCluster) -> None:
    wanted = bench.asked(31, permutations=50, points=1)
    job, here = bench.job(wanted), Here(bench)
    drained_by(DaskComputingPool(bench.spine.database, here, cluster), bench)  # type: ignore[arg-type]
    done = bench.now(job)
    assert (done.state, done.done, done.workers) == ("done", done.total, {f"dask {cluster.address}": done.total})
    assert done.total
    assert CHUNK not in here.tasks
    assert bench.report(job) == bench.undisturbed(wanted)


def test_rankings_stay_here_because_their_chunks_read_and_store(bench: Bench, cluster: DaskCluster) -> None:
    on_the_kit = bench.job(bench.asked(32, permutations=50, points=1))
    assert can_compute_without_database(bench.spine.database, on_the_kit.number)
    assert not can_compute_without_database(bench.spine.database, 10**9), "a job that is gone"
    with bench.spine.database.transaction() as session:
        session.execute(text("UPDATE jobs SET kind = 'recipes' WHERE id = :id"), {"id": on_the_kit.number})
    assert not can_compute_without_database(bench.spine.database, on_the_kit.number)
    bench.forget()


def test_chunks_carry_data_and_no_database(bench: Bench) -> None:
    """Each report that is divided: what computes its chunks can be sent, and names neither server nor credential."""
    divided = set()
    for name, kind in registry.ALL.items():
        if name.startswith("campaigns/"):
            continue
        with bench.spine.database.transaction() as session:
            try:
                asked = ReportRequest(kind, ("thrice",), parse_report_options(kind, {}))
                work = kind.prepare(session, look_up_report(session, asked).about, asked.options)
            except Invalid:
                continue  # a campaign of MQM has no such report
        if work.n_chunks:
            divided.add(name)
            packed = cloudpickle.dumps(work.chunk)
            assert not [secret for secret in (b"postgresql", b"pgpass", b"password") if secret in packed], name
            assert callable(cloudpickle.loads(packed))
    assert divided >= DIVIDED


def test_what_a_chunk_is_refused_for_comes_back_with_its_place(cluster: DaskCluster) -> None:
    with pytest.raises(Invalid) as refused:
        cluster.compute_job_chunk(1, refuse, 7, find_ending=never)
    assert refused.value.places == (Place(("n",), "7 is too large"),)
    assert cluster.compute_job_chunk(2, two, 7, find_ending=never) == b"\x0e"


def test_a_fault_in_a_chunk_ends_the_try_and_not_the_cluster(cluster: DaskCluster) -> None:
    with pytest.raises(ComputingFailed, match="ZeroDivisionError on the cluster"):
        cluster.compute_job_chunk(1, break_down, 1, find_ending=never)
    assert cluster.compute_job_chunk(2, two, 3, find_ending=never) == b"\x06"


def test_another_version_on_the_cluster_is_no_answer() -> None:
    assert unpack_chunk_function(dask_cluster.version("plumbline"), cloudpickle.dumps(two))(1) == b"\x02"
    with pytest.raises(dask_cluster.WorkerVersionMismatch, match=r"0\.0\.1 here"):
        unpack_chunk_function("0.0.1", cloudpickle.dumps(two))


@pytest.mark.parametrize("ending", ["unwanted", "stopped"])
def test_a_chunk_that_nobody_waits_for_is_left(cluster: DaskCluster, ending: Ending) -> None:
    begun = time.monotonic()
    with pytest.raises(ChunkInterrupted) as left:
        cluster.compute_job_chunk(1, wait_long, 1, find_ending=lambda: ending)
    assert left.value.ending == ending
    assert time.monotonic() - begun < 10
    assert cluster.compute_job_chunk(2, two, 1, find_ending=never) == b"\x02"


def test_the_data_of_the_last_jobs_are_kept_and_sent_once(cluster: DaskCluster) -> None:
    for job in range(MOST_HELD + 1):
        for n in (1, 2):
            assert cluster.compute_job_chunk(job, two, n, find_ending=never) == bytes([2 * n])
    assert list(cluster._sent) == [1, 2]


def test_a_client_that_gave_up_is_replaced(cluster: DaskCluster) -> None:
    assert cluster.compute_job_chunk(1, two, 1, find_ending=never) == b"\x02"
    cluster._client.close()  # as it does where the scheduler is away for long and nothing is under way
    assert cluster.compute_job_chunk(1, two, 2, find_ending=never) == b"\x04"


def test_data_that_a_cluster_did_not_take_are_sent_again(cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "unpack_chunk_function", refuse_data)
    with pytest.raises(ComputingFailed):
        cluster.compute_job_chunk(1, two, 1, find_ending=never)
    monkeypatch.undo()
    assert cluster.compute_job_chunk(1, two, 2, find_ending=never) == b"\x04"


def test_a_scheduler_that_is_not_there_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    monkeypatch.setattr(dask_cluster, "CONNECT_WITHIN", 0.3)
    with pytest.raises(SchedulerAway):
        DaskCluster("tcp://127.0.0.1:9").compute_job_chunk(1, two, 1, find_ending=never)
    monkeypatch.setattr(dask_cluster, "CONNECT_WITHIN", 1.0)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1", dashboard_address=":0"
    ) as short:
        left_behind = DaskCluster(short.scheduler_address)
        assert left_behind.compute_job_chunk(1, two, 1, find_ending=never) == b"\x02"
    monkeypatch.setattr(dask_cluster, "CONNECT_WITHIN", 0.3)
    for _ in range(2):  # the second time it finds nobody to connect to
        with pytest.raises(SchedulerAway):
            left_behind.compute_job_chunk(1, two, 2, find_ending=never)


@pytest.mark.soak
def test_a_worker_of_the_cluster_that_is_killed_changes_nothing(bench: Bench) -> None:
    """And two workers are faster than one: the figures are printed."""
    import distributed

    wanted = bench.asked(33)
    with bench.spine.database.transaction() as session:
        work = REPORT.prepare(session, look_up_report(session, wanted).about, wanted.options)

    def compute_all(hands: int, *, kill: int | None = None) -> tuple[float, bytes]:
        parts: dict[int, bytes] = {}

        def take(numbers: range) -> None:
            for n in numbers:
                parts[n] = cluster.compute_job_chunk(hands, work.chunk, n, find_ending=never)

        threads = [threading.Thread(target=take, args=(range(first, work.n_chunks, hands),)) for first in range(hands)]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        if kill is not None:
            until(lambda: len(parts) > 1, "some chunks are there")
            os.kill(kill, signal.SIGKILL)
        for thread in threads:
            thread.join()
        return time.monotonic() - begun, assemble_report_from_chunks(work, [parts[n] for n in range(work.n_chunks)])

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
    ) as processes:
        cluster = DaskCluster(processes.scheduler_address)
        assert cluster.count_threads() == 2
        compute_all(2)  # both have loaded what they need
        expected = bench.undisturbed(wanted)
        alone, by_one = compute_all(1)
        together, by_two = compute_all(2)
        _, by_survivors = compute_all(2, kill=next(iter(processes.workers.values())).pid)
        cluster.close()
    print(f"\n{work.n_chunks} chunks: {alone:.1f} s one by one, {together:.1f} s two at a time")  # noqa: T201  (figures)
    assert {by_one, by_two, by_survivors} == {expected}
