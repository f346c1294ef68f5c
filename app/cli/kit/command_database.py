"""What commands share: the database in the settings, opened and closed around a command."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager

from app.config import Settings, configure_ratings_folder
from app.storage import embedded
from app.storage.current_organization import DEFAULT, use_organization
from app.storage.db import APP_ROLE, Database, translate_database_errors
from app.storage.embedded.roles import find_or_create_serving_role
from app.storage.organization_list import load_organization
from app.storage.schema_revisions import is_schema_current_at_url
from app.storage.server_checks import check_server_at_url


@contextmanager
def provide_owner_database_url() -> Iterator[str]:
    """Yield the address with which the schema's owner connects; embedded Postgres runs as long as it is in use."""
    with provide_owner_url_and_server() as (url, _):
        yield url


@contextmanager
def provide_owner_url_and_server() -> Iterator[tuple[str, embedded.EmbeddedServer | None]]:
    """Yield the owner's address and the embedded Postgres; None for the latter if the settings name a database."""
    settings = Settings.load()
    if settings.database_url:
        with translate_database_errors():
            yield settings.database_url, None
        return
    with embedded.start_server(settings.data_dir) as server, translate_database_errors():
        yield server.url("owner"), server


@contextmanager
def upgrade_and_open_database(*, watched: bool = False, all_organizations: bool = False) -> Iterator[Database]:
    """Open the database with the serving role, after upgrading its schema to this version.

    Within the block, everything concerns the organization in the settings, unless all_organizations is set. watched:
    see `Database`. Raises OrganizationNotFound.
    """
    with provide_owner_database_url() as url:
        role = find_or_create_serving_role(url)
        check_server_at_url(url, serving_role=role)
        if not is_schema_current_at_url(url):
            from app.storage import migrate  # loads Alembic, which few commands need

            migrate.upgrade_schema(url)
        folder = configure_ratings_folder(Settings.load())
        handle = Database(url, size=2, role=role and APP_ROLE, watched=watched, ratings_folder=folder)
        try:
            if all_organizations:
                yield handle
            else:
                with use_configured_organization(handle):
                    yield handle
        finally:
            handle.close()


@contextmanager
def use_configured_organization(database: Database) -> Iterator[None]:
    """Work for the organization in the settings within the block. Raises OrganizationNotFound."""
    key, number = Settings.load().organization, DEFAULT
    if key is not None:
        with database.transaction() as session:
            number = load_organization(session, key).number
    with use_organization(number):
        yield


def get_actor_name() -> str:
    """Return who acts, for the record of data versions."""
    return f"cli:{getpass.getuser()}"
