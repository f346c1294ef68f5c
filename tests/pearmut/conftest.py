"""Pearmut's pages over a real database."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import pytest

from app.pearmut.app import create_pearmut_app
from app.pearmut.files import PearmutPackageFiles
from app.services.access.tokens import THE_OPERATOR
from app.services.pearmut.campaign_file import parse_campaign_file
from app.services.pearmut.loading import AddedCampaign, add_pearmut_campaign
from app.storage import embedded
from app.storage.db import Database
from app.web.deps import ServiceOptions
from tests.pearmut.campaigns import campaign
from tests.spine import fresh, template_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it recommends another client library, for its own sake
    from starlette.testclient import TestClient


@dataclass(frozen=True)
class Usual:
    """A database to be copied, and the campaign that is in it."""

    template: str
    added: AddedCampaign


@pytest.fixture(scope="module")
def usual(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Usual]:
    """The campaign that most tests are about, loaded once: that takes a quarter of a second."""
    found: list[AddedCampaign] = []
    with template_of(
        postgres, migrated_template, lambda spine: found.append(load_into(spine.database, campaign()))
    ) as name:
        yield Usual(name, found[0])


@pytest.fixture
def added(usual: Usual) -> AddedCampaign:
    """The campaign that is in the database of this test."""
    return usual.added


@pytest.fixture
def template(migrated_template: str, request: pytest.FixtureRequest) -> str:
    """With the usual campaign where the test asks for that."""
    return request.getfixturevalue("usual").template if "added" in request.fixturenames else migrated_template


def load_into(database: Database, given: dict[str, Any], **how: Any) -> AddedCampaign:
    """Load a campaign."""
    with database.transaction() as session:
        return add_pearmut_campaign(session, parse_campaign_file(given), by=THE_OPERATOR, actor="test", **how)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A fresh migrated database under the serving role."""
    handle = Database(database_url, size=8, role="plumbline_app")
    yield handle
    handle.close()


@pytest.fixture
def pages(database: Database) -> Iterator[httpx.Client]:
    """A client of the application of Pearmut's pages."""
    with TestClient(create_pearmut_app(database, ServiceOptions(), PearmutPackageFiles())) as client:
        yield client


@pytest.fixture(scope="module")
def empty_pages(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[httpx.Client]:
    """The same without any campaign, for tests in which everything is refused."""
    with (
        fresh(postgres, migrated_template) as spine,
        TestClient(create_pearmut_app(spine.database, ServiceOptions(), PearmutPackageFiles())) as client,
    ):
        yield client


@pytest.fixture
def add(database: Database) -> Callable[..., AddedCampaign]:
    """Load a campaign."""

    return partial(load_into, database)
