"""What a worker writes for itself does not make raters wait for the disk; what somebody is told of does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

from app.storage import jobs_queue
from tests.services.jobs.test_jobs import ask, now, spine, world
from tests.spine import Spine
from tests.working import drained

__all__ = ["spine", "world"]  # the fixtures of the neighbouring tests
SHOWN = "SHOW synchronous_commit"


@pytest.fixture
def stored() -> Iterator[set[tuple[str, str]]]:
    """Into which tables rows came, and whether their commit waits for the disk."""
    found: set[tuple[str, str]] = set()

    def look(_: Any, cursor: Any, statement: str, *__: Any) -> None:
        for table in ("chunk_results", "reports"):
            if statement.startswith(f"INSERT INTO {table} "):
                found.add((table, cursor.connection.execute(SHOWN).fetchone()[0]))

    event.listen(Engine, "before_cursor_execute", look)
    yield found
    event.remove(Engine, "before_cursor_execute", look)


def test_results_of_chunks_are_not_waited_for_and_the_report_is(spine: Spine, stored: set[tuple[str, str]]) -> None:
    job = ask(spine)
    drained(spine.database)
    assert now(spine, job).state == "done"
    assert stored == {("chunk_results", "off"), ("reports", "on")}


def test_a_transaction_that_does_not_wait_leaves_the_next_one_as_it_was(spine: Spine) -> None:
    with spine.database.transaction() as session:
        jobs_queue.disable_synchronous_commit(session)
        assert session.execute(text(SHOWN)).scalar_one() == "off"
    for _ in range(3):
        with spine.database.transaction() as session:
            assert session.execute(text(SHOWN)).scalar_one() == "on"
