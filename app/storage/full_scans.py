"""Statements that walk whole campaigns, planned so that statistics which do not know the campaign cannot spoil them.

After a bulk write, until autovacuum has come by, statistics say that a campaign has about one row of everything. A
planner that believes them finds that one row by the campaign alone and compares it with every other: a copy of 20,000
outputs took longer than anybody waits. Without nested loops what is joined is read once, whatever it expects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text

from app.storage.db import Session

# Where no other join can be had, older servers reckon with so high a cost that they would compile the statement, too.
SETTINGS = ("enable_nestloop", "jit")
_BEFORE = text("SELECT " + ", ".join(f"current_setting('{name}')" for name in SETTINGS))
_SET = text("SELECT " + ", ".join(f"set_config('{name}', :{name}, true)" for name in SETTINGS))


@contextmanager
def plan_for_full_scans(session: Session) -> Iterator[None]:
    """Plan the statements of this block for walking whole campaigns; what comes after it is planned as before.

    A statement is planned when it is executed, so one that streams may be read outside of the block. Look-ups by key
    do not belong here: they want their loops.
    """
    before = session.execute(_BEFORE).one()
    session.execute(_SET, dict.fromkeys(SETTINGS, "off"))
    yield
    # After an error the transaction, or its savepoint, is rolled back, and the settings with it.
    session.execute(_SET, dict(zip(SETTINGS, before, strict=True)))


def execute_full_scan(
    session: Session, query: str, keys: Mapping[str, object], *, batch: int | None = None
) -> sa.Result[*tuple[Any, ...]]:
    """Execute a statement that walks a whole campaign. batch: rows fetched at once, for one that streams."""
    with plan_for_full_scans(session):
        return session.execute(text(query), keys, execution_options={"yield_per": batch} if batch else {})
