"""The application over a real database, for what protocols come to when judgments are sent."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import httpx
import pytest

from app.main import create_app
from app.services.access import tokens
from app.storage import embedded
from app.storage.db import Database
from app.web.deps import ServiceOptions
from tests.patience import patience as patience  # a fixture
from tests.spine import fresh

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it recommends another client library, for its own sake
    from starlette.testclient import TestClient


@pytest.fixture(scope="module")
def admin(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[httpx.Client]:
    """A client with the token of an admin, over one database for the module: tests take campaigns of their own."""
    with fresh(postgres, migrated_template) as spine:
        database = Database(spine.url, size=4, role="plumbline_app")
        with database.transaction() as session:
            secret = tokens.issue_token(session, role="admin").secret
        with TestClient(
            create_app(database, ServiceOptions()), headers={"Authorization": f"Bearer {secret}"}
        ) as client:
            yield client
        database.close()
