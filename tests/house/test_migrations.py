"""Migrations lead to the tables that the code declares, there and back, with data in place."""

import re
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from app.demo import ensure_demo_campaign
from app.storage import migrate, schema_revisions
from app.storage.db import Database


@pytest.fixture(scope="module")
def scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(migrate.make_alembic_config())


def test_the_schema_goes_up_and_down_and_up_again(empty_database_url: str) -> None:
    migrate.upgrade_schema(empty_database_url)
    migrate.check_schema(empty_database_url)
    migrate.downgrade_schema(empty_database_url, "base")
    with pytest.raises(migrate.SchemaBehind):
        migrate.check_schema(empty_database_url)
    migrate.upgrade_schema(empty_database_url)
    migrate.check_schema(empty_database_url)


def test_the_newest_step_can_be_undone_and_done_again_on_a_database_in_use(empty_database_url: str) -> None:
    migrate.upgrade_schema(empty_database_url)
    database = Database(empty_database_url, size=2)
    ensure_demo_campaign(database)
    database.close()
    migrate.downgrade_schema(empty_database_url, "-1")
    migrate.upgrade_schema(empty_database_url)
    migrate.check_schema(empty_database_url)


def test_there_is_one_line_of_migrations(scripts: ScriptDirectory) -> None:
    assert len(scripts.get_heads()) == 1


def test_what_is_read_of_their_files_is_what_alembic_reads(scripts: ScriptDirectory) -> None:
    assert schema_revisions.find_head_revision() == scripts.get_current_head()
    known = {None, *(script.revision for script in scripts.walk_revisions())}
    assert schema_revisions.list_known_revisions() == known
    assert len(scripts.get_bases()) == 1


def test_a_migration_is_named_by_date_and_slug_and_waits_for_no_lock_for_long(scripts: ScriptDirectory) -> None:
    for script in scripts.walk_revisions():
        path = Path(script.path)
        assert re.fullmatch(r"\d{4}_\d\d_\d\d_[a-z0-9_]+\.py", path.name)
        assert script.revision == path.stem
        assert path.read_text(encoding="utf-8").count("lock_timeout") >= 2
