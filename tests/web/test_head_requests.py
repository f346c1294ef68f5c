"""HEAD is answered wherever GET is: as GET would, without the body."""

from __future__ import annotations

import http.client
from collections.abc import Callable

import pytest
from starlette.types import ASGIApp

from app.services.access import tokens
from app.storage.db import Database
from tests.judged_demo import load_judged
from tests.web.conftest import Address, Serving
from tests.working import LIMIT

pytestmark = pytest.mark.usefixtures("patience")
OF_EACH_ANSWER = {"date", "x-request-id"}


def asked(address: Address, method: str, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
    """Status, headers but those of each answer, and body; a second request on the line shows that it is in step."""
    connection = http.client.HTTPConnection(*address, timeout=LIMIT)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        told = {k.lower(): v for k, v in answer.getheaders() if k.lower() not in OF_EACH_ANSWER}
        connection.request("GET", "/livez")
        assert connection.getresponse().status == 200
    finally:
        connection.close()
    return answer.status, told, body


@pytest.fixture
def bearer(database: Database) -> dict[str, str]:
    with database.transaction() as session:
        secret = tokens.issue_token(session, role="viewer").secret
    return {"Authorization": f"Bearer {secret}"}


def test_head_is_get_without_the_body(
    serving: Serving, make_app: Callable[..., ASGIApp], database: Database, bearer: dict[str, str]
) -> None:
    campaign = f"/v1/campaigns/{load_judged(database, seed=1)}"
    ranking = f"{campaign}/ranking?recipe=google-mqm"
    with serving(make_app()) as address:
        for path in (
            "/livez",
            "/openapi.json",
            "/v1/recipes",
            campaign,
            ranking,
            f"{campaign}/none",
            f"{campaign}?x=1",
        ):
            whole, bare = asked(address, "GET", path, bearer), asked(address, "HEAD", path, bearer)
            assert bare[:2] == whole[:2], path
            assert whole[2], path
            assert bare[2] == b""
            assert int(bare[1]["content-length"]) == len(whole[2])
        tag = asked(address, "HEAD", ranking, bearer)[1]["etag"]
        assert asked(address, "HEAD", ranking, {**bearer, "If-None-Match": tag})[0] == 304


def test_head_of_a_stream_ends_at_its_headers(
    serving: Serving, make_app: Callable[..., ASGIApp], database: Database, bearer: dict[str, str]
) -> None:
    path = f"/v1/campaigns/{load_judged(database, seed=1)}/ranking/segments"
    with serving(make_app()) as address:
        status, headers, body = asked(address, "HEAD", path, bearer)
        assert (status, body) == (200, b"")
        assert headers["content-type"].startswith("text/csv")
        assert asked(address, "GET", path, bearer)[2]


def test_an_address_without_get_has_no_head(serving: Serving, make_app: Callable[..., ASGIApp]) -> None:
    with serving(make_app()) as address:
        status, headers, _ = asked(address, "HEAD", "/v1/campaigns/c/open", {})
        assert status == 405
        assert "HEAD" not in headers["allow"]
        assert "GET, HEAD" in asked(address, "POST", "/v1/me", {})[1]["allow"]
