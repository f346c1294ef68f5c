"""Runs tests that were written for one server on an organization of a Citus cluster: `pytest -p tests.citus.plugin`.

CITUS_NODES lists the folders of all nodes, the coordinator's first. Each test has a database of its own on all nodes,
with an organization beside the default one; what a test reads and writes is that organization's.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

import tests.faults.serving
import tests.spine
from app.storage import current_organization, embedded, migrate, organization_schemas
from app.storage.current_organization import CurrentOrganization
from tests.citus.cluster import Node, open_node
from tests.citus.serving import CitusService
from tests.organized import KEYS, TWIN, within
from tests.spine import Spine, opened

NODES = [open_node(Path(folder)) for folder in os.environ["CITUS_NODES"].split(os.pathsep)]
ROLES = {"admin": "postgres", "owner": "plumbline", "app": "plumbline_app"}
_numbers = itertools.count(1)

_in_use = CurrentOrganization(TWIN)
current_organization._in_use = ContextVar("organization", default=_in_use)
os.environ["PLUMBLINE_ORGANIZATION"] = KEYS[TWIN]


def address(node: Node, role: str, database: str) -> str:
    """The address of a database on a node."""
    return node.url(ROLES[role], database)


class CitusServer:
    """What tests ask of their server. The addresses of the owner are about the organization."""

    def url(self, role: str = "owner", database: str = "plumbline") -> str:
        plain = address(NODES[0], role, database)
        return plain if role == "admin" or database == "postgres" else within(plain, TWIN)


def create_everywhere(name: str, template: str) -> None:
    """A database on all nodes, a copy of another one or with nothing but Citus; nobody is connected to the other."""
    for node in NODES:
        with psycopg.connect(address(node, "admin", "postgres"), autocommit=True) as admin:
            if template != "template0":
                admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(sql.Identifier(template)))
                admin.execute(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", [template]
                )
            create = sql.SQL("CREATE DATABASE {} OWNER plumbline TEMPLATE {} STRATEGY file_copy")
            admin.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
        if template == "template0":
            with psycopg.connect(address(node, "admin", name), autocommit=True) as admin:
                admin.execute("CREATE EXTENSION citus")
    with psycopg.connect(address(NODES[0], "admin", "postgres"), autocommit=True) as admin:
        allow = "ALTER DATABASE {} SET citus.enable_unsafe_triggers = on"  # to those that tests make themselves
        admin.execute(sql.SQL(allow).format(sql.Identifier(name)))
    if template == "template0":
        with psycopg.connect(address(NODES[0], "admin", name), autocommit=True) as admin:
            admin.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)", [NODES[0].port])
            for node in NODES[1:]:
                admin.execute("SELECT citus_add_node('127.0.0.1', %s)", [node.port])


def drop_everywhere(name: str) -> None:
    """Drop a database on all nodes, whoever is connected."""
    for node in NODES:
        with psycopg.connect(address(node, "admin", "postgres"), autocommit=True) as admin:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


class Administrator:
    """As that of one server."""

    def create(self, name: str, template: str) -> None:
        create_everywhere(name, template)

    @contextmanager
    def fresh(self, template: str) -> Iterator[str]:
        name = f"test_{os.getpid()}_{next(_numbers)}"
        self.create(name, template)
        try:
            yield name
        finally:
            drop_everywhere(name)


@contextmanager
def fresh_spine(server: embedded.EmbeddedServer, template: str) -> Iterator[Spine]:
    """As `tests.spine.fresh`."""
    with Administrator().fresh(template) as name, opened(server.url("owner", name)) as spine:
        yield spine


tests.spine.fresh = fresh_spine


@contextmanager
def citus_service(_data_dir: Path, home: Path, **environment: str) -> Iterator[CitusService]:
    """As `tests.faults.serving.service`."""
    home.mkdir(exist_ok=True)
    with migrated_database() as name:
        run = CitusService(home, home, CitusServer(), environment=environment)  # type: ignore[arg-type]
        run.nodes, run.database = NODES, name
        with tests.faults.serving.running(run):
            yield run


tests.faults.serving.service = citus_service


@contextmanager
def migrated_database() -> Iterator[str]:
    """A new database with an organization."""
    with Administrator().fresh("template0") as name:
        plain = address(NODES[0], "owner", name)
        migrate.upgrade_schema(plain)
        assert organization_schemas.add_organization(plain, KEYS[TWIN], "Twin").number == TWIN
        yield name


@pytest.fixture(scope="session")
def postgres() -> CitusServer:
    return CitusServer()


@pytest.fixture(scope="session")
def administrator() -> Administrator:
    return Administrator()


@pytest.fixture(scope="session")
def migrated_template() -> Iterator[str]:
    with migrated_database() as name:
        yield name


HEALS_WITHIN = 60.0
"""Seconds: three servers with the whole load of a cluster start again on one machine, one after another."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give them that time."""
    for module in {item.getparent(pytest.Module).obj for item in items}:  # type: ignore[union-attr]
        if hasattr(module, "HEALS_WITHIN"):
            module.HEALS_WITHIN = HEALS_WITHIN


FIXTURES = ("postgres", "administrator", "migrated_template")


@pytest.hookimpl(tryfirst=True)
def pytest_plugin_registered(plugin: object) -> None:
    """Put these fixtures in place of those of the tests' own conftest, before it is read."""
    if getattr(plugin, "__file__", None) == str(Path(__file__).parents[1] / "conftest.py"):
        for name in FIXTURES:
            setattr(plugin, name, globals()[name])
