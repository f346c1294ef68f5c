"""What the large tables refer to is there and of their campaign, whoever writes, at the same time too."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from app.storage import embedded
from tests.services.data.test_imports import judgment, lines
from tests.spine import Spine, fresh, template_of
from tests.working import LIMIT, until

REFERENCES = [
    ("outputs", "system_id", "systems", "id"),
    ("outputs", "segment_id", "segments", "id"),
    ("items", "task_id", "tasks", "id"),
    ("items", "document_id", "documents", "id"),
    ("credits", "item_id", "items", "id"),
    ("credits", "system_id", "systems", "id"),
    ("judgments", "item_id", "items", "id"),
    ("judgments", "segment_id", "segments", "id"),
    ("judgments", "rater_id", "raters", "id"),
    ("judgments", "version", "versions", "n"),
    ("scores", "profile_id", "profiles", "id"),
    ("scores", "judgment_id", "judgments", "id"),
]
FEW_AND_MANY = [1, 65]  # the trigger looks up to 64 rows up one by one
COLUMNS = {
    "outputs": "campaign_id, system_id, segment_id, text, sha256",
    "items": "campaign_id, task_id, key, position, document_id, role",
    "credits": "campaign_id, item_id, system_id",
    "judgments": "campaign_id, item_id, segment_id, rater_id, revision, payload, version",
    "scores": "campaign_id, profile_id, judgment_id, item_id, segment_id, rater_id, revision, n_errors, version, "
    "at_us, score, surplus",
}
OTHERWISE = {"revision": "x.revision + n", "key": "x.key || n", "position": "x.position + 100 + n"}
WITHOUT_LOCK = """
CREATE OR REPLACE FUNCTION judgments_refer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM added a WHERE NOT EXISTS (SELECT FROM items i WHERE i.id = a.item_id)) THEN
    RAISE foreign_key_violation;
  END IF;
  RETURN NULL;
END $$"""
ADD_JUDGMENT = """
INSERT INTO judgments (campaign_id, item_id, segment_id, rater_id, revision, payload, version)
SELECT i.campaign_id, i.id, NULL, t.rater_id, n, '{}', 1 FROM items i JOIN tasks t ON t.id = i.task_id,
       generate_series(1, %s) n WHERE i.key = 'spare'"""
FREE_ITEM = "DELETE FROM items WHERE key = 'spare'"


@pytest.fixture(scope="module")
def two_campaigns(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[str]:
    """The template: two campaigns with a judgment each, and in the first an item that nobody judged."""

    def fill(spine: Spine) -> None:
        for campaign in ("c", "d"):
            spine.take(campaign, "jsonl", lines(judgment(), output()))
        with psycopg.connect(spine.url) as connection:
            connection.execute(
                "INSERT INTO items (campaign_id, task_id, key, position, document_id, role) SELECT i.campaign_id, "
                "i.task_id, 'spare', 99, i.document_id, 0 FROM items i JOIN campaigns c ON c.id = i.campaign_id "
                "WHERE c.key = 'c'"
            )

    with template_of(postgres, migrated_template, fill) as name:
        yield name


@pytest.fixture
def spine(postgres: embedded.EmbeddedServer, two_campaigns: str) -> Iterator[Spine]:
    with fresh(postgres, two_campaigns) as found:
        yield found


@pytest.fixture(scope="module")
def standing(postgres: embedded.EmbeddedServer, two_campaigns: str) -> Iterator[Spine]:
    """The same for tests in which every row is refused."""
    with fresh(postgres, two_campaigns) as found:
        yield found


def output() -> dict[str, object]:
    return {"type": "output", "system": "A", "document": "d1", "position": 1, "text": "eins"}


def copies(table: str, column: str, value: str, n: int) -> str:
    """n more rows like the first campaign's of a table, one column of which says something else."""
    taken = [
        f"({value})" if name == column else OTHERWISE.get(name, f"x.{name}") for name in COLUMNS[table].split(", ")
    ]
    return (
        f"INSERT INTO {table} ({COLUMNS[table]}) SELECT {', '.join(taken)} FROM {table} x JOIN campaigns c "
        f"ON c.id = x.campaign_id, generate_series(1, {n}) n WHERE c.key = 'c'"
    )


@pytest.mark.parametrize("n", FEW_AND_MANY)
@pytest.mark.parametrize(("table", "column", "parent", "key"), REFERENCES)
def test_no_row_names_one_that_is_not_there(
    standing: Spine, table: str, column: str, parent: str, key: str, n: int
) -> None:
    with (
        psycopg.connect(standing.url) as connection,
        pytest.raises(psycopg.errors.ForeignKeyViolation) as caught,
    ):
        connection.execute(copies(table, column, "1000000 + n", n))
    assert caught.value.diag.constraint_name == f"fk_{table}_campaign_id_{column}_{parent}"
    assert caught.value.diag.table_name == table


@pytest.mark.parametrize("n", FEW_AND_MANY)
@pytest.mark.parametrize(("table", "column", "parent", "key"), REFERENCES)
def test_no_row_names_one_of_another_campaign(
    standing: Spine, table: str, column: str, parent: str, key: str, n: int
) -> None:
    other = f"SELECT o.{key} FROM {parent} o JOIN campaigns d ON d.id = o.campaign_id WHERE d.key = 'd' LIMIT 1"
    if key == "n":  # both campaigns have a version 1, so one has to get ahead
        standing.take("d", "jsonl", lines(judgment("B")))
        other = "2"
    with psycopg.connect(standing.url) as connection:
        connection.execute("ALTER TABLE outputs DROP CONSTRAINT uq_outputs_campaign_id_system_id_segment_id")
        connection.execute("ALTER TABLE scores DROP CONSTRAINT pk_scores")
        connection.execute("ALTER TABLE credits DROP CONSTRAINT pk_credits")
        with pytest.raises(psycopg.errors.ForeignKeyViolation) as caught:
            connection.execute(copies(table, column, other, n))
    assert caught.value.diag.constraint_name == f"fk_{table}_campaign_id_{column}_{parent}"


@pytest.mark.parametrize("n", FEW_AND_MANY)
def test_many_good_rows_are_taken_like_one(spine: Spine, n: int) -> None:
    with psycopg.connect(spine.url) as connection:
        assert connection.execute(ADD_JUDGMENT, (n,)).rowcount == n


@pytest.mark.parametrize(("table", "column", "parent", "key"), REFERENCES)
def test_what_is_named_can_neither_go_nor_become_another(
    spine: Spine, table: str, column: str, parent: str, key: str
) -> None:
    named = f"{key} IN (SELECT {column} FROM {table})"
    for change in (
        f"DELETE FROM {parent} WHERE {named}",
        f"UPDATE {parent} SET campaign_id = campaign_id + 1 WHERE {named}",
        f"UPDATE {table} SET {column} = {column} + 1",
        f"UPDATE {table} SET campaign_id = campaign_id + 1",
    ):
        with psycopg.connect(spine.url) as connection:
            connection.execute("SET LOCAL plumbline.purge = 'on'")
            with pytest.raises(psycopg.errors.ForeignKeyViolation):
                connection.execute(change)


ONLY_ADDED_TO = "SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE tgfoid = 'refuse_change'::regproc"


@pytest.mark.parametrize("parent", ["items", "segments", "profiles", "tasks", "documents", "systems"])
def test_what_is_named_cannot_be_emptied_either(spine: Spine, parent: str) -> None:
    with psycopg.connect(spine.url) as connection:
        # Else tables that are only added to refuse it before the references do.
        for table, trigger in connection.execute(ONLY_ADDED_TO).fetchall():
            connection.execute(
                sql.SQL("ALTER TABLE {} DISABLE TRIGGER {}").format(sql.SQL(table), sql.Identifier(trigger))
            )
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            connection.execute(f"TRUNCATE {parent} CASCADE")


def test_a_purge_of_everything_leaves_nothing_that_dangles(spine: Spine) -> None:
    with psycopg.connect(spine.url) as connection:
        connection.execute("SET LOCAL plumbline.purge = 'on'")
        connection.execute("TRUNCATE campaigns CASCADE")
    counts = spine.counts()
    assert not any(counts[table] for table in ("outputs", "judgments", "scores", "items", "credits"))


def test_what_nothing_names_can_go(spine: Spine) -> None:
    with psycopg.connect(spine.url) as connection:
        assert connection.execute(FREE_ITEM).rowcount == 1


MANY = 5000
FILLED = f"""
WITH c AS (SELECT id FROM campaigns WHERE key = 'd'),
segment AS (INSERT INTO segments (campaign_id, document_id, position)
  SELECT c.id, d.id, 100 + n FROM c JOIN documents d ON d.campaign_id = c.id, generate_series(1, {MANY}) n
  RETURNING campaign_id, id),
output AS (INSERT INTO outputs (campaign_id, system_id, segment_id, text, sha256)
  SELECT g.campaign_id, s.id, g.id, '', sha256('') FROM segment g JOIN systems s ON s.campaign_id = g.campaign_id),
item AS (INSERT INTO items (campaign_id, task_id, key, position, document_id, role)
  SELECT i.campaign_id, i.task_id, 'more' || n, 100 + n, i.document_id, 0
  FROM c JOIN items i ON i.campaign_id = c.id, generate_series(1, {MANY}) n)
INSERT INTO judgments (campaign_id, item_id, segment_id, rater_id, revision, payload, version)
  SELECT j.campaign_id, j.item_id, j.segment_id, j.rater_id, 1 + n, '{{}}', 1
  FROM c JOIN judgments j ON j.campaign_id = c.id, generate_series(1, {MANY}) n"""
UNNAMED = {
    "segments": "(campaign_id, document_id, position) SELECT campaign_id, id, 99 FROM documents",
    "documents": "(campaign_id, key, name, kind) SELECT campaign_id, 'x', 'x', 'test' FROM documents",
    "systems": "(campaign_id, key, name, kind, state) SELECT campaign_id, 'x', 'x', 'mt', 'active' FROM systems",
    "raters": "(campaign_id, key, name) SELECT campaign_id, 'x', 'x' FROM raters",
}
FIRST = "WHERE campaign_id = (SELECT id FROM campaigns WHERE key = 'c') LIMIT 1 RETURNING id"
READ = """
SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_xact_user_tables
WHERE relname IN ('judgments', 'outputs', 'items')"""


def test_what_may_name_a_deleted_row_is_looked_for_in_its_own_campaign(spine: Spine) -> None:
    with psycopg.connect(spine.url, autocommit=True) as connection:
        assert connection.execute(FILLED).rowcount == MANY
        connection.execute("ANALYZE")
    with psycopg.connect(spine.url) as connection:
        for table, values in UNNAMED.items():
            added = connection.execute(f"INSERT INTO {table} {values} {FIRST}").fetchone()
            before = read(connection)
            assert connection.execute(f"DELETE FROM {table} WHERE id = %s", added).rowcount == 1
            assert read(connection) - before < 100, table


def read(connection: psycopg.Connection) -> int:
    row = connection.execute(READ).fetchone()
    assert row is not None
    return int(row[0])


def test_nothing_is_deleted_where_what_was_added_since_cannot_be_seen(spine: Spine) -> None:
    with psycopg.connect(spine.url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            connection.execute(FREE_ITEM)


def waits(url: str, connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """Return once a connection's statement waits for a lock. Raises AssertionError where it never does."""
    of = "SELECT wait_event_type FROM pg_stat_activity WHERE pid = %s"
    with psycopg.connect(url, autocommit=True) as watcher:
        until(lambda: watcher.execute(of, (connection.info.backend_pid,)).fetchone() == ("Lock",), "it waits")


def together(url: str, first: tuple[str, tuple[int, ...]], second: tuple[str, tuple[int, ...]]) -> BaseException | None:
    """Run a statement while another transaction has done one and not committed; how the second one ends."""
    failed: list[BaseException] = []

    def attempt() -> None:
        try:
            late.execute(*second)
            late.commit()
        except psycopg.Error as error:
            failed.append(error)

    with psycopg.connect(url) as early, psycopg.connect(url) as late:
        early.execute(*first)
        thread = threading.Thread(target=attempt)
        thread.start()
        try:
            waits(url, late)
        finally:
            early.commit()
            thread.join(LIMIT)
    return failed[0] if failed else None


@pytest.mark.parametrize("n", FEW_AND_MANY)
def test_what_is_being_named_waits_and_then_stays(spine: Spine, n: int) -> None:
    error = together(spine.url, (ADD_JUDGMENT, (n,)), (FREE_ITEM, ()))
    assert isinstance(error, psycopg.errors.ForeignKeyViolation)
    assert dangling(spine.url) == 0


@pytest.mark.parametrize("n", FEW_AND_MANY)
def test_what_is_being_deleted_cannot_be_named_any_more(spine: Spine, n: int) -> None:
    error = together(spine.url, (FREE_ITEM, ()), (ADD_JUDGMENT, (n,)))
    assert isinstance(error, psycopg.errors.ForeignKeyViolation)
    assert dangling(spine.url) == 0


def test_without_the_lock_a_row_would_be_left_dangling(spine: Spine) -> None:
    """The negative control: with a trigger that looks and does not lock, the two sessions miss each other."""
    with psycopg.connect(spine.url) as connection:
        connection.execute(WITHOUT_LOCK)
    with psycopg.connect(spine.url) as adding, psycopg.connect(spine.url) as deleting:
        adding.execute(ADD_JUDGMENT, (1,))
        deleting.execute(FREE_ITEM)
        deleting.commit()
    assert dangling(spine.url) == 1


def dangling(url: str) -> int:
    """Judgments whose item is gone."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM judgments j WHERE NOT EXISTS (SELECT FROM items i WHERE i.id = j.item_id)"
        ).fetchone()
    assert row is not None
    return int(row[0])
