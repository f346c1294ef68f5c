"""A campaign that is rated several times, with a job that some processes share for a while."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from app.services import stability
from app.services.access.tokens import THE_OPERATOR
from app.services.jobs import jobs
from app.services.jobs.jobs import JobView
from app.services.stability import Asked
from app.stats.stability.curves import in_order
from app.stats.stability.request import Assignment, Request, StudyDesign
from app.storage import embedded, jobs_queue
from tests.patience import patience as patience  # a fixture
from tests.spine import Spine, fresh
from tests.stats.stability.worlds import as_mqm, made_up
from tests.working import until

DESIGNS = (StudyDesign(), StudyDesign(Assignment("none"), "z"))
AT_WORK = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
AND backend_type = 'client backend' AND state <> 'idle'"""


class Bench:
    """A database with jobs to be asked for. permutations: how long a chunk takes."""

    def __init__(self, spine: Spine) -> None:
        self.spine = spine

    def asked(self, seed: int, *, permutations: int = 8_000, points: int = 3) -> Asked:
        """18 chunks of some tenths of a second each, by default."""
        documents = tuple(range(20, 20 - points, -1))
        return Asked(Request(DESIGNS, documents, studies=750, per_set=250, permutations=permutations, seed=seed))

    def job(self, asked: Asked) -> JobView:
        """The job that makes the report."""
        found = stability.long_answer(self.spine.database, "thrice", asked)
        assert isinstance(found, JobView)
        return found

    def now(self, job: JobView) -> JobView:
        """As it stands."""
        with self.spine.database.transaction() as session:
            return jobs.look(session, job.job, THE_OPERATOR)

    def report(self, job: JobView) -> bytes:
        """What it has made."""
        with self.spine.database.transaction() as session:
            return jobs.report(session, self.now(job)).body

    def undisturbed(self, asked: Asked) -> bytes:
        """What one process makes of it that nobody disturbs."""
        made = stability.prepared(self.spine.database, "thrice", asked)
        return stability.computed(made, on_progress=lambda *_: None, should_stop=lambda: False, execute=in_order)

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
            jobs_queue.look_into(session)
            session.execute(text("DELETE FROM procrastinate_jobs"))
            session.execute(text("DELETE FROM procrastinate_workers"))


@pytest.fixture(scope="module")
def campaigns(postgres: embedded.Server, migrated_template: str) -> Iterator[Spine]:
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
