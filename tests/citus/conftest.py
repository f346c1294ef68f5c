"""A Citus cluster on loopback, for the tests of this folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.storage import migrate, organization_schemas
from app.storage.embedded.account import choose_server_account
from tests.citus.build import find_citus
from tests.citus.cluster import CitusCluster

ORGANIZATIONS = ("north", "south", "east", "west")
WORKERS = 2


@pytest.fixture(scope="module")
def cluster(scratch: Path) -> Iterator[CitusCluster]:
    """A coordinator and two workers, migrated, with four organizations; two on each worker."""
    account = choose_server_account(scratch / "none")
    made = CitusCluster(scratch / "citus", find_citus(account), account)
    made.folder.mkdir(mode=0o711)
    try:
        made.start(WORKERS)
        url = made.coordinator.url("plumbline")
        migrate.upgrade_schema(url)
        for key in ORGANIZATIONS:
            organization_schemas.add_organization(url, key, key.title())
        yield made
    finally:
        made.stop()
        shutil.rmtree(made.folder)
