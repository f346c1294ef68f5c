"""What the database refuses to the queue is what it refuses to any other statement."""

from __future__ import annotations

from contextlib import closing

import psycopg
import pytest

from app.storage import db, jobs_queue
from app.storage.queue_schema import SCHEMA

REFUSAL = f"""
CREATE FUNCTION {SCHEMA}.refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '%s'; END $$;
CREATE TRIGGER refuse BEFORE INSERT ON {SCHEMA}.procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION {SCHEMA}.refuse()"""


@pytest.mark.parametrize(("state", "kind"), [("53100", db.DiskFull), ("57P01", db.DatabaseDown)])
def test_a_queue_that_cannot_be_written_to_is_refused_as_any_other_table(
    database_url: str, state: str, kind: type[Exception]
) -> None:
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute((REFUSAL % state).encode())
    with (
        closing(db.Database(database_url, size=1, role="plumbline_app")) as database,
        pytest.raises(kind),
        database.transaction() as session,
    ):
        jobs_queue.enqueue_entries(session, [jobs_queue.QueueEntry("chunk", 1)])
