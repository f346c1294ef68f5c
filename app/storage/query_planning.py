"""Plan statements that read whole campaigns so that statistics without the campaign do no harm.

After a bulk write, until autovacuum has run, the statistics say that a campaign has about one row in each table. A
planner that believes them finds this one row by the campaign alone and compares it with every other row. Copying 20,000
outputs then took longer than anybody would wait. Without nested loops, a joined table is read once, whatever number of
rows the planner expects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import text

from app.storage.db import Session

# If no other join is possible, older servers estimate such a high cost that they would also compile the statement.
SETTINGS = ("enable_nestloop", "jit")
_BEFORE = text("SELECT " + ", ".join(f"current_setting('{name}')" for name in SETTINGS))
_SET = text("SELECT " + ", ".join(f"set_config('{name}', :{name}, true)" for name in SETTINGS))


@contextmanager
def disable_nested_loops(session: Session) -> Iterator[None]:
    """Plan the statements in this block without nested loops, for whole campaigns; later ones are planned as before.

    A statement is planned when it is executed, so the rows of a streamed result may be read outside of the block. Do
    not use the block for look-ups by key, because they need nested loops.
    """
    before = session.execute(_BEFORE).one()
    session.execute(_SET, dict.fromkeys(SETTINGS, "off"))
    yield
    # After an error, the transaction or its savepoint is rolled back, and this also restores the settings.
    session.execute(_SET, dict(zip(SETTINGS, before, strict=True)))


def execute_full_scan(
    session: Session, query: str, keys: Mapping[str, object], *, batch: int | None = None
) -> sa.Result[*tuple[Any, ...]]:
    """Execute a statement that reads a whole campaign. batch: rows per fetch, if the result is streamed."""
    with disable_nested_loops(session):
        return session.execute(text(query), keys, execution_options={"yield_per": batch} if batch else {})
