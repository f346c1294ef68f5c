"""Jobs and the results of their chunks. Every change locks the job's row, so changes happen one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from app.domain.errors import NotFound
from app.storage.db import Session
from app.storage.tables import chunk_results, jobs

Row = sa.Row[Any]
UNFINISHED: Final = ("queued", "running", "finishing")
AGAIN: Final = ("failed", "cancelled")
_SHOWN = sa.select(jobs, sa.func.clock_timestamp().label("now"))


class JobNotFound(NotFound):
    """There is no such job."""


def insert_or_lock_job(
    session: Session, *, public_id: str, campaign_id: int, kind: str, key: str, request: Mapping[str, object]
) -> tuple[Row, bool]:
    """Return the job with this key, its row locked, and whether this call created it."""
    values = {"public_id": public_id, "campaign_id": campaign_id, "kind": kind, "key": key, "request": dict(request)}
    made = insert(jobs).values(**values, state="queued").on_conflict_do_nothing(index_elements=["key"])
    is_new = session.execute(made.returning(jobs.c.id)).one_or_none() is not None
    return session.execute(_SHOWN.where(jobs.c.key == key).with_for_update()).one(), is_new


def find_job_by_report_key(session: Session, key: str) -> Row | None:
    """Return the job that computes the report with this key, if there is one."""
    return session.execute(_SHOWN.where(jobs.c.key == key)).one_or_none()


def load_job(session: Session, public_id: str, *, lock: bool = False) -> Row:
    """Return a job; `lock` locks its row. Raises JobNotFound."""
    query = _SHOWN.where(jobs.c.public_id == public_id)
    row = session.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise JobNotFound
    return row


def lock_job(session: Session, job_id: int) -> Row | None:
    """Return a job by its number, its row locked; None if it has been deleted."""
    return session.execute(sa.select(jobs).where(jobs.c.id == job_id).with_for_update()).one_or_none()


def find_job_state(session: Session, job_id: int) -> str | None:
    """Return the state of a job; None if it has been deleted."""
    state_name: str | None = session.execute(sa.select(jobs.c.state).where(jobs.c.id == job_id)).scalar()
    return state_name


def load_campaign_jobs_page(
    session: Session,
    campaign_id: int,
    *,
    roles: Sequence[str],
    without_comparisons: bool,
    before: int | None,
    limit: int,
    states: Sequence[str] | None = None,
) -> Sequence[Row]:
    """Return jobs of a campaign whose report is for one of these roles, newest first, with numbers below `before`.

    without_comparisons: omit jobs that also read other campaigns. states: only jobs in one of these.
    """
    query = _SHOWN.where(jobs.c.campaign_id == campaign_id, jobs.c.request["role"].astext.in_(roles))
    if without_comparisons:
        query = query.where(sa.func.jsonb_array_length(jobs.c.request["campaigns"]) == 1)
    if states is not None:
        query = query.where(jobs.c.state.in_(states))
    if before is not None:
        query = query.where(jobs.c.id < before)
    return session.execute(query.order_by(jobs.c.id.desc()).limit(limit)).all()


def count_completed_jobs_of_same_request(session: Session, campaign_id: int, kind: str, question: str) -> int:
    """Count the completed jobs of a kind whose stored `question` is this one, under any key.

    Dry runs do not count.
    """
    mine = (jobs.c.campaign_id == campaign_id, jobs.c.kind == kind, jobs.c.state == "done")
    given = jobs.c.request["given"]
    alike = given["question"].astext == question, given["dry_run"].astext == "false"
    query = sa.select(sa.func.count()).where(*mine, *alike)
    return int(session.execute(query).scalar_one())


def restart_job(session: Session, job_id: int, request: Mapping[str, object]) -> None:
    """Restart a job that has ended without a report; chunks that have results keep them."""
    kept = sa.select(sa.func.count()).where(chunk_results.c.job_id == job_id).scalar_subquery()
    again = {"attempts": jobs.c.attempts + 1, "n_done": kept, "started_at": None, "request": dict(request)}
    _update_job(session, job_id, state="queued", error=None, finished_at=None, **again)


def record_job_attempt(session: Session, job_id: int) -> None:
    """Count one more attempt."""
    _update_job(session, job_id, attempts=jobs.c.attempts + 1)


def mark_job_begun(session: Session, row: Row, n_chunks: int) -> None:
    """Note that the data are read and split into this many chunks. Results of a different split are deleted."""
    if row.n_chunks not in (None, n_chunks):
        session.execute(sa.delete(chunk_results).where(chunk_results.c.job_id == row.id))
        _update_job(session, row.id, n_done=0)
    _update_job(session, row.id, state="running", n_chunks=n_chunks, started_at=sa.func.now())


def store_chunk_result(session: Session, job_id: int, n: int, body: bytes, worker: str) -> bool:
    """Store the result of a chunk; return False if it already has one."""
    made = insert(chunk_results).values(job_id=job_id, n=n, body=body, worker=worker).on_conflict_do_nothing()
    if session.execute(made.returning(chunk_results.c.n)).one_or_none() is None:
        return False
    _update_job(session, job_id, n_done=jobs.c.n_done + 1)
    return True


def mark_job_finishing(session: Session, job_id: int) -> None:
    """Note that all chunks have results, so the report can be made from them."""
    _update_job(session, job_id, state="finishing")


def mark_job_done_and_drop_chunk_results(session: Session, job_id: int) -> None:
    """Note that the report is stored, and delete the chunks, keeping only how many each worker computed."""
    counted = sa.select(chunk_results.c.worker, sa.func.count().label("n")).where(chunk_results.c.job_id == job_id)
    workers = {row.worker: row.n for row in session.execute(counted.group_by(chunk_results.c.worker))}
    _update_job(session, job_id, state="done", workers=workers, finished_at=sa.func.now())
    session.execute(sa.delete(chunk_results).where(chunk_results.c.job_id == job_id))


def mark_job_failed(session: Session, job_id: int, error: Mapping[str, object]) -> None:
    """End a job with the reason for its failure."""
    _update_job(session, job_id, state="failed", error=dict(error), finished_at=sa.func.now())


def mark_job_cancelled(session: Session, job_id: int) -> None:
    """Cancel a job that is no longer wanted."""
    _update_job(session, job_id, state="cancelled", finished_at=sa.func.now())


def has_chunk_result(session: Session, job_id: int, n: int) -> bool:
    """Tell whether a chunk has a result."""
    query = sa.select(chunk_results.c.n).where(chunk_results.c.job_id == job_id, chunk_results.c.n == n)
    return session.execute(query).one_or_none() is not None


def list_chunks_to_queue(session: Session, job_id: int, n_chunks: int, window: int) -> list[int]:
    """Return the next chunks: those without a result among the first `window`, or `window` after one with a result.

    So the queue never holds more chunks of a job than that, however large the job is.
    """
    of_job = sa.select(chunk_results.c.n).where(chunk_results.c.job_id == job_id)
    known = set(session.execute(of_job).scalars())
    return [n for n in range(n_chunks) if n not in known and (n < window or n - window in known)]


def load_chunk_result(session: Session, job_id: int, n: int) -> bytes:
    """Return the result of one chunk."""
    query = sa.select(chunk_results.c.body).where(chunk_results.c.job_id == job_id, chunk_results.c.n == n)
    return bytes(session.execute(query).scalar_one())


def stream_chunk_results(session: Session, job_id: int, first: int, last: int) -> Iterator[bytes]:
    """Yield the results of the chunks from first to last − 1, in order."""
    here = chunk_results.c.n.between(first, last - 1)
    query = sa.select(chunk_results.c.body).where(chunk_results.c.job_id == job_id, here).order_by(chunk_results.c.n)
    for body in session.execute(query).scalars():
        yield bytes(body)


def load_unfinished_jobs(session: Session) -> Sequence[Row]:
    """Return the jobs that have not ended."""
    return session.execute(sa.select(jobs).where(jobs.c.finished_at.is_(None)).order_by(jobs.c.id)).all()


def _update_job(session: Session, job_id: int, **values: object) -> None:
    session.execute(sa.update(jobs).where(jobs.c.id == job_id).values(**values))
