"""Pearmut's pages over a real database."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from app.pearmut.app import create_pearmut_app
from app.pearmut.files import PearmutFiles
from app.services.access.tokens import THE_OPERATOR
from app.services.pearmut.campaign_file import parse_campaign_file
from app.services.pearmut.loading import AddedCampaign, add_pearmut_campaign
from app.storage.db import Database
from app.web.deps import ServiceOptions

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it recommends another client library, for its own sake
    from starlette.testclient import TestClient


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A fresh migrated database under the serving role."""
    handle = Database(database_url, size=8, role="plumbline_app")
    yield handle
    handle.close()


@pytest.fixture
def pages(database: Database) -> Iterator[httpx.Client]:
    """A client of the application of Pearmut's pages."""
    with TestClient(create_pearmut_app(database, ServiceOptions(), PearmutFiles())) as client:
        yield client


@pytest.fixture
def add(database: Database) -> Callable[..., AddedCampaign]:
    """Load a campaign."""

    def load(given: dict[str, Any], **how: Any) -> AddedCampaign:
        with database.transaction() as session:
            return add_pearmut_campaign(session, parse_campaign_file(given), by=THE_OPERATOR, actor="test", **how)

    return load
