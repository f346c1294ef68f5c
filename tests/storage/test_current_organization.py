"""Organizations: each in a schema of its own with all rules of the tables, and no transaction sees another's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import errors

from app.storage import embedded, migrate, organization_list, organization_schemas
from app.storage.backup import backup_database, restore_database
from app.storage.current_organization import (
    MOST,
    SPAN,
    OrganizationSwitchTooLate,
    current_organization_number,
    organization_number_from_row_id,
    pin_current_organization,
    switch_current_organization,
    use_organization,
)
from app.storage.db import Database
from app.storage.organization_list import OrganizationExists, OrganizationNotFound
from tests.organized import OURS, TWIN
from tests.services.data.test_imports import MQM_HEADER, judgment, lines
from tests.spine import Spine, opened, template_of

MANY = MQM_HEADER + "".join(
    f"{system}\td{d}\t{d}\t{d}\tr{d % 2}\tSource {d}.\tTarget <v>{system}</v> {d}.\tStyle/Awkward\t{severity}\t\n"
    for d in range(1, 50)
    for system, severity in (("A", "Minor"), ("B", "Major"))
)
MANY_CREDITS = """
INSERT INTO credits (campaign_id, item_id, system_id) SELECT campaign_id, id, n FROM items, generate_series(1, 70) n
WHERE key = (SELECT min(key) FROM items)"""
FUNCTIONS = """
SELECT n.nspname, p.proname, p.prosrc, p.prosecdef, p.proconfig
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname IN ('public', 'organization_1')"""
# Triggers whose function is in another schema than their table.
ASTRAY = """
SELECT t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
WHERE NOT t.tgisinternal AND c.relnamespace <> p.pronamespace"""
# What one schema's tables need of the other's: constraints, defaults, views.
ACROSS = """
SELECT conname FROM pg_constraint k JOIN pg_class a ON a.oid = k.conrelid JOIN pg_class b ON b.oid = k.confrelid
WHERE a.relnamespace <> b.relnamespace"""
IDS = """
SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attidentity <> ''
WHERE c.relnamespace = 'organization_1'::regnamespace ORDER BY 1"""
SEQUENCES = "SELECT schemaname, sequencename, last_value, min_value FROM pg_sequences ORDER BY 1, 2"
LISTED = "SELECT number, key, name, state FROM plumbline_shared.organizations ORDER BY 1"
REFUSED = (
    ("UPDATE judgments SET surplus = true", errors.RestrictViolation),
    ("DELETE FROM judgments", errors.RestrictViolation),
    ("TRUNCATE judgments CASCADE", errors.RestrictViolation),
    ("UPDATE outputs SET text = 'another'", errors.RestrictViolation),
    ("UPDATE items SET id = DEFAULT", errors.Error),
    ("DELETE FROM systems", errors.ForeignKeyViolation),
    ("DELETE FROM segments", errors.ForeignKeyViolation),
    ("DELETE FROM raters", errors.ForeignKeyViolation),
    ("TRUNCATE profiles", errors.ForeignKeyViolation),
    ("UPDATE credits SET system_id = 1", errors.ForeignKeyViolation),
    (
        "INSERT INTO credits (campaign_id, item_id, system_id) SELECT campaign_id, id, 1 FROM items LIMIT 1",
        errors.ForeignKeyViolation,
    ),
    (
        MANY_CREDITS,
        errors.ForeignKeyViolation,
    ),
)


@pytest.fixture(scope="module")
def made(postgres: embedded.EmbeddedServer, organized_template: str) -> Iterator[str]:
    """The template: the same file in the default organization and in another one."""

    def fill(spine: Spine) -> None:
        spine.take("c", "mqm-tsv", MANY.encode())
        with use_organization(TWIN):
            spine.take("c", "mqm-tsv", MANY.encode())

    with template_of(postgres, organized_template, fill) as name:
        yield name


@pytest.fixture
def template(made: str) -> str:
    return made


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


def test_every_function_reads_the_schema_that_it_is_in(spine: Spine) -> None:
    functions = spine.ask(FUNCTIONS)
    assert len(functions) > 30
    assert not [name for _, name, source, *_ in functions if "public" in source]
    for schema, name, _, as_owner, settings in functions:
        if as_owner:
            assert settings == [f"search_path=pg_catalog, {schema}, pg_temp"], name
    assert spine.ask(ASTRAY) == spine.ask(ACROSS) == []
    migrate.check_schema(spine.url)


def test_an_organization_takes_what_the_default_one_takes_and_gives_it_back(spine: Spine) -> None:
    ranking = spine.body("c", "google-mqm")
    with use_organization(TWIN):
        assert json.loads(spine.body("c", "google-mqm"))["systems"] == json.loads(ranking)["systems"]
        spine.take("mine", "jsonl", lines(judgment()))
        exported = spine.export("c")
    assert spine.export("c") == exported
    assert spine.ask("SELECT key FROM public.campaigns") == [("c",)]
    assert spine.ask("SELECT key FROM organization_1.campaigns ORDER BY key") == [("c",), ("mine",)]


@pytest.mark.parametrize(("statement", "error"), REFUSED, ids=[statement[:40] for statement, _ in REFUSED])
def test_the_rules_of_the_tables_hold_for_their_owner_too(
    spine: Spine, statement: str, error: type[psycopg.Error]
) -> None:
    with psycopg.connect(spine.url) as connection:
        connection.execute("SET search_path = organization_1")
        with pytest.raises(error) as caught:
            connection.execute(statement.encode())
        if caught.value.diag.constraint_name is not None:
            assert caught.value.diag.schema_name == "organization_1"


def test_the_serving_role_may_do_in_each_schema_what_it_may_do_in_one(spine: Spine) -> None:
    rights = """SELECT table_name, privilege_type FROM information_schema.role_table_grants
        WHERE grantee = 'plumbline_app' AND table_schema = '{}' ORDER BY 1, 2"""
    assert spine.ask(rights.format("organization_1")) == spine.ask(rights.format("public"))


def test_no_two_organizations_have_a_row_of_one_number(spine: Spine) -> None:
    columns = spine.ask(IDS)
    assert ("judgments", "id") in columns
    assert len(columns) > 30
    rows = 0
    for table, column in columns:
        for (number,) in spine.ask(f"SELECT {column} FROM organization_1.{table}"):
            assert organization_number_from_row_id(number) == TWIN
            rows += 1
    assert rows > 200


def test_a_table_that_counts_otherwise_is_found_and_set_right(spine: Spine) -> None:
    with psycopg.connect(spine.url) as connection:
        connection.execute("ALTER TABLE organization_1.webhooks ALTER id SET MINVALUE 1 SET START 1 RESTART")
    with pytest.raises(migrate.SchemaDiffers, match="webhooks"):
        migrate.check_schema(spine.url)
    migrate.upgrade_schema(spine.url)
    migrate.check_schema(spine.url)


def test_a_backup_brings_back_every_organization(spine: Spine, empty_database_url: str, tmp_path: Path) -> None:
    backup_database(spine.url, tmp_path / "backup")
    restore_database(empty_database_url, tmp_path / "backup")
    migrate.upgrade_schema(empty_database_url)
    migrate.check_schema(empty_database_url)
    with opened(empty_database_url) as restored:
        assert restored.ask(SEQUENCES) == spine.ask(SEQUENCES)
        assert restored.ask(LISTED) == spine.ask(LISTED)
        for organization in (OURS, TWIN):
            with use_organization(organization):
                assert restored.export("c") == spine.export("c")
                restored.take("later", "jsonl", lines(judgment()))  # its rows get numbers that are not taken
        assert restored.ask("SELECT count(*) FROM organization_1.judgments") == [(99,)]


def test_a_transaction_sees_one_organization_and_the_next_one_forgets_it(spine: Spine) -> None:
    database = Database(spine.url, size=1, role="plumbline_app")
    seen = sa.text("SELECT min(id) FROM campaigns")
    try:
        for number in (TWIN, 0, TWIN, 0):
            with use_organization(number), database.transaction() as session:
                assert organization_number_from_row_id(session.execute(seen).scalar_one()) == number
                assert (
                    session.execute(sa.text("SELECT current_schema()")).scalar() == ["public", "organization_1"][number]
                )
    finally:
        database.close()


def test_work_turns_to_an_organization_before_it_reads_and_never_after() -> None:
    assert current_organization_number() == 0
    switch_current_organization(0)
    with pytest.raises(OrganizationSwitchTooLate):
        switch_current_organization(TWIN)  # nobody has said that this is work of a request
    with use_organization(0):
        switch_current_organization(TWIN)
        assert pin_current_organization() == TWIN
        switch_current_organization(TWIN)
        with pytest.raises(OrganizationSwitchTooLate):
            switch_current_organization(2)
    assert current_organization_number() == 0


def test_an_organization_is_made_once_listed_and_removed_for_good(spine: Spine) -> None:
    with pytest.raises(OrganizationExists):
        organization_schemas.add_organization(spine.url, "twin", "Another")
    with psycopg.connect(spine.url) as connection:  # as if its making had been interrupted
        connection.execute("UPDATE plumbline_shared.organizations SET state = 'preparing'")
    with spine.database.transaction() as session:
        assert organization_list.list_nondefault_organizations(session) == []
    for key in ("twin", "other"):
        assert organization_schemas.add_organization(spine.url, key, "Another").name == key.title()
    organization_schemas.remove_organization(spine.url, "twin", patience=0)
    with pytest.raises(OrganizationNotFound):
        organization_schemas.remove_organization(spine.url, "twin", patience=0)
    assert spine.ask("SELECT count(*) FROM pg_namespace WHERE nspname = 'organization_1'") == [(0,)]
    migrate.check_schema(spine.url)
    assert spine.ask("SELECT count(*) > 0 FROM campaigns") == [(True,)]


def test_an_installation_without_organizations_has_nothing_of_them(
    postgres: embedded.EmbeddedServer, migrated_template: str
) -> None:
    with psycopg.connect(postgres.url("owner", migrated_template)) as connection:
        assert connection.execute("SELECT to_regnamespace('plumbline_shared')").fetchone() == (None,)
    assert SPAN * (MOST + 1) <= 1 << 48
