"""A group has one rater: chains that are begun stay with theirs, and what is free no more is not taken."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import httpx
import psycopg
import pytest

from app.storage.db import Database
from app.storage.leases import leases
from tests.api.test_leases import EXPIRE, Ask, hand_in, lease, task_of
from tests.collecting import collect


@pytest.mark.parametrize("handed_in", [True, False])
def test_a_chain_goes_back_to_all_only_while_nothing_of_it_is_handed_in(
    anonymous: httpx.Client, database: Database, ask: Ask, handed_in: bool
) -> None:
    live = collect(database, key="chained", documents=1, systems=("A", "B", "C", "D"), chain=2)
    first = task_of(anonymous, live, "r1")
    if handed_in:
        hand_in(anonymous, live, first, "r1")
        assert task_of(anonymous, live, "r1") != first
    ask(EXPIRE)
    if handed_in:
        told = lease(anonymous, live, "r2")
        assert told["task"] is None, f"two raters have parts of one group: {told}"
        assert task_of(anonymous, live, "r1")[:-8] == first[:-8]
    else:
        assert task_of(anonymous, live, "r2")[:-8] == first[:-8]
        assert lease(anonymous, live, "r1")["task"] is None


# What became of a task between finding and taking it, and whether the rater who found it gets it.
MEANWHILE = {
    "nothing": ("", True),
    "dealt to them": ("UPDATE tasks SET rater_id = (SELECT id FROM raters WHERE key = 'r1')", True),
    "dealt to another": ("UPDATE tasks SET rater_id = (SELECT id FROM raters WHERE key = 'r2')", False),
    "leased": (
        """UPDATE tasks SET state = 'leased', leased_until = now() + interval '1 hour',
           rater_id = (SELECT id FROM raters WHERE key = 'r2')""",
        False,
    ),
    "handed in": (
        """UPDATE tasks SET state = 'handed_in', handed_in_at = now(),
           rater_id = (SELECT id FROM raters WHERE key = 'r1')""",
        False,
    ),
    "withdrawn": ("UPDATE tasks SET state = 'withdrawn'", False),
}


@pytest.mark.parametrize("what", MEANWHILE)
def test_a_task_that_is_free_no_more_is_not_taken(database: Database, what: str, ask: Ask) -> None:
    live = collect(database, documents=1)
    change, gets = MEANWHILE[what]
    if change:
        ask(change)

    async def take() -> tuple[object, list[tuple[object, ...]]]:
        async with await psycopg.AsyncConnection.connect(database.url, autocommit=True) as connection:
            row = await (
                await connection.execute("SELECT id, (SELECT id FROM raters WHERE key = 'r1') FROM tasks")
            ).fetchone()
            assert row is not None
            asking = leases.LeaseRequest(live.id, row[1], 0, timedelta(hours=1), "test")
            before = await (await connection.execute("TABLE tasks")).fetchall()
            taken = await leases._take_task(connection, asking, row[0])
            same = before == await (await connection.execute("TABLE tasks")).fetchall()
            held = await (await connection.execute("SELECT count(*) FROM leases")).fetchone()
            return taken, [(same, held)]

    taken, [(same, held)] = asyncio.run(take())
    assert (taken is not None, same, held) == (gets, not gets, (int(gets),))
