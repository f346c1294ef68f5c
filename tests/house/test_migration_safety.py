"""No migration after the release locks, rewrites or breaks a table in use. Plays the role of squawk."""

from __future__ import annotations

import re

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory

from app.storage import migrate
from app.storage.db import make_sqlalchemy_url

# The last revision of the first release; what comes after it meets tables with data and an old version at work.
RELEASED = "2026_11_20_collecting"
QUICK = r"^SET LOCAL lock_timeout = '[1-9]\d{0,3}(ms)?s?'"
ALTER = r"^ALTER TABLE (?:ONLY )?(?:IF EXISTS )?\"?(\w+)\"? "
# What must not be done to a table that was there before, and what to do instead.
RULES = (
    (rf"{ALTER}ADD (?:COLUMN )?(?!CONSTRAINT)\w+ (?!.*\bDEFAULT\b).*\bNOT NULL\b", "a default, or NOT NULL later"),
    (
        rf"{ALTER}ADD (?:COLUMN )?(?!CONSTRAINT)\w+ .*\bDEFAULT \w+\.?\w*\((?!\))",
        "a constant default: others rewrite the table",
    ),
    (rf"{ALTER}ADD (?:COLUMN )?(?!CONSTRAINT)\w+ .*\bGENERATED\b", "a new table: this rewrites the old one"),
    (rf"{ALTER}ALTER (?:COLUMN )?\w+ (?:SET DATA )?TYPE\b", "a new column: this rewrites the table"),
    (rf"{ALTER}ALTER (?:COLUMN )?\w+ SET NOT NULL", "CHECK (… IS NOT NULL) NOT VALID, then VALIDATE"),
    (rf"{ALTER}ALTER (?:COLUMN )?\w+ DROP DEFAULT", "leave it: the old version relies on it"),
    (rf"{ALTER}ADD CONSTRAINT \w+ (?:CHECK|FOREIGN KEY)(?!.*\bNOT VALID\b)", "NOT VALID, then VALIDATE"),
    (
        rf"{ALTER}ADD CONSTRAINT \w+ (?:UNIQUE|PRIMARY KEY|EXCLUDE)(?!.*\bUSING INDEX\b)",
        "CONCURRENTLY, then USING INDEX",
    ),
    (rf"{ALTER}(?:DROP (?:COLUMN )?(?!CONSTRAINT)|RENAME )", "leave it for a release: the old version reads it"),
    (r"^DROP TABLE (?:IF EXISTS )?\"?(\w+)", "leave it for a release: the old version reads it"),
    (r"^CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)(?:IF NOT EXISTS )?\w+ ON (?:ONLY )?\"?(\w+)", "CONCURRENTLY"),
    (
        r"^(?:LOCK TABLE|VACUUM FULL|CLUSTER|REINDEX (?:TABLE|INDEX) (?!CONCURRENTLY)) ?\"?(\w+)",
        "nothing that locks a table",
    ),
    (r"^(?:UPDATE|DELETE FROM|TRUNCATE(?: TABLE)?) \"?(\w+)", "a job that goes over the rows in batches"),
)


def flat(statement: str) -> str:
    """A statement on one line."""
    return " ".join(statement.split())


def faults(statements: list[str], there: frozenset[str], released: frozenset[str] | None = None) -> list[str]:
    """What is wrong with the statements of one migration.

    there: the tables before it. released: those of the last release, which alone must outlive it; else all of them.
    """
    found = (
        [] if any(re.match(QUICK, flat(s)) for s in statements[:1]) else ["the first statement sets no lock_timeout"]
    )
    for statement in map(flat, statements):
        for rule, instead in RULES:
            match = re.match(rule, statement, re.IGNORECASE)
            known = released if released is not None and statement.startswith("DROP TABLE") else there
            if match and match[1] in known:
                found.append(f"{statement[:80]}: {instead}")
    return found


def carried_out(url: str) -> dict[str, tuple[list[str], frozenset[str]]]:
    """The statements of every revision, as they are sent to the server, and the tables that were there before it."""
    found: dict[str, tuple[list[str], frozenset[str]]] = {}
    engine = sa.create_engine(make_sqlalchemy_url(url), poolclass=sa.NullPool)
    for script in reversed(list(ScriptDirectory.from_config(migrate.make_alembic_config()).walk_revisions())):
        with engine.connect() as connection:
            there = frozenset(sa.inspect(connection).get_table_names())
            connection.rollback()
            statements: list[str] = []

            def note(_c: object, _u: object, statement: str, *_: object, into: list[str] = statements) -> None:
                if not re.search(r"alembic_version|pg_catalog|^select ", statement, re.IGNORECASE):
                    into.append(statement)

            sa.event.listen(connection, "before_cursor_execute", note)
            command.upgrade(migrate.make_alembic_config(connection), script.revision)
            connection.commit()
        found[script.revision] = statements, there
    return found


def test_migrations_after_the_release_are_safe_for_tables_in_use(empty_database_url: str) -> None:
    done = carried_out(empty_database_url)
    assert RELEASED in done
    names = list(done)
    for name in names:
        assert re.match(QUICK, flat(done[name][0][0])), f"{name} may wait for a lock for ever"
    released = done[names[names.index(RELEASED) + 1]][1]
    after = {name: faults(*done[name], released) for name in names[names.index(RELEASED) + 1 :]}
    assert not {name: wrong for name, wrong in after.items() if wrong}


SET = "SET LOCAL lock_timeout = '5s'"
THERE = frozenset({"judgments", "tasks"})


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE judgments ADD COLUMN mood TEXT NOT NULL",
        "ALTER TABLE judgments ADD mood timestamptz DEFAULT to_timestamp(0) NOT NULL",
        "ALTER TABLE judgments ADD COLUMN n BIGINT GENERATED ALWAYS AS IDENTITY",
        "ALTER TABLE judgments ALTER COLUMN revision TYPE BIGINT",
        "ALTER TABLE judgments ALTER COLUMN guidelines SET NOT NULL",
        "ALTER TABLE judgments ALTER COLUMN surplus DROP DEFAULT",
        "ALTER TABLE judgments ADD CONSTRAINT ck_x CHECK (revision > 0)",
        "ALTER TABLE judgments ADD CONSTRAINT fk_x FOREIGN KEY(task_id) REFERENCES tasks (id)",
        "ALTER TABLE judgments ADD CONSTRAINT uq_x UNIQUE (revision)",
        "ALTER TABLE judgments DROP COLUMN guidelines",
        "ALTER TABLE judgments RENAME revision TO n",
        "DROP TABLE tasks",
        "CREATE INDEX ix_x ON judgments (revision)",
        "CREATE UNIQUE INDEX uq_x ON judgments\n (revision)",
        "LOCK TABLE judgments IN EXCLUSIVE MODE",
        "UPDATE judgments SET surplus = false",
    ],
)
def test_a_statement_that_is_not_safe_is_caught(statement: str) -> None:
    """Negative control."""
    assert len(faults([SET, statement], THERE)) == 1
    assert not faults([SET, statement], THERE - {"judgments", "tasks"}), "a table that is new has nobody in it"


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE judgments ADD COLUMN mood TEXT",
        "ALTER TABLE judgments ADD COLUMN surplus BOOLEAN DEFAULT false NOT NULL",
        "ALTER TABLE judgments ADD COLUMN at timestamptz DEFAULT now() NOT NULL",
        "ALTER TABLE judgments ADD CONSTRAINT ck_x CHECK (revision > 0) NOT VALID",
        "ALTER TABLE judgments VALIDATE CONSTRAINT ck_x",
        "ALTER TABLE judgments DROP CONSTRAINT ck_x",
        "CREATE INDEX CONCURRENTLY ix_x ON judgments (revision)",
        "CREATE TABLE moods (id BIGINT PRIMARY KEY, task_id BIGINT REFERENCES tasks (id))",
        "CREATE INDEX ix_moods_task_id ON moods (task_id)",
    ],
)
def test_what_is_safe_is_let_be(statement: str) -> None:
    assert faults([SET, statement], THERE) == []


def test_a_migration_that_could_wait_for_ever_is_caught() -> None:
    assert faults(["CREATE TABLE moods (id BIGINT)"], THERE) == ["the first statement sets no lock_timeout"]
