"""A campaign that is rated several times, with a job that some processes share for a while."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from app.reports.kit import store
from app.reports.kit.request import ReportRequest
from app.reports.stability.options import StabilityIn, StudyDesignIn
from app.reports.stability.report import REPORT
from app.services.access.tokens import THE_OPERATOR
from app.services.jobs import jobs, report_requests
from app.services.jobs.jobs import JobView
from app.storage import embedded, jobs_queue
from tests.patience import patience as patience  # a fixture
from tests.spine import Spine, fresh
from tests.stats.stability.worlds import as_mqm, made_up
from tests.working import until

DESIGNS = [StudyDesignIn(), StudyDesignIn(grouping="none", normalize="z")]
AT_WORK = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
AND backend_type = 'client backend' AND state <> 'idle'"""


class Bench:
    """A database with jobs to be asked for. permutations: how long a chunk takes."""

    def __init__(self, spine: Spine) -> None:
        self.spine = spine

    def asked(self, seed: int, *, permutations: int = 8_000, points: int = 3, sets: int = 3) -> ReportRequest:
        """18 chunks of some tenths of a second each, by default: two for each point and each set of studies."""
        options = StabilityIn(
            designs=DESIGNS,
            documents=list(range(20, 20 - points, -1)),
            studies=250 * sets,
            studies_per_document_set=250,
            permutations=permutations,
            seed=seed,
        )
        return ReportRequest(REPORT, ("thrice",), options)

    def job(self, asked: ReportRequest) -> JobView:
        """The job that makes the report."""
        found = report_requests.find_or_queue_report(self.spine.database, asked)
        assert isinstance(found, JobView)
        return found

    def now(self, job: JobView) -> JobView:
        """As it stands."""
        with self.spine.database.transaction() as session:
            return jobs.get_visible_job(session, job.job, THE_OPERATOR)

    def report(self, job: JobView) -> bytes:
        """What it has made."""
        with self.spine.database.transaction() as session:
            return jobs.get_job_report(session, self.now(job)).body

    def undisturbed(self, asked: ReportRequest) -> bytes:
        """What one process makes of it that nobody disturbs."""
        with self.spine.database.transaction() as session:
            lookup = store.look_up_report(session, asked)
            work = REPORT.prepare(session, lookup.about, asked.options)
        return store.compute_report(work, on_progress=lambda *_: None, should_stop=lambda: False)

    def queue(self, state: str, job: JobView | None = None, task: str = "%") -> int:
        """Entries in a state, of one job or of all, of one task or of all."""
        entries = f"procrastinate.procrastinate_jobs WHERE status = '{state}' AND task_name LIKE '{task}'"
        of = "" if job is None else f"AND (args->>'job')::bigint = {job.number}"
        ((n,),) = self.spine.ask(f"SELECT count(*) FROM {entries} {of}")
        return int(n)

    def forget(self) -> None:
        """Leave no entry and no worker in the queue.

        A worker that is killed leaves both. The next one would wait for it to have been silent for so long, and then
        begin a process for what it left, whatever is measured at that moment.
        """
        until(lambda: self.spine.ask(AT_WORK) == [(0,)], "what killed workers sent is carried out")
        with self.spine.database.transaction() as session:
            jobs_queue.set_queue_search_path(session)
            session.execute(text("DELETE FROM procrastinate_jobs"))
            session.execute(text("DELETE FROM procrastinate_workers"))


@pytest.fixture(scope="module")
def campaigns(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as spine:
        spine.take("thrice", "mqm-tsv", as_mqm(made_up(1, documents=20)))
        spine.take("mqm", "mqm-tsv", as_mqm(made_up(2, documents=4)))
        yield spine


@pytest.fixture
def bench(campaigns: Spine) -> Bench:
    """The campaigns, and nothing in the queue of what other tests left there."""
    found = Bench(campaigns)
    found.forget()
    return found
