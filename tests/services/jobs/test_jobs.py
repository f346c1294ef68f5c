"""Without waiting: what a worker took and did not live to finish, what comes twice, and what the queue has lost."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

import pytest
from sqlalchemy import text

from app.domain.errors import AppError, Invalid
from app.jobs.job_steps import QueueEntryComputer
from app.reports import registry
from app.reports.kit import store
from app.reports.kit.report import StoredReport
from app.reports.kit.request import ReportRequest
from app.reports.stability.options import StabilityIn, StudyDesignIn
from app.reports.stability.report import REPORT
from app.services.access.tokens import THE_OPERATOR
from app.services.jobs import jobs, report_requests
from app.services.jobs.jobs import MOST_BEGUN, MOST_TRIES, STALLED_AFTER, JobView
from app.storage import embedded, jobs_queue
from app.storage import jobs as stored
from app.storage.jobs_queue import QueueEntry
from tests.reports.toy_reports import BOTH, ToyOptions
from tests.spine import Spine, fresh
from tests.stats.stability.worlds import as_mqm, made_up
from tests.working import drained

DESIGNS = [StudyDesignIn(), StudyDesignIn(grouping="none", normalize="z")]


@pytest.fixture(scope="module")
def world(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("thrice", "mqm-tsv", as_mqm(made_up(1, documents=8)))
        yield found


@pytest.fixture
def spine(world: Spine) -> Iterator[Spine]:
    """The same data, and no job yet."""
    yield world
    with world.database.transaction() as session:
        for table in ("jobs", "reports"):
            session.execute(text(f"DELETE FROM {table}"))
    drained(world.database)
    with world.database.transaction() as session:
        jobs_queue.set_queue_search_path(session)
        session.execute(text("DELETE FROM procrastinate_jobs"))
        session.execute(text("DELETE FROM procrastinate_workers"))


def ask(spine: Spine, seed: int = 0) -> JobView:
    found = report_requests.find_or_queue_report(spine.database, request(seed))
    assert isinstance(found, JobView)
    return found


def request(seed: int = 0, *, designs: list[StudyDesignIn] = DESIGNS) -> ReportRequest:
    options = StabilityIn(
        designs=designs, documents=[5, 8], studies=20, studies_per_document_set=10, permutations=100, seed=seed
    )
    return ReportRequest(REPORT, ("thrice",), options)


def now(spine: Spine, job: JobView) -> JobView:
    with spine.database.transaction() as session:
        return jobs.get_visible_job(session, job.job, THE_OPERATOR)


def undisturbed(spine: Spine, seed: int = 0) -> bytes:
    with spine.database.transaction() as session:
        lookup = store.look_up_report(session, request(seed))
        assert lookup.body is None
        work = REPORT.prepare(session, lookup.about, request(seed).options)
    return store.compute_report(work, on_progress=lambda *_: None, should_stop=lambda: False)


def report_of(spine: Spine, job: JobView) -> bytes:
    with spine.database.transaction() as session:
        return jobs.get_job_report(session, jobs.get_job(session, job.job)).body


def take(spine: Spine, *, ago: float) -> QueueEntry:
    """What a worker does that takes an entry and is not heard of since."""
    with spine.database.transaction() as session:
        jobs_queue.set_queue_search_path(session)
        worker = session.execute(text("SELECT worker_id FROM procrastinate_register_worker_v1()")).scalar_one()
        row = session.execute(text("SELECT * FROM procrastinate_fetch_job_v2(NULL, :w)"), {"w": worker}).one()
        heard = "UPDATE procrastinate_workers SET last_heartbeat = now() - make_interval(secs => :ago) WHERE id = :w"
        session.execute(text(heard), {"ago": ago, "w": worker})
    return QueueEntry(row.task_name, row.args["job"], row.args.get("n"))


def test_what_a_dead_worker_took_is_done_by_another_with_the_same_bytes(spine: Spine) -> None:
    expected = undisturbed(spine)
    job = ask(spine)
    drained(spine.database, most=2)
    take(spine, ago=STALLED_AFTER + 1)
    drained(spine.database)
    assert not now(spine, job).has_ended, "the control: without a sweep nobody does it"

    assert jobs.recover_stalled_jobs(spine.database) == 1
    drained(spine.database)

    assert now(spine, job).state == "done"
    assert report_of(spine, job) == expected


def test_what_a_living_worker_took_is_left_to_it(spine: Spine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "STALLED_AFTER", 600.0)  # the machine may stand still for as long as it is by itself
    job = ask(spine)
    drained(spine.database, most=2)
    take(spine, ago=jobs.STALLED_AFTER / 2)
    assert jobs.recover_stalled_jobs(spine.database) == 0
    drained(spine.database)
    assert not now(spine, job).has_ended


@pytest.mark.parametrize("broken", [False, True])
def test_a_paused_worker_that_wakes_cannot_damage_a_result(
    spine: Spine, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    """broken: the control, a store in which the last one wins."""

    def last_wins(session: stored.Session, job_id: int, n: int, body: bytes, worker: str) -> bool:
        forget = text("DELETE FROM chunk_results WHERE job_id = :job AND n = :n")
        again = session.execute(forget, {"job": job_id, "n": n}).rowcount
        session.execute(
            text("UPDATE jobs SET n_done = n_done - :again WHERE id = :job"), {"again": again, "job": job_id}
        )
        # From 128 on stand the means of the first system.
        damaged = body[:130] + bytes(16) + body[146:] if worker == "paused" else body
        return store(session, job_id, n, damaged, worker)

    store = stored.store_chunk_result
    if broken:
        monkeypatch.setattr(stored, "store_chunk_result", last_wins)
    expected = undisturbed(spine)
    job = ask(spine)
    drained(spine.database, most=1)
    taken = take(spine, ago=STALLED_AFTER + 1)
    late = QueueEntryComputer(spine.database, "paused")
    jobs.recover_stalled_jobs(spine.database)
    drained(spine.database, most=2)
    if broken:  # its look at the job was before the others stored anything
        monkeypatch.setattr(stored, "has_chunk_result", lambda *_: False)
    late.compute_queue_entry(taken.task, taken.job_id, taken.n)
    drained(spine.database)
    late.compute_queue_entry(taken.task, taken.job_id, taken.n)
    drained(spine.database)

    same = now(spine, job).state == "done" and report_of(spine, job) == expected
    assert same is not broken


def test_everything_may_be_done_twice(spine: Spine) -> None:
    expected = undisturbed(spine)
    job = ask(spine)
    one, other = QueueEntryComputer(spine.database, "one"), QueueEntryComputer(spine.database, "other")
    for task, n in [("prepare", None), *(("chunk", n) for n in range(4)), ("finish", None)]:
        for computer in (one, other, one):
            computer.compute_queue_entry(task, job.number, n)
    assert now(spine, job).done == now(spine, job).total == 4
    assert report_of(spine, job) == expected
    drained(spine.database)
    assert now(spine, job).state == "done"


def test_who_computed_how_many_is_told(spine: Spine) -> None:
    job = ask(spine)
    one, other = QueueEntryComputer(spine.database, "one"), QueueEntryComputer(spine.database, "other")
    one.compute_queue_entry("prepare", job.number)
    for n in range(4):
        (one if n == 2 else other).compute_queue_entry("chunk", job.number, n)
    drained(spine.database)
    assert now(spine, job).workers == {"one": 1, "other": 3}


def test_a_chunk_whose_workers_end_again_and_again_ends_the_job_with_its_reason(spine: Spine) -> None:
    job = ask(spine)
    drained(spine.database, most=1)
    for tries in range(1, MOST_TRIES + 1):
        assert not now(spine, job).has_ended, f"after {tries - 1} tries there is another"
        take(spine, ago=STALLED_AFTER + 1)
        jobs.recover_stalled_jobs(spine.database)
    ended = now(spine, job)
    assert (ended.state, ended.error and ended.error["detail"]) == (
        "failed",
        f"its workers stopped before it was finished, {MOST_TRIES} times",
    )
    assert drained(spine.database) == 0
    with pytest.raises(AppError):
        report_of(spine, job)

    again = ask(spine)
    assert (again.job, again.state) == (job.job, "queued")
    drained(spine.database)
    assert now(spine, job).state == "done"


def test_a_first_crash_after_database_restarts_does_not_end_a_job(spine: Spine) -> None:
    """Tries that a database cut short, and ways to end, are counted each by itself."""
    job = ask(spine)
    drained(spine.database, most=1)
    with spine.database.transaction() as session:
        jobs_queue.set_queue_search_path(session)
        session.execute(text("UPDATE procrastinate_jobs SET attempts = 10"))  # what was away, again and again
        entry = session.execute(text("SELECT min(id) FROM procrastinate_jobs")).scalar_one()
    for _ in range(MOST_TRIES - 1):
        take(spine, ago=STALLED_AFTER + 1)
        jobs.recover_stalled_jobs(spine.database)
        assert not now(spine, job).has_ended
    assert [jobs.record_worker_crash(spine.database, entry) for _ in range(MOST_TRIES)] == [False, False, True]
    drained(spine.database)
    assert now(spine, job).state == "done"


@pytest.mark.parametrize("after", [0, 1, 3, 5])
def test_what_the_queue_has_lost_is_entered_again(spine: Spine, after: int) -> None:
    expected = undisturbed(spine)
    job = ask(spine)
    drained(spine.database, most=after)
    with spine.database.transaction() as session:
        jobs_queue.set_queue_search_path(session)
        session.execute(text("DELETE FROM procrastinate_jobs"))
    assert (drained(spine.database), now(spine, job).has_ended) == (0, False)
    assert jobs.recover_stalled_jobs(spine.database) == 1
    drained(spine.database)
    assert report_of(spine, job) == expected


def test_what_is_lost_again_and_again_ends(spine: Spine) -> None:
    job = ask(spine)
    for _ in range(MOST_BEGUN):
        assert not now(spine, job).has_ended
        with spine.database.transaction() as session:
            jobs_queue.set_queue_search_path(session)
            session.execute(text("DELETE FROM procrastinate_jobs"))
        jobs.recover_stalled_jobs(spine.database)
    assert now(spine, job).state == "failed"


def test_the_queue_holds_no_more_of_a_job_than_its_window(spine: Spine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "WINDOW", 2)
    monkeypatch.setattr("app.jobs.job_steps.WINDOW", 2)
    expected = undisturbed(spine)
    job = ask(spine)
    most = 0
    while drained(spine.database, most=1):
        ((n,),) = spine.ask("SELECT count(*) FROM procrastinate.procrastinate_jobs")
        most = max(most, n)
    assert (most, report_of(spine, job)) == (2, expected)


def test_a_report_that_was_deleted_is_made_anew_by_the_same_job(spine: Spine) -> None:
    job = ask(spine)
    drained(spine.database)
    first = report_of(spine, job)
    with spine.database.transaction() as session:
        session.execute(text("DELETE FROM reports"))
    again = ask(spine)
    assert (again.job, again.state) == (job.job, "queued")
    drained(spine.database)
    assert report_of(spine, job) == first


def test_a_kind_of_report_is_computed_chunk_by_chunk_as_it_is_at_once(
    spine: Spine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "ALL", MappingProxyType(BOTH))
    for parts in (0, 3):
        asking = ReportRequest(BOTH["campaigns/toys"], ("thrice",), ToyOptions(parts=parts))
        job = report_requests.find_or_queue_report(spine.database, asking)
        assert isinstance(job, JobView)
        drained(spine.database)
        assert (now(spine, job).done, now(spine, job).total) == (max(1, parts),) * 2
        made = report_requests.find_or_queue_report(spine.database, asking)
        assert isinstance(made, StoredReport)
        with spine.database.transaction() as session:
            session.execute(text("DELETE FROM reports"))
        assert store.find_or_compute_report(spine.database, asking).body == made.body


def test_what_does_not_fit_is_refused_as_it_would_have_been_at_once(
    spine: Spine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "ALL", MappingProxyType(BOTH))
    asking = ReportRequest(BOTH["campaigns/toys"], ("thrice",), ToyOptions(rater="nobody"))
    with pytest.raises(Invalid) as at_once:
        store.find_or_compute_report(spine.database, asking)
    job = report_requests.find_or_queue_report(spine.database, asking)
    assert isinstance(job, JobView)
    drained(spine.database)
    with pytest.raises(AppError) as later:
        report_requests.find_or_queue_report(spine.database, asking)
    for error in (at_once.value, later.value):
        assert (error.kind, error.title(), error.places[0].loc) == ("invalid", Invalid.title(), ("query", "rater"))
